"""Several servers of one PostgreSQL share what they keep: tokens, secrets, webhooks, answers."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from standardwebhooks import Webhook

from tests import postgres
from tests.e2e.command import rondel, start
from tests.openai_server import OpenAIServer
from tests.unit.server.process import served
from tests.unit.server.receiver import Receiver
from tests.unit.server.running import ASKING, PATIENCE, REVIEW

OPTIONS = ("--tokens", "--allow-private")
API = "/api/v1"


class Client:
    """One server, called with one token."""

    def __init__(self, client: httpx2.Client, token: str) -> None:
        self.client = client
        self.headers = {"Authorization": f"Bearer {token}"}

    def call(self, method: str, path: str, status: int = 200, **more: Any) -> Any:
        more["headers"] = {**self.headers, **more.get("headers", {})}
        reply = self.client.request(method, f"{API}{path}", **more)
        assert reply.status_code == status, f"{reply.status_code}: {reply.text}"
        return reply.json() if reply.content else None

    def start(self, graph: str) -> str:
        return str(self.call("POST", "/sessions", 202, json={"graph_id": graph})["id"])

    def until(self, id: str, status: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while (found := self.call("GET", f"/sessions/{id}"))["status"] != status:
            assert time.monotonic() < deadline, found
            time.sleep(0.02)


@pytest.fixture
def db(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    url = postgres.new_database(postgres_url)
    monkeypatch.setenv("RONDEL_DB", url)
    yield url
    postgres.drop_database(postgres_url, url)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    (graphs / "review.yaml").write_text(REVIEW)
    (graphs / "asking.yaml").write_text(ASKING)
    return graphs


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def token(db: str, name: str, *more: str) -> str:
    made = rondel("tokens", "create", name, "--db", db, *more)
    assert made.code == 0, made.err
    return made.out.strip()


def test_a_token_and_a_login_open_every_server_at_once_and_so_does_its_end(
    db: str, folder: Path
) -> None:
    admin = token(db, "root", "--role", "admin")
    with ExitStack() as running:
        one, two = (running.enter_context(served(folder, db, *OPTIONS))[1] for _ in range(2))
        assert Client(one, admin).call("GET", "/me")["name"] == "root"
        made = token(db, "anna", "--role", "operator", "--group", "a")
        for server in (one, two):
            assert Client(server, made).call("GET", "/me")["groups"] == ["a"]
        own = {"Origin": str(one.base_url).rstrip("/")}
        cookie = one.post(f"{API}/login", json={"token": made}, headers=own).headers["set-cookie"]
        word = {"Cookie": cookie.partition(";")[0]}
        assert two.get(f"{API}/me", headers=word).json()["name"] == "anna"
        graph = {"text": ASKING.replace("asking", "further")}
        key = {"headers": {"Idempotency-Key": "once"}, "json": graph}
        first = Client(one, admin).call("POST", "/graphs", 201, **key)
        assert Client(two, admin).call("POST", "/graphs", 201, **key) == first
        assert rondel("tokens", "revoke", "anna", "--db", db).code == 0
        time.sleep(1.0)  # as the page on security says
        for server in (one, two):
            Client(server, made).call("GET", "/me", 401)
            assert server.get(f"{API}/sessions", headers=word).status_code == 401
    assert not list(folder.parent.glob("**/*server.db*"))


def test_a_webhook_is_told_once_by_whichever_server_and_after_the_death_of_the_one_that_began(
    db: str, folder: Path, receiver: Receiver
) -> None:
    admin = token(db, "root", "--role", "admin")
    with ExitStack() as running:
        processes, clients = zip(
            *[running.enter_context(served(folder, db, *OPTIONS)) for _ in range(2)], strict=True
        )
        one, two = (Client(client, admin) for client in clients)
        hook = one.call("POST", "/webhooks", 201, json={"url": receiver.url})
        for number in range(10):
            (one, two)[number % 2].start("review")
        told = receiver.wait(10)
        assert {each["type"] for each in told} == {"session.completed"}
        time.sleep(1.5)  # who looks a second later finds nothing to tell again
        assert len(receiver.heard) == len(set(receiver.ids)) == 10
        for headers, body in receiver.heard:
            Webhook(hook["secret"]).verify(body, headers)
        seen = two.call("GET", f"/webhooks/{hook['id']}/deliveries")["deliveries"]
        assert [each["status"] for each in seen] == ["delivered"] * 10

        receiver.hold.clear()
        one.until(one.start("asking"), "waiting")
        receiver.wait(11)
        # The one that sends holds on to it; the other one has to see that it died.
        sender = next(p for p in processes if _is_connected(p.pid, receiver))
        other = two if sender is processes[0] else one
        sender.send_signal(signal.SIGKILL)
        sender.wait()
        receiver.hold.set()
        receiver.wait(12)
        assert receiver.ids[10] == receiver.ids[11]
        deadline = time.monotonic() + PATIENCE
        while True:
            newest = other.call("GET", f"/webhooks/{hook['id']}/deliveries")["deliveries"][0]
            if newest["status"] == "delivered":
                break
            assert time.monotonic() < deadline, newest
            time.sleep(0.05)


def _is_connected(pid: int, receiver: Receiver) -> bool:
    """Whether a process has a connection to the receiver."""
    port = f":{receiver.server.server_port:04X}"
    sockets = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[2].endswith(port) and f"socket:[{fields[9]}]" in sockets:
            return True
    return False


def test_what_a_worker_or_a_command_finished_is_told_too_and_secrets_reach_it(
    db: str, folder: Path, receiver: Receiver
) -> None:
    admin = token(db, "root", "--role", "admin")
    with OpenAIServer("hi") as provider, ExitStack() as running:
        agent = {"provider": "openai", "name": "m", "base_url": provider.url}
        node = {"id": "a", "type": "agent", "config": {**agent, "api_key": "${KEY}"}}
        (folder / "keyed.json").write_text(json.dumps({"graph": {"id": "keyed", "nodes": [node]}}))
        options = (*OPTIONS, "--dispatcher", "procrastinate")
        _, client = running.enter_context(served(folder, db, *options))
        worker = start("worker", "--db", db)
        running.callback(worker.communicate)
        running.callback(worker.kill)
        server = Client(client, admin)
        server.call("POST", "/webhooks", 201, json={"url": receiver.url})
        server.call("PUT", "/secrets/KEY", 204, json={"value": "of-a"}, params={"group": "a"})
        body = {"graph_id": "keyed", "inputs": "x", "group": "a"}
        id = server.call("POST", "/sessions", 202, json=body)["id"]
        [told] = receiver.wait(1)
        assert (told["data"]["session_id"], told["type"]) == (id, "session.completed")
        assert provider.seen[0].headers["authorization"] == "Bearer of-a"
        asked = server.start("asking")
        receiver.wait(2)
        assert rondel("answer", asked, "yes", "--db", db).code == 0
        assert receiver.wait(3)[-1]["data"] == {
            **{"session_id": asked, "graph_id": "asking", "status": "completed"},
            **{"reason": "", "labels": {}, "link": f"/sessions/{asked}"},
        }
