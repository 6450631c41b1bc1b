"""What `rondel COMMAND --help` prints, in the language that is spoken and in the cells of a
terminal.
"""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperCommand, TyperOption

from rondel.cli.language import words

MARGIN = "  "
WIDEST = 80
LEFT = 30
"""The columns of an option; the text of a longer one stands below it."""

LANGUAGE = "The language; else RONDEL_LANG, LC_ALL, LC_MESSAGES, LANG say it."
DEBUG = "Show tracebacks."
EXTRA = re.compile(r"\s*\[([^\[\]]*)\]$")


class Command(TyperCommand):
    """A command with its help in the chosen language, and with `--debug`."""

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(name, **settings)
        if all(param.name != "debug" for param in self.params):
            # Not for the command: whoever prints its errors looks for it.
            flag = ["--debug"]
            self.params.append(
                TyperOption(param_decls=flag, is_flag=True, expose_value=False, help=DEBUG)
            )

    def get_help(self, ctx: Any) -> str:
        """The whole text of `--help`."""
        width = min(shutil.get_terminal_size().columns, WIDEST) - 2
        return "\n".join(_lines(self, ctx, width))


def paragraphs(command: Any) -> list[str]:
    """The description of a command, one line for each paragraph."""
    text = inspect.cleandoc(command.help or "")
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def _lines(command: Any, ctx: Any, width: int) -> Iterator[str]:
    options = [each for each in command.get_params(ctx) if each.param_type_name == "option"]
    arguments = [each for each in command.get_params(ctx) if each.param_type_name == "argument"]
    form = " ".join([ctx.command_path, words("[OPTIONS]"), *map(_place, arguments)])
    yield words("Usage: {form}", form=form)
    for text in paragraphs(command):
        yield ""
        yield from _wrapped(words(text), width, MARGIN)
    if arguments:
        yield from ("", words("Arguments:"))
        yield from _table([_row(each, ctx) for each in arguments], width)
    rows = [_row(each, ctx) for each in options if not each.hidden]
    yield from ("", words("Options:"))
    yield from _table([*rows, ("--lang en|zh", words(LANGUAGE))], width)


def _row(param: Any, ctx: Any) -> tuple[str, str]:
    return _name(param, ctx), _about(param, ctx)


def _table(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    column = max((len(name) for name, _ in rows if len(name) <= LEFT), default=LEFT) + 4
    for name, about in rows:
        first, *rest = _wrapped(about, width, " " * column) or [""]
        if len(name) + 4 > column:
            yield MARGIN + name
            yield first
        else:
            yield f"{MARGIN}{name}".ljust(column) + first.lstrip()
        yield from rest


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    from rondel.cli.cells import wrapped

    return [indent + line for line in wrapped(text, width - len(indent))]


def _place(argument: Any) -> str:
    """An argument as it stands in a call: `FILE`, or `[FILE]` if it may be left out."""
    name = _shown(argument)
    bare = argument.required or name.startswith("[")
    return name if bare else f"[{name}]"


def _shown(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _name(param: Any, ctx: Any) -> str:
    if param.param_type_name == "argument":
        return _shown(param)
    name: str = param.get_help_record(ctx)[0]
    return name


def _about(param: Any, ctx: Any) -> str:
    """The help of a parameter, with its default and other notes in brackets."""
    told = param.help or ""
    record = param.get_help_record(ctx)
    found = EXTRA.search(str(record[1])[len(told) :]) if record else None
    extras = [_extra(each) for each in found[1].split("; ")] if found else []
    noted = f"[{words('; ').join(extras)}]" if extras else ""
    return "  ".join(filter(None, (words(told) if told else "", noted)))


def _extra(text: str) -> str:
    """`default: 5`, `env var: NAME`, `required`, or a range."""
    kind, colon, value = text.partition(": ")
    return f"{words(kind)}{words(': ')}{value}" if colon else words(text)
