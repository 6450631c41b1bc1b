"""Graph files of other systems on the command line: translated, with a report of what became of
them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from rondel.cli.failures import complain
from rondel.errors import CallError, GraphError
from rondel.formats import translate_file
from rondel.formats.export import to_chatdev
from rondel.formats.inlining import inlined
from rondel.sessions.graph import Graph

STDOUT = "-"
CHATDEV = "chatdev"


def import_graph(file: str, source: str, output: str, *, force: bool) -> int:
    """Write the graph of a foreign file as YAML of this system; the report goes to stderr."""
    translation = translate_file(file, source)
    graph = Graph.load(file, compat=source)
    for warning in graph.warnings:
        complain(str(warning), "left out" if warning in translation.warnings else "warning")
    for change in translation.changes:
        complain(str(change), "changed")
    for name in graph.includes:
        complain(f"{file}: the graph of {name} is part of the file now", "changed")
    _write(inlined(graph.document, graph.includes), output, force=force)
    return 0


def export_graph(file: str, target: str, output: str, *, force: bool) -> int:
    """Write the graph of a file in the format of another system, if that can hold it."""
    if target != CHATDEV:
        raise CallError(f"--to: there is no format {target!r} to write; there is {CHATDEV}")
    graph = Graph.load(file)
    try:
        foreign = to_chatdev(inlined(graph.document, graph.includes))
    except GraphError as error:
        for problem in error.problems:
            complain(f"{file} {problem}")
        return 2
    _write(foreign, output, force=force)
    return 0


def _write(document: dict[str, Any], output: str, *, force: bool) -> None:
    text = yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    if output == STDOUT:
        sys.stdout.write(text)
        return
    try:
        with Path(output).open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        message = f"{output} exists already; use --force to overwrite it, or another -o FILE"
        raise CallError(message) from None
    except OSError as error:
        raise CallError(f"{output} cannot be written: {error.strerror}") from error
    print(f"wrote {output}; now: rondel check {output}")


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and nothing as an alias."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
