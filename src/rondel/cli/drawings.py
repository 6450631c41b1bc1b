"""`rondel check --graph`: a drawing of the graph in a file."""

from __future__ import annotations

from pathlib import Path

from rondel.certificate import Certificate
from rondel.certificate.drawing import mermaid, picture_of, svg
from rondel.errors import CallError
from rondel.graph.plan import Plan

FORMATS = {".svg": svg, ".mmd": mermaid}
MOST_NODES = 2000


def check_suffix(file: str) -> None:
    """Raise CallError unless the file's name says which kind of drawing it is to be."""
    if Path(file).suffix.lower() not in FORMATS:
        raise CallError(f"--graph {file}: a drawing is a .svg or a .mmd (Mermaid) file")


def draw(plan: Plan, certificate: Certificate, file: str) -> None:
    """Write the drawing."""
    if len(plan.nodes) > MOST_NODES:
        raise CallError(f"--graph: nobody could read a drawing of {len(plan.nodes):,} nodes")
    text = FORMATS[Path(file).suffix.lower()](picture_of(plan, certificate))
    try:
        Path(file).write_text(text, "utf-8")
    except OSError as error:
        raise CallError(f"--graph {file}: cannot be written: {error.strerror}") from error
