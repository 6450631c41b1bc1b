"""Event streams in time: clients that take nothing, quiet ones, gone ones, and a store that goes.

Each over a real server; the times are short ones.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from rondel.errors import JournalUnwritable
from rondel.server.hub import Hub
from rondel.server.options import Options
from tests.unit.server.running import Running, running

QUICK = Options(ping=0.25, send_timeout=2.0)

TALKING = f"""\
graph:
  id: talking
  nodes:
    - {{id: Begin, type: human, config: {{description: "Shall it begin?"}}}}
    - {{id: Poet, type: agent, config: {{provider: scripted, answers: [
        {{content: "{"x" * 900_000}", chunks: 20, delay: 0.1}}]}}}}
    - {{id: Person, type: human, config: {{description: "Enough?"}}}}
  edges:
    - {{from: Begin, to: Poet}}
    - {{from: Poet, to: Person}}
"""

STEADY = """\
graph:
  id: steady
  nodes:
    - {id: Poet, type: agent, config: {provider: scripted, answers: [
        {chunks: ["one ", "two ", "three ", "four ", "five ", "six"], delay: 0.6}]}}
    - {id: Last, type: passthrough}
  edges: [{from: Poet, to: Last}]
"""


def hub_of(server: Running) -> Hub:
    found: Hub = server.server._site.hub
    return found


def soon(is_so: Callable[[], object], within: float = 10) -> float:
    """How long it took until it was so."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < within, "it did not come to be so"
        time.sleep(0.01)
    return time.monotonic() - began


@contextmanager
def stuck_at(server: Running) -> Iterator[tuple[str, socket.socket]]:
    """A session that says much, and a client of it that takes nothing of that."""
    for listening in server.server.servers[0].sockets:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
    id = server.start("talking")
    with watching(server, id, buffer=4096) as stuck:
        soon(lambda: hub_of(server).readers)
        server.until(id, "waiting")
        server.post(f"/sessions/{id}/answer", {"text": "yes"})
        soon(lambda: unsent(server) > 0)
        yield id, stuck


@contextmanager
def watching(server: Running, id: str, buffer: int | None = None) -> Iterator[socket.socket]:
    """A client of its own, which has asked for a session's events and read nothing yet."""
    host, port = server.url.removeprefix("http://").split(":")
    with socket.socket() as client:
        if buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.settimeout(10)
        client.connect((host, int(port)))
        client.sendall(
            f"GET /api/v1/sessions/{id}/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
        )
        yield client


def read_until(client: socket.socket, mark: bytes) -> bytes:
    told = b""
    while mark not in told:
        more = client.recv(65536)
        assert more, told
        told += more
    return told


def taken(client: socket.socket) -> bytes:
    """What there is until the server's end is closed."""
    told = b""
    with suppress(ConnectionResetError):
        while more := client.recv(65536):
            told += more
    return told


def is_freed(server: Running) -> bool:
    hub = hub_of(server)
    return not (hub.heartbeat.streams or hub._channels or hub.readers)


def unsent(server: Running) -> int:
    """Bytes that the server holds for clients."""
    connections: set[Any] = server.server.server_state.connections
    return sum(each.transport.get_write_buffer_size() for each in list(connections))


def test_who_takes_nothing_is_let_go_of_and_holds_neither_memory_nor_the_session(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "talking.yaml").write_text(TALKING)
    with running(folder, None, QUICK) as server:
        with stuck_at(server) as (id, stuck):
            soon(lambda: server.engine.get(id).status == "waiting")
            assert hub_of(server).readers == 1, "the session waited for the client"
            assert unsent(server) > 0
            assert soon(lambda: is_freed(server)) < QUICK.send_timeout + QUICK.ping + 2
            soon(lambda: unsent(server) == 0, within=5)
            assert len(taken(stuck)) < 200_000
        told = [e["seq"] for e in server.events(id, params={"follow": "false"})]
        assert told == list(range(1, len(told) + 1))
    assert "without completing" not in caplog.text


def test_a_quiet_stream_gets_a_sign_of_life_at_each_interval(folder: Path) -> None:
    with running(folder, None, QUICK) as server:
        id = server.start("asking")
        with watching(server, id) as client:
            read_until(client, b'"waiting"')
            read_until(client, b": ping\n\n")
            began = time.monotonic()
            for _ in range(3):
                read_until(client, b": ping\n\n")
            took = time.monotonic() - began
            assert 2 * QUICK.ping < took < 3 * QUICK.ping * 1.2 + 1
            server.post(f"/sessions/{id}/answer", {"text": "yes"})
            read_until(client, b'"completed"')


def test_a_client_that_goes_is_noticed_and_leaves_nothing(folder: Path) -> None:
    with running(folder, None) as server:
        id = server.start("asking")
        with watching(server, id) as stays:
            read_until(stays, b'"waiting"')
            channel = hub_of(server)._channels[id]
            for _ in range(5):
                with watching(server, id) as goes:
                    read_until(goes, b'"waiting"')
                    assert channel.readers == 2
                soon(lambda: channel.readers == 1, within=5)
            assert len(channel._waiting) == 1
            assert len(hub_of(server).heartbeat.streams) == 1
        soon(lambda: is_freed(server), within=5)
        assert channel.over


class Away:
    """A store that cannot be read for a while, and says when it can be again."""

    def __init__(self, store: Any) -> None:
        self.refused = 0
        self.is_away = False
        self._read = store.read
        self._back: asyncio.Future[None] | None = None
        store.read, store.ready = self.read, self.ready

    def read(self, id: str, start: int, stop: int | None = None) -> Sequence[Any]:
        if self.is_away:
            self.refused += 1
            raise JournalUnwritable("the database cannot be reached")
        found: Sequence[Any] = self._read(id, start, stop)
        return found

    def ready(self) -> asyncio.Future[None] | None:
        if not self.is_away:
            return None
        loop = asyncio.get_running_loop()
        if self._back is None:
            self._back = loop.create_future()
            loop.call_later(0.3, self._return)
        return asyncio.shield(self._back)

    def _return(self) -> None:
        self.is_away = False
        assert self._back is not None
        self._back.set_result(None)


def test_while_the_store_cannot_be_read_a_watcher_loses_and_repeats_nothing(folder: Path) -> None:
    (folder / "steady.yaml").write_text(STEADY)
    with running(folder, None) as server:
        id = server.start("steady")
        away = Away(server.engine.store)
        away.is_away = True
        told = list(server.events(id))
        assert away.refused > 0
    durable = [event["seq"] for event in told if event["seq"] is not None]
    assert durable == list(range(1, len(durable) + 1))
    assert told[-1]["data"]["status"] == "completed"
    text = ""
    for data in (event["data"] for event in told if event["event"] == "token_stream"):
        text = data["chunk"] if data.get("so_far") else text + data["chunk"]
    assert text == "one two three four five six"


def test_who_watches_a_store_that_is_away_may_go_without_harm_to_others(folder: Path) -> None:
    (folder / "steady.yaml").write_text(STEADY)
    with running(folder, None) as server:
        id = server.start("steady")
        away = Away(server.engine.store)
        away.is_away = True
        with watching(server, id):
            soon(lambda: away.refused)
        soon(lambda: is_freed(server), within=5)
        soon(lambda: not away.is_away, within=5)
        told = [event["seq"] for event in server.events(id) if event["seq"] is not None]
        assert told == list(range(1, len(told) + 1))


def test_told_to_stop_every_stream_ends_at_once_with_a_hint_also_beside_a_stuck_one(
    folder: Path,
) -> None:
    (folder / "talking.yaml").write_text(TALKING)
    with running(folder, None) as server:
        id = server.start("asking")
        with stuck_at(server), watching(server, id) as client:
            read_until(client, b'"waiting"')
            began = time.monotonic()
            server.server.handle_exit(signal.SIGTERM, None)
            rest = read_until(client, b"0\r\n\r\n")
            assert time.monotonic() - began < 2
            assert rest.endswith(b"retry: 1000\n\n\r\n0\r\n\r\n")
            soon(lambda: is_freed(server), within=3)
            soon(lambda: unsent(server) == 0, within=3)
