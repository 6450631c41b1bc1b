"""The server as a process: told to stop, killed, and started again."""

from __future__ import annotations

import signal
import socket
import statistics
import time
from pathlib import Path

from tests.unit.server.process import free_port, served
from tests.unit.server.running import parsed

SLOW = """\
graph:
  id: slow
  end: Last
  nodes:
    - {id: First, type: agent, config: {provider: scripted, answers: [{content: one, delay: 1}]}}
    - {id: Last, type: agent, config: {provider: scripted, answers: [{content: two, delay: 1}]}}
  edges: [{from: First, to: Last}]
"""


def start(client, graph: str) -> str:  # type: ignore[no-untyped-def]
    reply = client.post("/api/v1/sessions", json={"graph_id": graph, "inputs": "x"})
    assert reply.status_code == 202, reply.text
    return str(reply.json()["id"])


def test_told_to_stop_it_ends_its_streams_at_once_and_lets_steps_finish(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "slow.yaml").write_text(SLOW)
    db = tmp_path / "sessions.db"
    with served(folder, db) as (process, client):
        waiting, slow = start(client, "asking"), start(client, "slow")
        lines: list[str] = []
        with client.stream("GET", f"/api/v1/sessions/{waiting}/events") as stream:
            began = 0.0
            for line in stream.iter_lines():
                lines.append(line)
                if '"waiting"' in line:
                    process.send_signal(signal.SIGTERM)
                    began = time.monotonic()
            ended = time.monotonic() - began
        assert ended < 2
        assert lines.count("retry: 1000") == 2
        assert lines[-2:] == ["retry: 1000", ""]
        assert process.wait(30) in (0, -signal.SIGTERM)
    with served(folder, db) as (_, client):
        with client.stream("GET", f"/api/v1/sessions/{slow}/events") as stream:
            told = list(parsed(stream.iter_lines()))
        runs = [e for e in told if e["node_id"] == "First" and e["data"].get("status") == "running"]
        assert len(runs) == 1  # the step under way was let finish
        assert told[-1]["data"]["status"] == "completed"


def test_clients_that_take_nothing_do_not_keep_a_server_from_stopping(
    folder: Path, tmp_path: Path
) -> None:
    port = free_port()
    with served(folder, tmp_path / "sessions.db", port=port) as (process, client):
        id = start(client, "asking")
        stuck = []
        for _ in range(20):
            dead = socket.create_connection(("127.0.0.1", port))
            dead.sendall(
                f"GET /api/v1/sessions/{id}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            )
            stuck.append(dead)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        assert time.monotonic() - began < 10
        for dead in stuck:
            dead.close()


def test_killed_and_started_again_it_takes_up_what_was_under_way(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "slow.yaml").write_text(SLOW)
    db, port = tmp_path / "sessions.db", free_port()
    seen: list[int] = []
    with served(folder, db, port=port) as (process, client):
        id = start(client, "slow")
        with client.stream("GET", f"/api/v1/sessions/{id}/events") as stream:
            for event in parsed(stream.iter_lines()):
                if event["seq"] is not None:
                    seen.append(event["seq"])
                if event["node_id"] == "First" and event["data"].get("status") == "completed":
                    process.kill()
                    break
    with served(folder, db, port=port) as (_, client):
        last = {"Last-Event-ID": str(seen[-1])}
        with client.stream("GET", f"/api/v1/sessions/{id}/events", headers=last) as stream:
            told = [event for event in parsed(stream.iter_lines()) if event["seq"] is not None]
        seen += [event["seq"] for event in told]
        assert seen == list(range(1, len(seen) + 1))
        assert told[-1]["data"]["status"] == "completed"


def test_a_small_answer_goes_out_at_once(folder: Path, tmp_path: Path) -> None:
    """Head and body are two writes: the second does not wait until the first is acknowledged."""
    with served(folder, tmp_path / "s.db") as (_, client):
        took = []
        for _ in range(30):
            began = time.perf_counter()
            assert client.get("/healthz").status_code == 200
            took.append(time.perf_counter() - began)
    assert statistics.median(took) < 0.035
