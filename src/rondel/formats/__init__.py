"""Graphs of other systems: each format translates a whole document and keeps its line numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rondel.errors import CallError, GraphError, Problem
from rondel.formats import chatdev, council
from rondel.formats.translation import Translation
from rondel.graph.names import Names
from rondel.graph.positions import MAX_BYTES, Parsed, parse

FORMATS: dict[str, Callable[[Parsed, str], Translation]] = {
    "chatdev": chatdev.translate,
    "council": council.translate,
}


def translator(name: str) -> Callable[[Parsed, str], Translation]:
    """The function that translates a format."""
    if name not in FORMATS:
        hint = Names(FORMATS, what="there are").hint(name)
        raise CallError(f"there is no format {name!r}; {hint}")
    return FORMATS[name]


def translate_file(path: str, name: str) -> Translation:
    """The translation of a file; raises GraphError if it cannot be read at all."""
    translate = translator(name)
    try:
        with Path(path).open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror or error}"
        raise GraphError([Problem(reason, file=path)]) from error
    return translate(parse(text, path), path)
