"""Somebody who was let in, or not quite, and takes more than is meant for them."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from rondel.cli import main
from rondel.errors import JournalError
from rondel.server import connections
from rondel.server.options import Options, ServerLimits
from rondel.sessions.registry import default_registry
from tests.unit.server.guarded import TOKENS, Guarded
from tests.unit.server.running import Running, create_tokens, running

ENDLESS = """\
graph:
  id: endless
  start: A
  end: End
  limits: {max_steps: 100000000}
  nodes:
    - {id: A, type: passthrough}
    - {id: B, type: passthrough}
    - {id: End, type: passthrough}
  loops: {A: {max_rounds: 10000000}}
  edges:
    - {from: A, to: B}
    - {from: B, to: A}
    - {from: B, to: End, label: limit}
"""


WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def socket_url(server: Running, id: str) -> str:
    return f"{server.url.replace('http', 'ws')}/api/v1/sessions/{id}/ws"


def read_all(socket: ClientConnection, heard: list[Any] | None = None) -> None:
    """Read until it is closed."""
    while True:
        told = socket.recv()
        if heard is not None:
            heard.append(told)


# Tokens that are no more


def test_what_is_open_ends_with_its_token(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDEL_SERVER_DB", str(guarded.database))
    anna, olaf = guarded.anna, guarded.olaf
    id = anna.start("asking")
    anna.until(id, "waiting")
    bearer = {"Authorization": f"Bearer {guarded.tokens['olaf']}"}
    with (
        olaf.opened(f"/sessions/{id}/events") as stream,
        olaf.opened("/events") as feed,
        connect(socket_url(olaf, id), additional_headers=bearer) as listening,
        connect(socket_url(olaf, id), additional_headers=bearer) as acting,
    ):
        while next(stream)["event"] != "human_input_required":
            pass
        assert main(["tokens", "revoke", "olaf"]) == 0
        acting.send(json.dumps({"do": "stop"}))
        with pytest.raises(ConnectionClosed, match="revoked"):
            read_all(acting)
        assert anna.get(f"/sessions/{id}")["status"] == "waiting"
        anna.post(f"/sessions/{id}/answer", {"text": "yes"})
        anna.until(id, "completed")
        heard: list[Any] = [list(stream), list(feed)]
        with pytest.raises(ConnectionClosed, match="revoked"):
            read_all(listening, heard)
        assert "human_input_received" not in json.dumps(heard)


def test_who_guesses_tokens_is_soon_not_heard(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "server.db"
    made = create_tokens(place, TOKENS)
    options = Options(tokens=True, limits=ServerLimits(rate=0.5, burst=30))
    with running(folder, None, options, made["root"], place) as server:
        for shown in ({"Authorization": "Bearer rondel_guess"}, {"Cookie": "rondel_login=guess"}):
            with httpx2.Client(base_url=server.url, headers=shown) as stranger:
                seen = [stranger.get("/api/v1/sessions").status_code for _ in range(31)]
                assert seen[-1] == 429
        server.get("/sessions")


def test_a_stranger_is_not_told_what_ails_the_database(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise JournalError("connection to host db.internal, user rondel, failed")

    monkeypatch.setattr(server.engine.store, "sessions", gone, raising=False)
    reply = server.client.get("/readyz")
    monkeypatch.undo()
    assert reply.status_code == 503
    assert "db.internal" not in reply.text


# Secrets


@pytest.mark.parametrize(
    "config",
    [
        {"answers": [{"content": "x", "data": {"url": "${MODEL_KEY}"}}]},
        {"answers": [{"content": "x", "data": {"env": {"headers": "${MODEL_KEY}"}}}]},
        {
            "answers": ["x"],
            "output_schema": {"type": "object", "properties": {"url": {"const": "${MODEL_KEY}"}}},
        },
    ],
)
def test_a_secret_stands_in_no_data_however_that_is_called(
    guarded: Guarded, config: dict[str, Any]
) -> None:
    guarded.root.call("PUT", "/secrets/MODEL_KEY", 204, json={"value": "sk-very-secret"})
    node = {"id": "a", "type": "agent", "config": {"provider": "scripted", **config}}
    document = {"graph": {"id": "x", "nodes": [node]}}
    refused = guarded.anna.post("/sessions", {"graph": document}, 400)
    assert "where it would be shown" in refused["detail"]


def test_a_fork_shows_no_secret_of_its_parent(guarded: Guarded) -> None:
    guarded.root.call("PUT", "/secrets/MODEL_KEY", 204, json={"value": "sk-very-secret"})
    person = {"id": "p", "type": "human", "config": {"description": "?"}}
    model = {"provider": "scripted", "answers": ["x"], "api_key": "${MODEL_KEY}"}
    agent = {"id": "a", "type": "agent", "config": model}
    nodes = {"id": "x", "nodes": [person, agent], "edges": [{"from": "p", "to": "a"}]}
    id = guarded.anna.post("/sessions", {"graph": {"graph": nodes}}, 202)["id"]
    guarded.anna.until(id, "waiting")
    shown = {"set": {"nodes.p.config.description": "it is ${MODEL_KEY}"}}
    refused = guarded.anna.post(f"/sessions/{id}/fork", shown, 400)
    assert "where it would be shown" in refused["detail"]


def asking(provider: str, **config: Any) -> Any:
    """The config of a model that a graph names."""
    model = default_registry().config_model("provider", provider)
    return model.model_validate({"name": "m", **config})


def test_the_machines_keys_go_to_their_provider_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "of-the-machine")
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-machine")
    for provider in ("azure", "openai"):
        for url in ("https://evil.example/v1", "https://openai.azure.com.evil.example/v1"):
            assert asking(provider, base_url=url).endpoint().key is None
    ours = asking("azure", base_url="https://ours.openai.azure.com/openai/v1")
    assert ours.endpoint().key == "of-the-machine"


@pytest.mark.parametrize(("provider", "field"), [("vertex", "location"), ("bedrock", "region")])
def test_a_region_is_no_address(provider: str, field: str) -> None:
    asking(provider, **{field: "us-east-1"})
    for bent in ("evil.example/", "x@evil.example/", "evil.example#", "a.b"):
        with pytest.raises(ValueError, match="pattern"):
            asking(provider, **{field: bent})


def test_nobody_is_told_where_the_folder_of_graphs_is(server: Running, folder: Path) -> None:
    wrong = {"graph": {"id": "x", "nodes": [{"id": "a", "type": "agnet"}]}}
    for told in (
        server.post("/sessions", {"graph": wrong}, 422),
        server.post("/graphs", {"graph": wrong}, 422),
        server.post("/graphs/estimate", {"graph": wrong}, 422),
    ):
        assert told["errors"][0]["file"] == "draft.yaml"
        assert str(folder) not in json.dumps(told)


# Too much


def test_controls_of_a_socket_count_as_requests(folder: Path) -> None:
    options = Options(limits=ServerLimits(rate=0.5, burst=30))
    with running(folder, None, options) as server:
        id = server.start("asking")
        server.until(id, "waiting")
        with connect(socket_url(server, id)) as socket:
            for _ in range(30):
                socket.send(json.dumps({"do": "signal", "name": "x", "ref": "mine"}))
            replies: list[Any] = []
            while len(replies) < 30:
                told = json.loads(socket.recv())
                replies += [told] if told.get("reply") == "mine" else []
        assert replies[-1]["problem"]["status"] == 429


def test_who_waits_by_a_tool_or_as_a_chat_counts_as_a_reader(folder: Path) -> None:
    with running(folder, None, Options(limits=ServerLimits(streams=1))) as server:
        id = server.start("asking")
        with server.opened(f"/sessions/{id}/events"):
            asked = {"model": "streaming", "messages": [{"role": "user", "content": "x"}]}
            assert server.client.post("/v1/chat/completions", json=asked).status_code == 429
            called = {"name": "streaming", "arguments": {"task": "x"}}
            rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
            accepted = {"Accept": "application/json, text/event-stream"}
            reply = server.client.post("/mcp", json=rpc, headers=accepted)
            assert "streams are open" in reply.text


def test_no_stream_is_held_open_that_tells_nothing(server: Running) -> None:
    accepted = {"Accept": "text/event-stream"}
    assert server.client.get("/mcp", headers=accepted).status_code == 405


def test_a_simulation_ends_in_time_and_keeps_nobody_waiting(folder: Path) -> None:
    limits = ServerLimits(computing=1, computing_time=1.0)
    with running(folder, None, Options(limits=limits)) as server:
        for path in ("simulate", "estimate"):
            refused = server.post(f"/graphs/{path}", {"graph": ENDLESS}, 400)
            assert "was not over after 1 s" in refused["detail"]
        server.server.config.app.state.site._computing = 1
        busy = server.post("/graphs/check", {"graph": ENDLESS}, 429)
        assert busy["type"].endswith("too_busy")


def test_what_no_journal_can_hold_is_the_callers_mistake(server: Running) -> None:
    id = server.start("asking")
    server.until(id, "waiting")
    head = {"Content-Type": "application/json"}
    for control, body in (("answer", '{"text": NaN}'), ("signal", '{"name":"x","data":1e999}')):
        path = f"/api/v1/sessions/{id}/{control}"
        reply = server.client.post(path, content=body, headers=head)
        assert reply.status_code == 400, reply.text


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nX: ", WHOLE, WHOLE + b"GET"])
def test_who_sends_no_request_is_not_waited_for_for_ever(
    server: Running, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.5)
    port = int(server.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(15)
        connection.sendall(sent)
        began = time.monotonic()
        with suppress(ConnectionError):
            while connection.recv(4096):
                pass
        assert time.monotonic() - began < 10
    id = server.start("streaming")
    assert server.until(id, "completed")  # a stream is a request under way
