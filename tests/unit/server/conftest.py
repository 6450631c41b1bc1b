"""A server with a few graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rondel.server.options import Options
from tests.unit.server.guarded import TOKENS, Guarded
from tests.unit.server.running import ASKING, REVIEW, STREAMING, Running, create_tokens, running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three graphs."""
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    for name, text in (("review", REVIEW), ("asking", ASKING), ("streaming", STREAMING)):
        (graphs / f"{name}.yaml").write_text(text, "utf-8")
    return graphs


@pytest.fixture
def server(folder: Path, tmp_path: Path) -> Iterator[Running]:
    """A server with a database in a file."""
    with running(folder, tmp_path / "sessions.db") as found:
        yield found


@pytest.fixture
def guarded(folder: Path, tmp_path: Path) -> Iterator[Guarded]:
    """A server that demands tokens."""
    place = tmp_path / "server.db"
    made = create_tokens(place, TOKENS)
    options = Options(tokens=True)
    with running(folder, tmp_path / "s.db", options, made["root"], place) as server:
        yield Guarded(server, made, place)
