"""The graphs shown on the node types' pages load and run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rondel
from rondel import Graph

PAGES = Path(__file__).parents[3] / "docs" / "reference" / "nodes"
SHOWN = [
    (page.stem, block)
    for page in sorted(PAGES.glob("*.md"))
    for block in re.findall(r"```yaml\n(graph:.*?)```", page.read_text(), re.DOTALL)
]


@pytest.mark.parametrize(("page", "text"), SHOWN, ids=[page for page, _ in SHOWN])
def test_a_shown_graph_runs_to_its_end_or_to_its_question(page: str, text: str) -> None:
    graph = Graph.loads(text, file=f"{page}.md")
    result = rondel.run(graph, "a task", allow_python=page == "python")
    assert result.status == ("waiting" if page == "human" else "completed"), result.message
