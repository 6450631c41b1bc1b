"""The feed of all sessions: every tick is read once, and what is durable late is not missed."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rondel.server import feed
from rondel.sessions.events import Narrator
from tests.unit.server.running import Running, running

EVERY_ROUND = """\
graph:
  id: every_round
  start: Draft
  end: End
  breaker: off
  nodes:
    - {id: Draft, type: literal, config: {content: a draft}}
    - {id: Person, type: human, config: {description: "Is it good?"}}
    - {id: End, type: passthrough}
  loops: {Draft: {max_rounds: 30}}
  edges:
    - {from: Draft, to: Person}
    - {from: Person, to: Draft}
    - {from: Person, to: End, label: limit}
"""

SLOW = """\
graph:
  id: slow
  nodes:
    - {id: A, type: agent, config: {provider: scripted, answers: [{content: x, delay: 0.5}]}}
"""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The ticks that the feed folds."""
    ticks: list[object] = []

    class Counting:
        def __init__(self, *of: Any) -> None:
            self._narrator = Narrator(*of)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._narrator, name)

        def fold(self, tick: Any) -> Any:
            ticks.append(tick)
            return self._narrator.fold(tick)

    monkeypatch.setattr(feed, "Narrator", Counting)
    return ticks


def _until(events: Iterator[dict[str, Any]], *statuses: str) -> list[dict[str, Any]]:
    seen = []
    for event in events:
        seen.append(event)
        if event["event"] == "session_state_change" and event["data"]["status"] in statuses:
            return seen
    raise AssertionError(seen)


def test_the_feed_folds_every_tick_of_a_session_once(
    folder: Path, server: Running, told: list[object]
) -> None:
    (folder / "every_round.yaml").write_text(EVERY_ROUND, "utf-8")
    with server.opened("/events") as events:
        id = server.start("every_round")
        seen = _until(events, "waiting")
        for _ in range(29):
            server.post(f"/sessions/{id}/answer", {"text": "no"})
            seen += _until(events, "waiting")
        server.post(f"/sessions/{id}/answer", {"text": "no"})
        seen += _until(events, "bounded", "completed")
    assert len(told) == server.engine.get(id).row.length
    every = [e["seq"] for e in server.events(id) if e["event"] in feed.TOLD]
    assert [event["seq"] for event in seen] == every


def test_the_feed_keeps_nothing_of_sessions_that_are_over_or_that_nobody_watches(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "LINGER", 0.0)
    known = server.server._site.hub.feed
    with server.opened("/events") as events:
        server.start("review")
        _until(events, "completed")
        id = server.start("asking")
        _until(events, "waiting")
        assert list(known._sessions) == [id]
    deadline = time.monotonic() + 10
    while known._sessions:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_end_of_a_session_is_told_however_long_the_disk_takes(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "slow.yaml").write_text(SLOW, "utf-8")
    db = tmp_path / "s.db"
    with running(folder, db, database=tmp_path / "server.db") as server:
        with server.opened("/events") as events:
            server.start("slow")
            other = sqlite3.connect(db, isolation_level=None, check_same_thread=False)
            time.sleep(0.3)
            other.execute("BEGIN IMMEDIATE")
            threading.Timer(1.0, lambda: other.execute("ROLLBACK")).start()
            assert _until(events, "completed")
        [shown] = server.get("/insights")["graphs"]
        assert shown["statuses"] == {"completed": 1}
        other.close()
