"""Writes the generated pages and drawings: `python -m build_docs`.

With `--check` it only says which of them are out of date, and ends with 1 if any is.
"""

from __future__ import annotations

import sys
from pathlib import Path

from build_docs import commands, drawings, errors, events, fields, python_names, routes

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
DRAWINGS = ROOT / "docs" / "concepts" / "drawings"


def pages() -> dict[Path, str]:
    """Every generated file as it should be."""
    told = REFERENCE / "commands.md"
    now = told.read_text("utf-8") if told.exists() else ""
    made = {
        REFERENCE / "graph.md": fields.graph_page(),
        REFERENCE / "edges.md": fields.edges_page(),
        REFERENCE / "events.md": events.page(),
        told: commands.page(now),
        REFERENCE / "python.md": python_names.page(),
        REFERENCE / "errors.md": errors.page(),
        REFERENCE / "http.md": routes.page(),
    }
    made.update((DRAWINGS / name, text) for name, text in drawings.drawn().items())
    return made


def outdated() -> list[str]:
    """The generated files that are not as they should be."""
    return [
        str(file.relative_to(ROOT))
        for file, text in pages().items()
        if not file.exists() or file.read_text("utf-8") != text
    ]


def main() -> int:
    """Write, or check."""
    if "--check" in sys.argv[1:]:
        for name in outdated():
            print(f"{name} is out of date; write it anew: python -m build_docs", file=sys.stderr)
        return 1 if outdated() else 0
    for file, text in pages().items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
