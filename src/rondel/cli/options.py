"""Options that several commands share."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer


def _add_functions(folders: list[str] | None) -> list[str] | None:
    """Register the functions of the folders for all that this command loads."""
    if folders:
        from rondel.sessions.registry import default_registry
        from rondel.tools.functions_folder import register_folder

        for folder in folders:
            register_folder(default_registry(), folder)
    return folders


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
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]
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
