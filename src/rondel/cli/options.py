"""Options that several commands share."""

from __future__ import annotations

import getpass
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from rondel.cli.help import DEBUG


def _add_functions(folders: list[str] | None) -> list[str] | None:
    """Register the functions of the folders for all that this command loads."""
    if folders:
        from rondel.sessions.registry import default_registry
        from rondel.tools.functions_folder import register_folder

        for folder in folders:
            register_folder(default_registry(), folder)
    return folders


File = Annotated[
    str, typer.Argument(metavar="FILE", help="A graph: YAML, JSON, or Python with a `graph`.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="A session, or the first letters of its id.")]
Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PATH|URL",
        help="Where sessions are kept, a file or postgresql://...; "
        "else RONDEL_DB or your data folder.",
    ),
]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who asks; default: you.")]
Debug = Annotated[bool, typer.Option("--debug", help=DEBUG)]
StrictCode = Annotated[
    bool,
    typer.Option(
        "--strict-code", help="Refuse to go on if functions of the graph have changed since."
    ),
]
Last = Annotated[
    int | None,
    typer.Option("--last", metavar="N", min=1, help="Only the last N of them, found at once."),
]

AsDocument = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
AsEvents = Annotated[
    bool, typer.Option("--json", help="Print one JSON event a line, and last the result.")
]
NoInput = Annotated[
    bool, typer.Option("--no-input", help="Ask nobody: end with 4 where a human is needed.")
]
NoRun = Annotated[bool, typer.Option("--no-run", help="Do not go on with the session here.")]
GraphFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]", help="The graph's file, if it is Python or has keys in it: none is kept."
    ),
]
GraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="FILE",
        help="The graph's file, if it is Python or has keys in it: none is kept.",
    ),
]
AllowPython = Annotated[
    bool,
    typer.Option("--allow-python", help="Let nodes of type `python` run the code in the graph."),
]
AllowCommands = Annotated[
    bool,
    typer.Option("--allow-commands", help="Let tools of the graph start programs: MCP servers."),
]
Compat = Annotated[
    str | None,
    typer.Option(
        "--compat", metavar="chatdev|council", help="Take the file as one of that system."
    ),
]
Functions = Annotated[
    list[str] | None,
    typer.Option(
        "--functions",
        metavar="DIR",
        help="A folder of Python files whose functions the graph may name; repeatable. They run "
        "with your rights.",
        callback=_add_functions,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change the file first: limits.max_steps=5."),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "-i", "--input", metavar="TEXT|KEY=VALUE", help="The task, or one key of the inputs."
    ),
]
InputObject = Annotated[
    str | None,
    typer.Option("--input-json", metavar="JSON", help="The inputs as one JSON object."),
]
GivenAnswers = Annotated[
    list[str] | None,
    typer.Option(
        "--answer", metavar="[NODE=]TEXT", help="Answer the next question, of NODE or any."
    ),
]


def asker(by: str | None) -> str:
    """Who gives the control: `--by`, or the user's name."""
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # nobody knows, in some containers
        return ""


def spread(verb: Callable[..., int]) -> Callable[..., int]:
    """The function of a verb as Typer takes it.

    A parameter whose type is a class of options becomes these options, in its place.
    """
    signature = inspect.signature(verb, eval_str=True)
    parameters: list[inspect.Parameter] = []
    classes: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if is_dataclass(parameter.annotation):
            classes[name] = parameter.annotation
            parameters += _options_of(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def called(**values: Any) -> int:
        for name, options in classes.items():
            values[name] = options(**{each.name: values.pop(each.name) for each in fields(options)})
        return verb(**values)

    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__doc__ = verb.__doc__
    return called


def _options_of(options: Any) -> list[inspect.Parameter]:
    types = get_type_hints(options, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(each.name, kind, default=each.default, annotation=types[each.name])
        for each in fields(options)
    ]
