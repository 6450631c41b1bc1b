"""Event streams: history first, then live, no gap and no repeat."""

from __future__ import annotations

import json
import time
from pathlib import Path

from rondel.server.options import Options
from tests.openai_server import OpenAIServer, Reply
from tests.unit.server.running import Running, running


def test_a_stream_tells_every_event_once_and_ends_with_the_session(server: Running) -> None:
    id = server.start("review")
    told = list(server.events(id))
    durable = [event["seq"] for event in told if event["seq"] is not None]
    assert durable == list(range(1, len(durable) + 1))
    assert [event["_id"] for event in told if event["seq"]] == [str(seq) for seq in durable]
    assert told[-1]["data"]["status"] == "completed"
    again = list(server.events(id))
    assert [e for e in again if e["seq"]] == [e for e in told if e["seq"]]
    middle = list(server.events(id, last=7))
    assert [event["seq"] for event in middle] == durable[7:]
    url = f"/api/v1/sessions/{id}/events"
    assert server.client.get(url, headers={"Last-Event-ID": str(durable[-1])}).status_code == 204
    assert server.client.get(url, headers={"Last-Event-ID": "x"}).status_code == 400


def test_who_reconnects_in_the_middle_goes_on_where_it_was(server: Running) -> None:
    id = server.start("asking")
    seen: list[int] = []
    for event in server.events(id):
        seen.append(event["seq"])
        if event["event"] == "session_state_change" and event["data"]["status"] == "waiting":
            break
    server.post(f"/sessions/{id}/answer", {"text": "yes"})
    rest = [event["seq"] for event in server.events(id, last=seen[-1])]
    assert seen + rest == list(range(1, len(seen) + len(rest) + 1))


def test_a_stream_goes_on_after_a_restart_of_the_server(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "sessions.db"
    with running(folder, db) as first:
        id = first.start("asking")
        first.until(id, "waiting")
        seen = [event["seq"] for event in first.events(id, params={"follow": "false"})]
    with running(folder, db) as second:
        second.post(f"/sessions/{id}/answer", {"text": "yes"})
        rest = [event["seq"] for event in second.events(id, last=seen[-1])]
        assert seen + rest == list(range(1, len(seen) + len(rest) + 1))


def test_the_first_who_watches_gets_the_past_and_then_the_text_so_far(server: Running) -> None:
    id = server.start("streaming")
    time.sleep(1.2)  # somebody speaks, and nobody watches
    told = []
    for event in server.events(id):
        told.append(event)
        if event["event"] == "token_stream":
            break
    assert [event["seq"] for event in told[:-1]] == list(range(1, len(told)))
    assert len(told) > 2
    assert told[-1]["data"]["so_far"] is True
    assert told[-1]["data"]["chunk"].startswith("one")


def test_who_comes_late_gets_the_text_so_far_as_one_event(server: Running) -> None:
    id = server.start("streaming")
    for event in server.events(id):
        if event["event"] == "token_stream" and "three" in event["data"]["chunk"]:
            break
    late = server.events(id)
    tokens = [next(event for event in late if event["event"] == "token_stream")]
    assert tokens[0]["data"]["so_far"] is True
    assert tokens[0]["data"]["chunk"].startswith("one two three")
    tokens += [event for event in late if event["event"] == "token_stream"]
    text = "".join(event["data"]["chunk"] for event in tokens)
    assert text == "one two three four five six"
    assert all(event["seq"] is None and event["_id"] is None for event in tokens)
    assert len(tokens) > 1


def test_who_comes_late_is_told_what_is_waited_for(folder: Path, tmp_path: Path) -> None:
    later = Reply(status=429, headers={"Retry-After": "420"}, body={"error": {}})
    with (
        OpenAIServer(later) as provider,
        running(folder, tmp_path / "s.db", Options(allow_private=True)) as server,
    ):
        config = {"provider": "deepseek", "name": "m", "base_url": provider.url}
        graph = {"graph": {"id": "g", "nodes": [{"id": "A", "type": "agent", "config": config}]}}
        id = server.post("/sessions", {"graph": json.dumps(graph), "inputs": "go"}, 202)["id"]
        for _ in range(2):
            waits = next(e for e in server.events(id) if e["event"] == "model_waiting")
            assert (waits["seq"], waits["address"]) == (None, "A")
            assert 400 < waits["data"]["seconds"] <= 420
        server.post(f"/sessions/{id}/stop", {})
        assert "model_waiting" not in [event["event"] for event in server.events(id)]
