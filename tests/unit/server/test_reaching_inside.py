"""Graphs, forks and servers of others that try to reach into the network of this server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

import httpx2
import pytest

from rondel.errors import CallError
from rondel.server.addresses import demand_public, guard, is_private
from tests.unit.server.guarded import Guarded
from tests.unit.server.running import Running

INSIDE = "http://127.0.0.1:9/v1"
MODEL = {"provider": "openai", "name": "m", "api_key": "k"}
SAID = {"provider": "scripted", "answers": ["x"]}


def graph(type: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"graph": {"id": "x", "nodes": [{"id": "a", "type": type, "config": config}]}}


def within(url: str) -> Iterator[dict[str, Any]]:
    """Graphs that name an address, each in another place."""
    model = {**MODEL, "base_url": url}
    yield graph("agent", model)
    yield graph("agent", {**SAID, "tools": [{"mcp": {"url": url}}]})
    yield graph("agent", {**SAID, "fallback": [model]})
    yield graph("agent", {**SAID, "compact": {"over_tokens": 9, "agent": model}})
    yield graph("memory", {"embedding": model})
    yield graph("debate", {"agent_pairs": [["one", "two"]], "agents": {"one": SAID, "two": model}})
    yield graph("vote", {"agents": {"one": SAID, "two": model}})
    yield graph("subgraph", {"graph": graph("agent", model)["graph"]})


def test_an_address_inside_is_refused_wherever_a_graph_names_it(server: Running) -> None:
    for document in within(INSIDE):
        refused = server.post("/sessions", {"graph": document}, 400)
        assert "in a private network" in refused["detail"], document


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://0/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::a00:1]/",
        "http://[2002:7f00:1::]/",
        "http://example.org@127.0.0.1/",
        "http://user:word@127.0.0.1/",
    ],
)
def test_an_address_inside_is_known_however_it_is_written(server: Running, url: str) -> None:
    with pytest.raises(CallError, match="in a private network"):
        demand_public(url, "here")
    refused = server.post("/sessions", {"graph": graph("agent", {**MODEL, "base_url": url})}, 400)
    assert "in a private network" in refused["detail"]


@pytest.mark.parametrize("url", ["http://x:99999/", "http://[::1", "ftp://x.example/", "http:///x"])
def test_what_is_no_address_is_refused_and_not_repeated(server: Running, url: str) -> None:
    tools = {**SAID, "tools": [{"mcp": {"url": url}}]}
    reply = server.client.post("/api/v1/sessions", json={"graph": graph("agent", tools)})
    assert reply.status_code in (400, 422)
    with pytest.raises(CallError, match="no address of the web") as refused:
        demand_public(url, "here")
    assert url not in str(refused.value)


def test_a_name_that_no_resolver_takes_leads_nowhere() -> None:
    demand_public(f"http://{'a' * 70}.example/", "here")


def test_public_addresses_are_no_private_ones() -> None:
    for public in ("93.184.216.34", "2001:4860:4860::8888", "64:ff9b::808:808", "::ffff:8.8.8.8"):
        assert not is_private(public), public


def test_a_fork_leads_nowhere_that_its_parent_may_not_go(guarded: Guarded) -> None:
    person = {"id": "p", "type": "human", "config": {"description": "?"}}
    agent = {"id": "a", "type": "agent", "config": {**MODEL, "base_url": "https://192.0.0.9/v1"}}
    nodes = {"id": "x", "nodes": [person, agent], "edges": [{"from": "p", "to": "a"}]}
    id = guarded.anna.post("/sessions", {"graph": {"graph": nodes}}, 202)["id"]
    guarded.anna.until(id, "waiting")
    for changes in (
        {"nodes.a.config.base_url": INSIDE},
        {"nodes.a.config.tools": [{"mcp": {"url": INSIDE}}]},
    ):
        refused = guarded.anna.post(f"/sessions/{id}/fork", {"set": changes}, 400)
        assert "in a private network" in refused["detail"]


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The port of somebody who answers everybody the same, and what they were asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer_all() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        asked.append(connection.recv(65536))
                        connection.sendall(answer)

        thread = Thread(target=answer_all, daemon=True)
        thread.start()
        yield listening.getsockname()[1], asked
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(10)


async def test_a_redirect_leads_nowhere_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A public server, as far as the guard knows, sends the client on to a private one."""
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret") as (inner, asked):
        leads = f"HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:{inner}/\r\n"
        with answering(f"{leads}Content-Length: 0\r\n\r\n".encode()) as (outer, _):
            public = frozenset({("127.0.0.1", outer)})
            monkeypatch.setattr("rondel.server.addresses.KNOWN", public)
            guard(asyncio.get_running_loop())
            async with httpx2.AsyncClient(follow_redirects=True) as client:
                with pytest.raises(httpx2.ConnectError):
                    await client.post(f"http://127.0.0.1:{outer}/mcp")
        assert asked == []


async def test_a_name_that_leads_inside_when_it_is_connected_to_is_refused() -> None:
    """The check at the start may be passed, and the name bent afterwards."""
    guard(asyncio.get_running_loop())
    for host in ("localhost", "127.0.0.1", "::1"):
        with pytest.raises(OSError, match="private network"):
            await asyncio.open_connection(host, 80)
