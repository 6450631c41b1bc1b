"""The WebSocket of a session, and the stream of all sessions."""

from __future__ import annotations

import json
from typing import Any

from websockets.sync.client import connect

from tests.unit.server.running import PATIENCE, Running


def url_of(server: Running, id: str) -> str:
    return f"{server.url.replace('http', 'ws')}/api/v1/sessions/{id}/ws"


def test_a_socket_tells_events_and_takes_controls(server: Running) -> None:
    id = server.start("asking")
    told: list[dict[str, Any]] = []
    replies: list[dict[str, Any]] = []
    with connect(url_of(server, id), open_timeout=PATIENCE) as socket:
        for message in socket:
            heard = json.loads(message)
            (replies if "reply" in heard else told).append(heard)
            if heard.get("event") == "human_input_required":
                for order in (
                    {"do": "dance", "ref": 1},
                    {"do": "answer", "text": "yes", "node": "Nobody", "ref": 2},
                    {"do": "answer", "text": "yes", "ref": 3},
                ):
                    socket.send(json.dumps(order))
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert told[-1]["data"]["status"] == "completed"
    assert [reply["reply"] for reply in replies][:2] == [1, 2]
    assert "there is no control 'dance'" in replies[0]["problem"]["detail"]
    assert "has no node 'Nobody'" in replies[1]["problem"]["detail"]


def test_the_stream_of_all_sessions_tells_what_happens_to_each_and_goes_on_where_it_was(
    server: Running,
) -> None:
    told = []
    with server.opened("/events") as stream:
        first = server.start("asking")
        for event in stream:
            told.append(event)
            if event["event"] == "human_input_required":
                break
    assert {event["session_id"] for event in told} == {first}
    server.post(f"/sessions/{first}/answer", {"text": "yes"})
    second = server.start("review")
    seen = []
    for event in server.stream("/events", {"Last-Event-ID": told[-1]["_id"]}):
        seen.append(event)
        ends = {e["session_id"] for e in seen if e["data"].get("status") == "completed"}
        if ends == {first, second}:
            break
    numbers = [(event["session_id"], event["seq"]) for event in told + seen]
    assert len(set(numbers)) == len(numbers)
    assert "human_input_received" in [event["event"] for event in seen]
    assert "node_state_change" not in [event["event"] for event in told + seen]


def test_what_is_no_control_is_refused_as_everywhere_and_the_socket_stays(server: Running) -> None:
    id = server.start("asking")
    with connect(url_of(server, id), open_timeout=PATIENCE) as socket:
        for order, says in (
            (b"\xff\x00", "that is no control"),
            ("nonsense", "that is no control"),
            ('{"do": "answer"}', "an answer needs a `text`"),
            ('{"do": "signal"}', "a signal needs a `name`"),
        ):
            socket.send(order)
            while "reply" not in (heard := json.loads(socket.recv(timeout=PATIENCE))):
                pass
            assert heard["problem"]["status"] == 422
            assert says in heard["problem"]["detail"]
            assert heard["problem"]["type"].startswith("urn:rondel:problem:")
        socket.send(b'{"do": "answer", "text": "yes", "ref": 5}')
        replies = [heard for heard in map(json.loads, socket) if "reply" in heard]
        assert (replies[0]["reply"], replies[0]["ok"]) == (5, True)
