"""A server of its own for a test: a real one, on a loopback port, in a thread."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2

from rondel.engine.core.state import ENDED
from rondel.server.app import create_app
from rondel.server.options import Options
from rondel.server.run import Server, server_of
from rondel.server.server_database import open_server_database
from rondel.server.tokens import Tokens
from rondel.sessions.engine import Engine
from rondel.sessions.news import telling
from rondel.sessions.stores import open_store

PATIENCE = 60.0

REVIEW = """\
# A comment that stays.
graph:
  id: review
  start: Writer
  end: Final
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [one, two, three]}}
    - {id: Critic, type: agent, config: {provider: scripted, answers: [
        {content: bad, data: {score: 50}}, {content: better, data: {score: 70}},
        {content: good, data: {score: 95}}]}}
    - {id: Final, type: passthrough}
  loops:
    Writer: {max_rounds: 5, exit_on_score: 90}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Writer}
    - {from: Critic, to: Final, label: goal}
"""

ASKING = """\
graph:
  id: asking
  nodes:
    - {id: Draft, type: literal, config: {content: a draft}}
    - {id: Person, type: human, config: {description: "Is it good?", actions: [yes, "no"]}}
    - {id: End, type: passthrough}
  edges:
    - {from: Draft, to: Person}
    - {from: Person, to: End}
"""

STREAMING = """\
graph:
  id: streaming
  nodes:
    - id: Poet
      type: agent
      config:
        provider: scripted
        answers: [{chunks: ["one ", "two ", "three ", "four ", "five ", "six"], delay: 3}]
"""


class Running:
    """A server that runs."""

    def __init__(self, url: str, client: httpx2.Client, server: Server, engine: Engine) -> None:
        self.others: dict[str, Running] = {}
        self.url = url
        self.client = client
        self.server = server
        self.engine = engine

    def as_(self, token: str) -> Running:
        """The same server, called with another token."""
        if token not in self.others:
            headers = {"Authorization": f"Bearer {token}"}
            client = httpx2.Client(base_url=self.url, timeout=PATIENCE, headers=headers)
            self.others[token] = Running(self.url, client, self.server, self.engine)
        return self.others[token]

    def post(self, path: str, body: Any = None, status: int = 200, **more: Any) -> Any:
        """Post, and demand a status."""
        return self.call("POST", path, status, json=body, **more)

    def get(self, path: str, status: int = 200, **more: Any) -> Any:
        """Get, and demand a status."""
        return self.call("GET", path, status, **more)

    def call(self, method: str, path: str, status: int, **more: Any) -> Any:
        """Call, and demand a status."""
        reply = self.client.request(method, f"/api/v1{path}", **more)
        assert reply.status_code == status, f"{reply.status_code}: {reply.text}"
        kind = reply.headers.get("content-type", "")
        return reply.json() if "json" in kind and "ndjson" not in kind else reply

    def start(self, graph_id: str, inputs: Any = "a task", **more: Any) -> str:
        """Start a session."""
        body = {"graph_id": graph_id, "inputs": inputs, **more}
        return str(self.post("/sessions", body, 202)["id"])

    def events(self, id: str, last: int | None = None, **more: Any) -> Iterator[dict[str, Any]]:
        """A session's events, until its stream ends."""
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        yield from self.stream(f"/sessions/{id}/events", headers, **more)

    def stream(
        self, path: str, headers: dict[str, str] | None = None, **more: Any
    ) -> Iterator[dict[str, Any]]:
        """The events of a stream; each has its id under `_id`."""
        with self.opened(path, headers, **more) as events:
            yield from events

    @contextmanager
    def opened(
        self, path: str, headers: dict[str, str] | None = None, **more: Any
    ) -> Iterator[Iterator[dict[str, Any]]]:
        """The events of a stream that is open already."""
        url = f"/api/v1{path}"
        with self.client.stream("GET", url, headers=headers or {}, **more) as reply:
            assert reply.status_code == 200, reply.read()
            assert reply.headers["content-type"].startswith("text/event-stream")
            lines = reply.iter_lines()
            assert next(lines).startswith(("retry", "id", "data"))
            yield parsed(lines)

    def until(self, id: str, *statuses: str) -> dict[str, Any]:
        """The session once it has one of these states."""
        for event in self.events(id):
            if event["event"] == "session_state_change" and event["data"]["status"] in statuses:
                break
        deadline = time.monotonic() + PATIENCE
        while (found := self.get(f"/sessions/{id}"))["status"] not in statuses:
            assert found["status"] not in ENDED, found["message"]
            assert time.monotonic() < deadline
        return dict(found)


def parsed(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The events of the lines of a stream."""
    id = None
    for line in lines:
        if line.startswith("id: "):
            id = line.removeprefix("id: ")
        elif line.startswith("data: "):
            yield {**json.loads(line.removeprefix("data: ")), "_id": id}
            id = None


def create_tokens(
    place: str | Path, wanted: dict[str, tuple[str, list[str] | None]]
) -> dict[str, str]:
    """Tokens with these roles and groups, by their names."""
    database = open_server_database(place)

    async def create() -> dict[str, str]:
        known = Tokens(database)
        return {name: await known.create(name, *what) for name, what in wanted.items()}

    try:
        return asyncio.run(create())
    finally:
        database.close()


@contextmanager
def running(
    folder: Path,
    db: str | Path | None = None,
    options: Options | None = None,
    token: str = "",
    database: str | Path | None = None,
) -> Iterator[Running]:
    """A server of the graphs of a folder, and of a database."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    port = listening.getsockname()[1]
    made: dict[str, Any] = {}
    began = threading.Event()

    async def main() -> None:
        chosen = options or Options(port=port)
        store, _ = telling(open_store(None if db is None else str(db), "normal"))
        engine = made["engine"] = Engine(
            store, allow_python=chosen.allow_python, allow_commands=chosen.allow_commands
        )
        app = create_app(engine, folder, chosen, open_server_database(database))
        server = made["server"] = server_of(app, chosen)
        began.set()
        await server.serve([listening])

    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    assert began.wait(PATIENCE)
    url = f"http://127.0.0.1:{port}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with httpx2.Client(base_url=url, timeout=PATIENCE, headers=headers) as client:
        while client.get("/readyz").status_code != 200:
            pass
        found = Running(url, client, made["server"], made["engine"])
        try:
            yield found
        finally:
            for other in found.others.values():
                other.client.close()
            with suppress(RuntimeError):  # its loop is closed: the test has told it already
                made["server"].handle_exit(15, None)
            thread.join(PATIENCE)
            assert not thread.is_alive()
