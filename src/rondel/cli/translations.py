"""Graph files of other systems on the command line: translated, with a report of what became of
them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from rondel.certificate.forest import forest_of
from rondel.cli.arguments import parse_path
from rondel.cli.failures import complain
from rondel.cli.graph_files import write_new
from rondel.cli.language import words
from rondel.cli.screen import visible
from rondel.errors import CallError
from rondel.formats import translate_file
from rondel.formats.chatdev_export import to_chatdev
from rondel.formats.council_export import to_council
from rondel.formats.referenced_files import inlined
from rondel.graph.names import Names
from rondel.graph.plan import Plan
from rondel.graph.positions import parse
from rondel.sessions.graph import Graph

STDOUT = "-"
CHATDEV, COUNCIL = "chatdev", "council"
EXPORTS = {CHATDEV: to_chatdev, COUNCIL: to_council}


def import_graph(file: str, source: str, output: str, *, force: bool) -> int:
    """Write the graph of a foreign file as YAML of this system; the report goes to stderr."""
    graph = Graph.load(file, compat=source, demand_secrets=False)
    translation = translate_file(file, source)
    for warning in graph.warnings:
        complain(str(warning), "left out" if warning in translation.warnings else "warning")
    for change in translation.changes:
        complain(str(change), "changed")
    for name in graph.includes:
        complain(f"{file}: the graph of {name} is part of the file now", "changed")
    _write(inlined(graph.document, graph.includes), output, force=force)
    return 0


def export_graph(file: str, target: str, output: str, *, force: bool) -> int:
    """Write the graph of a file in the format of another system; what that one will not see of it
    is told on stderr.
    """
    if target not in EXPORTS:
        hint = Names(EXPORTS, what="there are").hint(target)
        raise CallError(f"--to: there is no format {target!r} to write; {hint}")
    if Path(file).suffix == ".py":
        hint = "no file can hold the functions of a graph written in Python"
        raise CallError(f"{file} cannot be translated: {hint}")
    graph = Graph.load(file, demand_secrets=False)
    exported = EXPORTS[target](inlined(graph.document, graph.includes))
    positions = parse(Path(file).read_bytes(), file).positions
    for problem in sorted(exported.unseen, key=lambda told: positions.line(parse_path(told.path))):
        line = positions.line(parse_path(problem.path))
        complain(str(replace(problem, file=file, line=line)), "unseen")
    for head in _loops(graph.plan()) if target == CHATDEV else ():
        rule = "ends there as soon as an edge leaves it; here its round goes to its end"
        complain(f"{file}: the loop {head!r} {rule}", "unseen")
    for name in graph.includes:
        complain(f"{file}: the graph of {name} is part of the file now", "changed")
    _write(exported.document, output, force=force, compat=target)
    return 0


def _loops(plan: Plan) -> list[str]:
    """The heads of the loops that go on to the end of a round."""
    loops = [body for body in forest_of(plan).loops if body.scope and not body.scope.exit_now]
    return list(dict.fromkeys(plan.nodes[loop.head].id for loop in loops if loop.head is not None))


def _write(document: dict[str, Any], output: str, *, force: bool, compat: str = "") -> None:
    if compat == COUNCIL:
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    else:
        text = yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    if output == STDOUT:
        sys.stdout.write(text)
        return
    write_new(output, text, force=force)
    flag = f" --compat {compat}" if compat else ""
    told = "wrote {file}; now: rondel check {arguments}"
    print(words(told, file=output, arguments=output + flag))


class _Dumper(yaml.SafeDumper):
    """Writes long texts as block scalars, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = '"' if visible(text) != text else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
