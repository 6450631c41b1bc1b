"""What another process asks for by letter is there once its letter is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rondel import Context, Engine
from rondel.engine.protocols import Usage
from rondel.journal.sqlite import SqliteStore
from rondel.sessions.controls import Stop
from tests.unit.sessions.playing import alone, limited, until


def test_a_letter_goes_with_what_it_asked_for_and_with_nothing_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop is recorded behind what its steps have spent; only then may the letter be gone."""
    written: list[tuple[str, bool]] = []
    append = SqliteStore.append

    def noting(store: SqliteStore, session: str, tick: Any, **more: Any) -> Any:
        written.append((type(tick).__name__, more.get("letter") is not None))
        return append(store, session, tick, **more)

    monkeypatch.setattr(SqliteStore, "append", noting)

    async def main() -> None:
        charged = asyncio.Event()

        async def spends(inp: Context) -> None:
            inp.charge(Usage("m", 10))
            charged.set()
            await asyncio.Event().wait()

        async with Engine(tmp_path / "db") as engine, Engine(tmp_path / "db") as other:
            session = await engine.start(alone(spends))
            await charged.wait()
            await other.post(session.id, Stop("Ada"))
            assert (await session.result()).message == "stopped by Ada"
            await until(lambda: not other.store.letters(session.id))

    limited(main())
    assert written[-2:] == [("Spent", False), ("Stopped", True)]
