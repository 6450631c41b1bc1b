"""No test touches the user's own sessions."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_database(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder: Path = tmp_path_factory.mktemp("rondel")
    monkeypatch.setenv("RONDEL_DB", str(folder / "rondel.db"))
