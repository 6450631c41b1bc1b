"""Questions of many sessions: all of them, oldest first, a page at a time, and each read once."""

from __future__ import annotations

from typing import Any

import pytest

from rondel.server import questions
from tests.unit.server.running import Running


def _waiting(server: Running, count: int) -> list[str]:
    ids = [server.start("asking") for _ in range(count)]
    for id in ids:
        server.until(id, "waiting")
    return ids


def test_who_has_waited_longest_comes_first_and_nobody_is_left_out(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "PAGE", 2)
    _waiting(server, 7)
    every = server.get("/questions")
    assert len(every["questions"]) == 7
    assert every["next"] is None
    asked = [question["asked_at"] for question in every["questions"]]
    assert asked == sorted(asked)
    paged: list[Any] = []
    more: dict[str, Any] = {}
    while more.get("cursor", "") is not None:
        page = server.get("/questions", params={"limit": 3, **more})
        paged += page["questions"]
        more = {"cursor": page["next"]}
    assert paged == every["questions"]
    server.get("/questions", 400, params={"cursor": "x"})


def test_a_session_that_waits_is_read_once_however_often_and_many_are_asked_for(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    state_of = questions.state_of

    def counting(engine: Any, session: Any) -> Any:
        read.append(session.id)
        return state_of(engine, session)

    ids = _waiting(server, 30)
    monkeypatch.setattr(questions, "state_of", counting)
    for _ in range(3):
        assert len(server.get("/questions")["questions"]) == 30
    assert sorted(read) == sorted(ids)
    server.post(f"/sessions/{ids[0]}/answer", {"text": "yes"})
    server.until(ids[0], "completed")
    assert len(server.get("/questions")["questions"]) == 29
