"""`rondel new`, `rondel schema`: what helps to write a graph file."""

from __future__ import annotations

import json
import sys
from importlib.resources.abc import Traversable
from typing import Annotated

import typer

from rondel.cli.graph_files import write_new
from rondel.cli.language import words
from rondel.errors import CallError
from rondel.graph.json_schema import json_schema
from rondel.graph.names import Names
from rondel.sessions.registry import default_registry
from rondel.sessions.templates import summary_of, templates

STDOUT = "-"


def new(
    template: Annotated[
        str | None, typer.Argument(metavar="[TEMPLATE]", help="Without one, lists them all.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Default: TEMPLATE.yaml; - prints it."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> int:
    """List the templates, or write a graph file from one."""
    known = templates()
    if template is None:
        _list(known)
        return 0
    if template not in known:
        hint = Names(known, what="there are").hint(template)
        raise CallError(f"there is no template {template!r}; {hint}")
    text = known[template].read_text("utf-8")
    if output == STDOUT:
        sys.stdout.write(text)
        return 0
    file = output or f"{template}.yaml"
    write_new(file, text, force=force)
    told = "wrote {file}; now: rondel check {file}, then: rondel run {file} -i 'your topic'"
    print(words(told, file=file))
    return 0


def _list(known: dict[str, Traversable]) -> None:
    width = max(map(len, known))
    for name, file in known.items():
        print(f"{name:{width}}  {words(summary_of(file.read_text('utf-8')))}")
    print("\n" + words("write one to a file: rondel new TEMPLATE [-o FILE]"))


def schema() -> int:
    """Print the JSON Schema of graph files, so that editors complete and check them."""
    print(json.dumps(json_schema(default_registry()), indent=2, ensure_ascii=False))
    return 0
