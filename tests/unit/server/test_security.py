"""Somebody tries to get in; docs/security.md names each of these tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import connect

from rondel.cli import main
from rondel.errors import CallError
from rondel.server.addresses import demand_public, is_private
from rondel.server.options import Options, ServerLimits
from rondel.server.run import serve
from tests.unit.server.guarded import Guarded
from tests.unit.server.running import ASKING, REVIEW, Running, running

# Who may call


def test_an_address_that_others_reach_is_not_served_without_a_token(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(CallError, match="first make a token"):
        serve(str(tmp_path / "s.db"), str(folder), Options(host="0.0.0.0", port=0))


def test_without_a_token_nothing_is_told(guarded: Guarded) -> None:
    url = guarded.server.url
    with httpx2.Client(base_url=url) as nobody:
        for path in ("/api/v1/sessions", "/api/v1/events", "/v1/models", "/metrics", "/mcp"):
            reply = nobody.get(path)
            assert reply.status_code == 401, path
            assert reply.headers["www-authenticate"] == "Bearer"
        assert nobody.post("/api/v1/sessions", json={"graph_id": "asking"}).status_code == 401
        assert nobody.get("/healthz").status_code == 200
        assert nobody.get("/api/v1/me").json()["role"] is None
        wrong = {"Authorization": "Bearer rondel_guessed"}
        assert nobody.get("/api/v1/sessions", headers=wrong).status_code == 401
    with pytest.raises(WebSocketException):
        connect(f"{url.replace('http', 'ws')}/api/v1/sessions/x/ws")


def test_a_role_may_what_it_may_and_no_more(guarded: Guarded) -> None:
    vera, olaf = guarded.vera, guarded.olaf
    assert vera.get("/sessions")["sessions"] == []
    refused = vera.post("/sessions", {"graph_id": "asking"}, 403)
    assert refused["detail"] == "this needs the role operator; the token has viewer"
    id = olaf.start("asking")
    vera.post(f"/sessions/{id}/answer", {"text": "yes"}, 403)
    olaf.post("/graphs", {"text": ASKING.replace("asking", "mine")}, 403)
    olaf.call("PUT", "/secrets/KEY", 403, json={"value": "x"})
    changes = {"at": "Person", "set": {"nodes.Person.config.description": "x"}}
    olaf.until(id, "waiting")
    olaf.post(f"/sessions/{id}/fork", changes, 403)


def test_tokens_are_kept_as_hashes_and_revoked_at_once(
    guarded: Guarded, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"".join(file.read_bytes() for file in guarded.database.parent.glob("server.db*"))
    assert all(token.encode() not in content for token in guarded.tokens.values())
    assert guarded.database.stat().st_mode & 0o077 == 0
    assert guarded.vera.get("/sessions")
    monkeypatch.setenv("RONDEL_SERVER_DB", str(guarded.database))
    assert main(["tokens", "revoke", "vera"]) == 0
    guarded.vera.get("/sessions", 401)
    assert main(["tokens", "create", "new", "--role", "operator", "--group", "a"]) == 0
    made = capsys.readouterr().out.split()[-1]
    assert guarded.server.as_(made).get("/me") == {
        "name": "new",
        "role": "operator",
        "groups": ["a"],
        "needs_token": True,
    }
    assert main(["tokens", "create", "new"]) == 2
    assert main(["tokens", "create", "x", "--role", "king"]) == 2
    assert main(["tokens", "list"]) == 0


# Two tenants


def test_two_tenants_see_nothing_of_each_other(guarded: Guarded, folder: Path) -> None:
    anna, bert = guarded.anna, guarded.bert
    anna.post("/graphs", {"text": REVIEW.replace("id: review", "id: annas")}, 201)
    assert (folder / "@a" / "annas.yaml").exists()
    mine = anna.start("asking", {"task": "annas secret"}, labels={"x": "1"})
    anna.until(mine, "waiting")
    told = [
        bert.get("/sessions"),
        bert.get("/sessions", params={"q": "annas"}),
        bert.get("/sessions", params={"label": "x"}),
        bert.get("/questions"),
        bert.get("/graphs"),
        bert.get("/graphs/annas", 404),
        bert.post("/graphs/check", {"graph_id": "annas"}, 404),
        bert.post("/sessions", {"graph_id": "annas"}, 404),
        bert.get("/insights"),
        bert.client.get("/v1/models").json(),
    ]
    for path in ("", "/steps", "/rounds", "/state", "/export", "/events"):
        told.append(bert.get(f"/sessions/{mine}{path}", 404))
    for control in ("pause", "stop", "resume"):
        told.append(bert.post(f"/sessions/{mine}/{control}", None, 404))
    told.append(bert.post(f"/sessions/{mine}/answer", {"text": "x"}, 404))
    told.append(bert.post(f"/sessions/{mine}/fork", {"at": "Person"}, 404))
    told.append(bert.post(f"/sessions/{mine}/promote", {"address": "Draft"}, 404))
    assert "annas secret" not in json.dumps(told)
    assert all(mine not in json.dumps(each) for each in told[:5])
    called = {"name": "rondel_watch", "arguments": {"session_id": mine, "wait": 0}}
    for order in ({"method": "tools/list"}, {"method": "tools/call", "params": called}):
        accepted = {"Accept": "application/json, text/event-stream"}
        rpc = {"jsonrpc": "2.0", "id": 1, "params": {}, **order}
        reply = bert.client.post("/mcp", json=rpc, headers=accepted)
        assert reply.status_code == 200, reply.text
        assert "annas" not in reply.text
        assert ("rondel_watch" if "list" in order["method"] else "there is no") in reply.text
    with pytest.raises(WebSocketException):
        connect(
            f"{bert.url.replace('http', 'ws')}/api/v1/sessions/{mine}/ws",
            additional_headers={"Authorization": f"Bearer {guarded.tokens['bert']}"},
        )
    with bert.opened("/events") as stream:
        anna.post(f"/sessions/{mine}/answer", {"text": "yes"})
        anna.until(mine, "completed")
        own = bert.start("asking")
        assert next(stream)["session_id"] == own
    assert len(anna.get("/sessions")["sessions"]) == 1
    assert len(guarded.root.get("/sessions")["sessions"]) == 2


def test_a_group_is_not_entered_by_naming_it(guarded: Guarded) -> None:
    bert = guarded.bert
    for body in ({"group": "a"}, {"inputs": {"group_id": "a"}}):
        refused = bert.post("/sessions", {"graph_id": "asking", **body}, 403)
        assert "not of the group 'a'" in refused["detail"]
    same = {"graph_id": "asking", "idempotency_key": "k"}
    first = guarded.anna.post("/sessions", same, 202)["id"]
    assert bert.post("/sessions", same, 202)["id"] != first
    bert.call("DELETE", "/graphs/asking", 400)
    bert.call("PUT", "/secrets/KEY", 403, json={"value": "x"}, params={"group": "a"})


# Pages of others


def test_a_name_that_was_bent_to_this_address_is_refused(server: Running) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "10.0.0.1"):
        reply = server.client.get("/api/v1/sessions", headers={"Host": host})
        assert reply.status_code == 421
        assert "--allow-host" in reply.json()["detail"]
    for host in ("localhost:1", "127.0.0.1", "[::1]:8484"):
        assert server.client.get("/api/v1/sessions", headers={"Host": host}).status_code == 200


def test_a_page_of_another_origin_can_call_nothing(server: Running) -> None:
    start = {"graph_id": "asking"}
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        reply = server.client.post("/api/v1/sessions", json=start, headers=headers)
        assert reply.status_code == 403, headers
        assert "access-control-allow-origin" not in reply.headers
    assert server.get("/sessions")["sessions"] == []
    host = server.url.removeprefix("http://")
    own = {"Origin": server.url, "Host": host}
    assert server.client.post("/api/v1/sessions", json=start, headers=own).status_code == 202


def test_a_page_of_another_origin_can_open_no_socket(server: Running) -> None:
    id = server.start("asking")
    url = f"{server.url.replace('http', 'ws')}/api/v1/sessions/{id}/ws"
    with pytest.raises((InvalidStatus, WebSocketException)):
        connect(url, origin="https://evil.example")  # type: ignore[arg-type]
    with connect(url, origin=server.url) as socket:  # type: ignore[arg-type]
        assert json.loads(socket.recv())["seq"] == 1


def test_an_origin_that_was_allowed_may_call_and_no_other(folder: Path) -> None:
    with running(folder, None, Options(origins=("https://ours.example",))) as server:
        ours = {"Origin": "https://ours.example", "Access-Control-Request-Method": "POST"}
        reply = server.client.options("/api/v1/sessions", headers=ours)
        assert reply.status_code == 204
        assert reply.headers["access-control-allow-origin"] == "https://ours.example"
        assert "access-control-allow-credentials" not in reply.headers
        theirs = {**ours, "Origin": "https://theirs.example"}
        assert server.client.options("/api/v1/sessions", headers=theirs).status_code == 403


def test_a_browser_gets_a_cookie_that_scripts_and_other_sites_cannot_use(guarded: Guarded) -> None:
    url = guarded.server.url
    with httpx2.Client(base_url=url) as browser:
        assert browser.post("/api/v1/login", json={"token": "rondel_x"}).status_code == 401
        own = {"Origin": url}
        token = guarded.tokens["olaf"]
        reply = browser.post("/api/v1/login", json={"token": token}, headers=own)
        assert reply.status_code == 204
        cookie = reply.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert token not in cookie
        assert browser.get("/api/v1/me").json()["name"] == "olaf"
        start = {"graph_id": "asking"}
        assert browser.post("/api/v1/sessions", json=start, headers=own).status_code == 202
        assert browser.post("/api/v1/sessions", json=start).status_code == 403
        assert browser.post("/api/v1/logout", headers=own).status_code == 204
        cookies = {"Cookie": cookie.partition(";")[0]}
        assert httpx2.get(f"{url}/api/v1/sessions", headers=cookies).status_code == 401


def test_every_answer_carries_the_headers_that_keep_a_browser_safe(server: Running) -> None:
    for path in ("/", "/api/v1/graphs", "/api/v1/nothing", "/openapi.json"):
        headers = server.client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


# Too much


def test_each_limit_has_its_own_refusal(folder: Path) -> None:
    limits = ServerLimits(body=20_000, graph=5_000, sessions=1, streams=1, rate=1.0, burst=40)
    with running(folder, None, Options(limits=limits)) as server:
        large = server.client.post("/api/v1/sessions", content=b"x" * 30_000)
        assert (large.status_code, large.json()["type"]) == (413, "urn:rondel:problem:too_large")

        def chunks() -> Iterator[bytes]:
            for _ in range(30):
                yield b"x" * 1000

        assert server.client.post("/api/v1/sessions", content=chunks()).status_code == 413
        graph = {"graph": "# " + "x" * 6_000}
        assert server.post("/sessions", graph, 413)["type"].endswith("graph_too_large")
        first = server.start("streaming")
        busy = server.post("/sessions", {"graph_id": "streaming"}, 429)
        assert busy["type"].endswith("too_many_sessions")
        with server.opened(f"/sessions/{first}/events"):
            crowded = server.client.get(f"/api/v1/sessions/{first}/events")
            assert crowded.status_code == 429
            assert crowded.headers["retry-after"]
        replies = [server.client.get("/api/v1/templates") for _ in range(45)]
        assert replies[-1].status_code == 429
        assert replies[-1].json()["type"].endswith("too_fast")
        assert int(replies[-1].headers["retry-after"]) >= 1


def test_a_document_of_aliases_that_would_fill_the_memory_is_refused(server: Running) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    refused = server.post("/graphs", {"text": "\n".join(lines)}, 422)
    assert "aliases stand for more than" in refused["errors"][0]["message"]
    deep = {"text": "graph: " + "[" * 5000}
    assert server.post("/graphs", deep, 422)["errors"]


# Files and programs


@pytest.mark.parametrize(
    "name",
    [
        "../out.yaml",
        "/etc/out.yaml",
        "a/../../out.yaml",
        ".hidden.yaml",
        "x.py",
        "x",
        "@b/x.yaml/..",
    ],
)
def test_no_file_is_written_outside_the_folder(server: Running, folder: Path, name: str) -> None:
    text = ASKING.replace("asking", "stray")
    assert (
        "cannot be stored as" in server.post("/graphs", {"text": text, "name": name}, 400)["detail"]
    )
    assert not list(folder.parent.glob("out*"))


def test_no_file_is_read_outside_the_folder(server: Running, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "private.yaml"
    outside.write_text(ASKING)
    (folder / "link.yaml").symlink_to(outside)
    assert "asking" not in [
        g["id"] for g in server.get("/graphs")["graphs"] if g["name"] == "link.yaml"
    ]
    for file in ("../private.yaml", str(outside), "/etc/passwd", "/dev/zero", "link.yaml"):
        graph = {
            "graph": {
                "id": "x",
                "nodes": [{"id": "s", "type": "subgraph", "config": {"file": file}}],
            }
        }
        found = server.post("/graphs/check", {"graph": json.dumps(graph)})
        assert not found["valid"]
        assert "outside the folder of graphs" in found["errors"][0]["message"]
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/..%2f..%2frun.py"):
        assert "root:" not in server.client.get(path).text


def test_a_graph_that_was_uploaded_runs_no_code(server: Running, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    code = f"open({str(proof)!r}, 'w').write('in')"
    graph = {
        "graph": {"id": "x", "nodes": [{"id": "p", "type": "python", "config": {"code": code}}]}
    }
    refused = server.post("/sessions", {"graph": graph}, 400)
    assert "runs Python code, which is off" in refused["detail"]
    stored = server.post("/graphs", {"graph": graph}, 201)
    server.post("/sessions", {"graph_id": stored["id"]}, 400)
    server.post("/graphs/simulate", {"graph_id": stored["id"], "n": 1}, 400)
    assert not proof.exists()
    assert "x.py" not in [g["name"] for g in server.get("/graphs")["graphs"]]


def test_addresses_in_private_networks_are_refused_by_what_their_names_lead_to(
    server: Running,
) -> None:
    def asked(config: dict[str, Any]) -> Any:
        node = {"id": "a", "type": "agent", "config": config}
        return server.post("/sessions", {"graph": {"graph": {"id": "x", "nodes": [node]}}}, 400)

    for url in ("http://127.0.0.1:9/v1", "http://localhost:9/v1", "http://169.254.169.254/latest"):
        model = {"provider": "openai", "name": "m", "base_url": url, "api_key": "k"}
        assert "private network" in asked(model)["detail"]
        tools = {"tools": [{"mcp": {"url": url}}]}
        assert "private network" in asked(tools)["detail"]
    inward = lambda _host, _port: ["93.184.216.34", "10.0.0.7"]  # noqa: E731
    with pytest.raises(CallError, match="private network"):
        demand_public("https://bent.example/hook", "webhook", inward)
    for private in (
        "10.1.2.3",
        "::1",
        "fe80::1%eth0",
        "::ffff:192.168.0.1",
        "0.0.0.0",
        "100.64.0.1",
    ):
        assert is_private(private)
    assert not is_private("93.184.216.34")


def test_the_page_on_security_names_tests_that_there_are() -> None:
    page = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    folders = (Path(__file__).parent, Path(__file__).parents[2] / "cluster")
    files = [file.read_text() for folder in folders for file in folder.glob("test_*.py")]
    there = set(re.findall(r"^(?:async )?def (test_\w+)", "\n".join(files), re.MULTILINE))
    assert named
    assert named <= there
