"""Requests as clients, proxies and balancers send them: each has an answer that helps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.running import REVIEW, Running


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/api/v1/graphs", "/v1/models"]
)
def test_the_head_of_everything_that_can_be_read(server: Running, path: str) -> None:
    head, whole = server.client.head(path), server.client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]


def test_the_head_of_a_stream_does_not_wait_for_events(server: Running) -> None:
    id = server.start("asking")
    for path in (f"/api/v1/sessions/{id}/events", "/api/v1/events"):
        head = server.client.head(path, timeout=5.0)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"].startswith("text/event-stream")


def test_what_cannot_be_done_at_a_path_says_what_can(server: Running) -> None:
    for path, allowed in (
        ("/graphs/review", "DELETE, GET, HEAD, PUT"),
        ("/sessions", "GET, HEAD, POST"),
    ):
        reply = server.client.patch(f"/api/v1{path}")
        assert reply.status_code == 405
        assert reply.headers["allow"] == allowed
        assert allowed in reply.json()["detail"]
    assert server.client.get("/mcp").headers["allow"] == "POST"


@pytest.mark.parametrize("id", ["图表é💩", "a/b", "a b?#%", "100%"])
def test_a_graph_is_found_where_its_location_says_whatever_its_id(server: Running, id: str) -> None:
    text = REVIEW.replace("id: review", f'id: "{id}"')
    key = {"Idempotency-Key": "once"}
    made = server.post("/graphs", {"text": text}, 201, headers=key)
    assert made["id"] == id
    reply = server.client.post("/api/v1/graphs", json={"text": text}, headers=key)
    where = reply.headers["location"]
    assert server.client.get(where).json()["text"] == text
    assert server.client.get(f"{where}/versions").status_code == 200
    model = where.replace("/api/v1/graphs", "/v1/models")
    assert server.client.get(model).json()["id"] == id
    session = server.start(id)
    assert server.until(session, "completed")["graph_id"] == id
    tag = {"If-Match": reply.headers["etag"]}
    assert server.client.put(where, json={"text": text}, headers=tag).status_code == 200
    assert server.client.delete(where, headers=tag).status_code == 204


def test_conditions_name_one_version_or_several_or_any(server: Running) -> None:
    url, change = "/api/v1/graphs/review", {"text": REVIEW.replace("stays", "is new")}
    etag = server.client.get(url).headers["etag"]
    for tags in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        assert server.client.get(url, headers={"If-None-Match": tags}).status_code == 304
    assert server.client.get(url, headers={"If-None-Match": '"x", "y"'}).status_code == 200
    only_new = {"If-None-Match": "*"}
    assert server.client.put(url, json=change, headers=only_new).status_code == 412
    for tags in ('"x"', '"x", "y"', ""):
        headers = {"If-Match": tags}
        assert server.client.put(url, json=change, headers=headers).status_code == 412
        assert server.client.delete(url, headers=headers).status_code == 412
    assert server.client.get(url).headers["etag"] == etag
    changed = server.client.put(url, json=change, headers={"If-Match": f'"x", {etag}'})
    assert changed.status_code == 200
    assert server.client.delete(url, headers={"If-Match": etag}).status_code == 412
    assert server.client.delete(url, headers={"If-Match": "*"}).status_code == 204
    made = server.client.put(url, json=change, headers=only_new)
    assert made.status_code == 201


@pytest.mark.parametrize(
    ("body", "kind", "status", "says"),
    [
        (b'{"graph_id": "review"}', "text/plain", 422, "Content-Type: application/json"),
        (b"graph_id=review", "application/x-www-form-urlencoded", 422, "application/json"),
        (b'{"graph_id": "\xff"}', "application/json", 400, "cannot be read"),
        (b'{"n": ' + b"[" * 100_000 + b"}", "application/json", 400, "cannot be read"),
    ],
)
def test_a_body_that_is_no_json_is_told_what_to_send(
    server: Running, body: bytes, kind: str, status: int, says: str
) -> None:
    reply = server.client.post("/api/v1/sessions", content=body, headers={"Content-Type": kind})
    assert reply.status_code == status
    assert says in reply.json()["detail"]


def test_a_key_that_is_empty_stands_for_nothing(server: Running) -> None:
    key = {"Idempotency-Key": ""}
    started: Any = {"graph_id": "review", "inputs": "x"}
    server.post("/sessions", started, 422, headers=key)
    server.post("/graphs", {"text": REVIEW}, 422, headers=key)
    turn = {"model": "review", "messages": [{"role": "user", "content": "x"}]}
    assert server.client.post("/v1/chat/completions", json=turn, headers=key).status_code == 422


@pytest.mark.parametrize("cursor", ["1:99999999999999999999999", "x", "", "1:"])
def test_a_cursor_that_is_none_is_refused(server: Running, cursor: str) -> None:
    server.get("/sessions", 400, params={"cursor": cursor})
    server.get("/questions", 400, params={"cursor": cursor})
