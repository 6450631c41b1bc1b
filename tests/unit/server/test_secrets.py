"""Secrets: written, used by those whose they are, and never read back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rondel.journal.sqlite.server_tables import SCHEMAS
from rondel.server.options import Options
from tests.openai_server import OpenAIServer
from tests.unit.server.guarded import TOKENS, Guarded
from tests.unit.server.running import Running, create_tokens, running


@pytest.fixture
def provider() -> Iterator[OpenAIServer]:
    """A model's address that remembers which keys were shown to it."""
    with OpenAIServer("hi") as found:
        yield found


def shown(provider: OpenAIServer) -> str:
    """The key that it was shown last."""
    return provider.seen[-1].headers["authorization"].removeprefix("Bearer ")


@pytest.fixture
def allowed(folder: Path, tmp_path: Path) -> Iterator[Guarded]:
    """A server with tokens whose graphs may reach this machine."""
    place = tmp_path / "server.db"
    made = create_tokens(place, TOKENS)
    options = Options(tokens=True, allow_private=True)
    with running(folder, tmp_path / "s.db", options, made["root"], place) as server:
        yield Guarded(server, made, place)


def graph(config: dict[str, Any], *before: dict[str, Any], **more: Any) -> dict[str, Any]:
    nodes = [*before, {"id": "a", "type": "agent", "config": config}]
    edges = [{"from": each["id"], "to": "a"} for each in before]
    return {**more, "graph": {"id": "x", "nodes": nodes, "edges": edges}}


def put(caller: Running, name: str, value: str, status: int = 204, **where: str) -> Any:
    return caller.call("PUT", f"/secrets/{name}", status, json={"value": value}, params=where)


def test_secrets_are_written_and_used_and_never_read_back(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_SERVER", "environment-value")
    root = guarded.root
    put(root, "MODEL_KEY", "sk-very-secret")
    assert root.get("/secrets") == {
        "secrets": ["MODEL_KEY"],
        "items": [{"name": "MODEL_KEY", "group": None}],
    }
    root.get("/secrets/MODEL_KEY", 405)

    def refused(document: dict[str, Any], status: int = 400) -> str:
        return json.dumps(root.post("/sessions", {"graph": document}, status))

    assert "where it would be shown" in refused(graph({"role": "say ${MODEL_KEY}"}))
    through = graph({"role": "${X}"}, vars={"X": "${MODEL_KEY}"})
    assert "where it would be shown" in refused(through)
    unread = refused(graph({"role": "${OF_THE_SERVER}"}), 422)
    assert "'OF_THE_SERVER' is not set" in unread
    assert "store it as a secret of the server" in unread
    used = graph({"provider": "scripted", "answers": ["hi"], "api_key": "${MODEL_KEY}"})
    id = root.post("/sessions", {"graph": used}, 202)["id"]
    root.until(id, "completed")
    told = [root.get(f"/sessions/{id}"), root.get(f"/sessions/{id}/export").text]
    assert "sk-very-secret" not in json.dumps(told)
    mine = {"graph": used}
    assert "may not use the server's secrets" in guarded.olaf.post("/sessions", mine, 400)["detail"]
    assert root.call("DELETE", "/secrets/MODEL_KEY", 204)
    root.call("DELETE", "/secrets/MODEL_KEY", 404)
    put(root, "LD_PRELOAD", "x", 400)


def test_a_variable_of_the_server_is_read_by_no_check_estimate_or_simulation(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_SERVER", "environment-value")
    put(guarded.root, "MODEL_KEY", "sk-very-secret")
    vera = guarded.vera
    for name in ("OF_THE_SERVER", "MODEL_KEY"):
        for spied in (
            {"graph": {"id": "x", "nodes": [{"id": "a", "type": f"${{{name}}}"}]}},
            {"graph": {"id": "x", "limits": {"max_steps": f"${{{name}}}"}, "nodes": []}},
            {"graph": {"id": f"${{{name}}}", "nodes": [{"id": "a", "type": "passthrough"}]}},
            graph({"role": f"${{{name}}}", "api_key": f"${{{name}}}"}),
        ):
            for path in ("check", "estimate", "simulate"):
                reply = vera.client.post(f"/api/v1/graphs/{path}", json={"graph": spied})
                assert "environment-value" not in reply.text
                assert "sk-very-secret" not in reply.text
        text = json.dumps(graph({"role": f"${{{name}}}", "description": f"${{{name}}}"}))
        stored = guarded.anna.client.post("/api/v1/graphs", json={"text": text})
        assert "environment-value" not in stored.text
        assert "sk-very-secret" not in stored.text


def test_a_secret_of_a_group_is_seen_and_used_by_that_group_alone(
    allowed: Guarded, provider: OpenAIServer
) -> None:
    anna, bert, root = allowed.anna, allowed.bert, allowed.root
    put(root, "MODEL_KEY", "everybodys")
    put(anna, "MODEL_KEY", "annas")
    put(anna, "ONLY_ANNAS", "annas-other")
    put(root, "ROOTS_FOR_B", "for-b", group="b")
    assert anna.get("/secrets")["secrets"] == ["MODEL_KEY", "ONLY_ANNAS"]
    assert bert.get("/secrets")["items"] == [
        {"name": "MODEL_KEY", "group": None},
        {"name": "ROOTS_FOR_B", "group": "b"},
    ]
    put(bert, "MODEL_KEY", "stolen", 403, group="a")
    bert.call("DELETE", "/secrets/ONLY_ANNAS", 404)
    bert.call("DELETE", "/secrets/ONLY_ANNAS", 403, params={"group": "a"})
    model = {"provider": "openai", "name": "m", "base_url": provider.url}
    shared = graph({**model, "api_key": "${MODEL_KEY}"})
    root.post("/graphs", {"text": json.dumps(shared)}, 201)
    for caller, key in ((anna, "annas"), (bert, "everybodys"), (root, "everybodys")):
        caller.until(caller.start("x"), "completed")
        assert shown(provider) == key
    root.until(root.start("x", group="a"), "completed")
    assert shown(provider) == "annas"
    spying = {"graph": graph({**model, "api_key": "${ONLY_ANNAS}"})}
    assert "'ONLY_ANNAS' is not set" in json.dumps(bert.post("/sessions", spying, 422))
    bert.post("/sessions", {**spying, "group": "a"}, 403)


def test_a_session_that_lost_its_secret_gets_no_variable_of_the_server_in_its_place(
    allowed: Guarded, provider: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may make secrets could name one like a variable of the server, and take it away again."""
    monkeypatch.setenv("SERVER_KEY", "of-the-server")
    anna = allowed.anna
    put(anna, "SERVER_KEY", "bait")
    person = {"id": "p", "type": "human", "config": {"description": "?"}}
    model = {"provider": "openai", "name": "m", "base_url": provider.url}
    waiting = {"graph": graph({**model, "api_key": "${SERVER_KEY}"}, person)}
    id = anna.post("/sessions", waiting, 202)["id"]
    anna.until(id, "waiting")
    anna.call("DELETE", "/secrets/SERVER_KEY", 204)
    refused = anna.client.post(f"/api/v1/sessions/{id}/answer", json={"text": "go"})
    assert refused.status_code == 422, refused.text
    assert "of-the-server" not in refused.text
    assert provider.seen == []
    put(anna, "SERVER_KEY", "again")
    anna.post(f"/sessions/{id}/answer", {"text": "go"})
    anna.until(id, "completed")
    assert shown(provider) == "again"


def test_secrets_of_a_file_that_knew_no_groups_are_everybodys(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "server.db"
    with sqlite3.connect(place) as old:
        old.executescript(SCHEMAS[0].replace("rondel.", ""))
        old.execute("INSERT INTO secret VALUES ('KEY', 'value')")
    old.close()
    with running(folder, tmp_path / "s.db", database=place) as server:
        assert server.get("/secrets")["items"] == [{"name": "KEY", "group": None}]
        used = graph({"provider": "scripted", "answers": ["hi"], "api_key": "${KEY}"})
        server.until(server.post("/sessions", {"graph": used}, 202)["id"], "completed")
