"""Servers that only submit: whichever is asked, a worker drives, and who watches misses nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from rondel.cli import main
from tests import postgres
from tests.e2e.command import start
from tests.unit.server.process import served
from tests.unit.server.running import parsed

LOOP = """\
graph:
  id: slow
  start: [Write]
  nodes:
    - {id: Write, type: agent, config: {provider: scripted, answers: [{content: a, delay: 0.15}]}}
    - {id: Check, type: agent, config: {provider: scripted, answers: [{content: b, delay: 0.1}]}}
    - {id: Thrice, type: loop, config: {max_rounds: 4}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Write, to: Check}
    - {from: Check, to: Thrice}
    - {from: Thrice, to: Write, label: continue}
    - {from: Thrice, to: Done, label: exit}
"""
LONG = """\
graph:
  id: long
  nodes:
    - {id: Think, type: agent, config: {provider: scripted, answers: [{content: a, delay: 30}]}}
  edges: []
"""


Clients = tuple[httpx2.Client, httpx2.Client]


@pytest.fixture(scope="module")
def servers(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    """Two servers that submit, and a worker."""
    url = postgres.new_database(postgres_url)
    folder = tmp_path_factory.mktemp("graphs")
    (folder / "slow.yaml").write_text(LOOP)
    (folder / "long.yaml").write_text(LONG)
    worker = start("worker", "--db", url)
    try:
        with ExitStack() as running:
            options = ("--dispatcher", "procrastinate")
            one, two = (running.enter_context(served(folder, url, *options))[1] for _ in range(2))
            yield one, two
    finally:
        worker.kill()
        worker.communicate()
        postgres.drop_database(postgres_url, url)


def submit(client: httpx2.Client, graph: str) -> str:
    reply = client.post("/api/v1/sessions", json={"graph_id": graph, "inputs": "x"})
    assert reply.status_code == 202, reply.text
    return str(reply.json()["id"])


def test_who_watches_may_change_servers_without_gap_or_repeat(servers: Clients) -> None:
    id = submit(servers[0], "slow")
    seen: list[dict[str, object]] = []
    turn = 0
    while not seen or seen[-1]["event"] != "session_state_change" or not _is_over(seen[-1]):
        turn += 1
        last = {"Last-Event-ID": str(seen[-1]["_id"])} if seen else {}
        where = f"/api/v1/sessions/{id}/events"
        with servers[turn % 2].stream("GET", where, headers=last) as stream:
            for event in parsed(stream.iter_lines()):
                if event["_id"] is None:
                    continue  # live only
                seen.append(event)
                if len(seen) % 5 == 0 or _is_over(event):
                    break
    assert turn > 4
    assert [int(str(event["_id"])) for event in seen] == list(range(1, len(seen) + 1))
    with servers[0].stream("GET", f"/api/v1/sessions/{id}/events") as stream:
        told = [event for event in parsed(stream.iter_lines()) if event["_id"] is not None]
    assert seen == told


def _is_over(event: dict[str, object]) -> bool:
    data = event["data"]
    assert isinstance(data, dict)
    return event["node_id"] is None and data.get("status") == "completed"


def test_stopped_at_another_server_within_two_seconds_of_a_long_node(servers: Clients) -> None:
    one, two = servers
    id = submit(one, "long")
    deadline = time.monotonic() + 30
    while two.get(f"/api/v1/sessions/{id}").json()["status"] != "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    began = time.monotonic()
    assert two.post(f"/api/v1/sessions/{id}/stop").status_code < 300
    assert one.get(f"/api/v1/sessions/{id}").json()["status"] == "cancelled"
    assert time.monotonic() - began < 2


def test_a_server_goes_on_with_what_another_leaves_and_who_watches_may_come_over(
    postgres_url: str, tmp_path: Path
) -> None:
    url = postgres.new_database(postgres_url)
    (tmp_path / "slow.yaml").write_text(LOOP)
    try:
        with served(tmp_path, url) as (process, one), served(tmp_path, url) as (_, two):
            id = submit(one, "slow")
            where = f"/api/v1/sessions/{id}/events"
            with one.stream("GET", where) as stream:
                events = parsed(stream.iter_lines())
                seen = [event for _, event in zip(range(8), events, strict=False)]
                process.terminate()
                seen = [event for event in [*seen, *events] if event["_id"] is not None]
            last = {"Last-Event-ID": str(seen[-1]["_id"])}
            with two.stream("GET", where, headers=last) as stream:
                seen += [each for each in parsed(stream.iter_lines()) if each["_id"] is not None]
            assert _is_over(seen[-1])
            assert [int(str(event["_id"])) for event in seen] == list(range(1, len(seen) + 1))
    finally:
        postgres.drop_database(postgres_url, url)


def test_sessions_in_a_file_are_left_to_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--db", "s.db", "--dispatcher", "procrastinate"]) == 2
    assert "only sessions in PostgreSQL can be left to workers" in capsys.readouterr().err
