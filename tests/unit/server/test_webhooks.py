"""Webhooks: signed, delivered once each, again after failures and restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from rondel.server import deliveries
from rondel.server.options import Options
from tests.unit.server.receiver import Receiver
from tests.unit.server.running import PATIENCE, Running, running

OPEN = Options(allow_private=True)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def settled(server: Running, hook: str, count: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + PATIENCE
    while True:
        found = server.get(f"/webhooks/{hook}/deliveries")["deliveries"]
        if len(found) == count and all(each["status"] == "delivered" for each in found):
            return list(found)
        assert time.monotonic() < deadline, found
        time.sleep(0.01)


def test_what_waits_and_what_ends_is_told_signed_and_each_delivery_can_be_seen(
    folder: Path, tmp_path: Path, receiver: Receiver
) -> None:
    with running(folder, tmp_path / "s.db", OPEN) as server:
        made = server.post("/webhooks", {"url": receiver.url}, 201)
        id = server.start("asking")
        server.until(id, "waiting")
        receiver.wait(1)
        server.post(f"/sessions/{id}/answer", {"text": "yes"})
        told = receiver.wait(2)
        assert [each["type"] for each in told] == ["session.waiting", "session.completed"]
        assert {each["data"]["session_id"] for each in told} == {id}
        for headers, body in receiver.heard:
            Webhook(made["secret"]).verify(body, headers)
        seen = settled(server, made["id"], 2)
        assert {each["id"] for each in seen} == {h["webhook-id"] for h, _ in receiver.heard}
        assert "secret" not in server.get("/webhooks")["webhooks"][0]
        server.call("DELETE", f"/webhooks/{made['id']}", 204)
        server.get(f"/webhooks/{made['id']}/deliveries", 404)
        wrong = {"url": receiver.url, "events": ["session.sleeps"]}
        assert "there is no event" in server.post("/webhooks", wrong, 400)["detail"]


def test_what_was_not_heard_is_told_again_under_the_same_id(
    folder: Path, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "BACKOFF", (0.05,) * 7)
    receiver.answers = [500, 503]
    with running(folder, tmp_path / "s.db", OPEN) as server:
        body = {"url": receiver.url, "events": ["session.completed"]}
        made = server.post("/webhooks", body, 201)
        server.start("review")
        receiver.wait(3)
        [seen] = settled(server, made["id"], 1)
        assert seen["attempts"] == 3
        assert len({headers["webhook-id"] for headers, _ in receiver.heard}) == 1


def test_what_a_server_could_not_tell_the_next_one_does(
    folder: Path, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, db = tmp_path / "server.db", tmp_path / "s.db"
    receiver.answers = [500] * 2
    with running(folder, db, OPEN, database=database) as server:
        made = server.post("/webhooks", {"url": receiver.url}, 201)
        server.until(server.start("review"), "completed")
        receiver.wait(1)
        monkeypatch.setattr(deliveries.Deliveries, "changed", lambda *_: None)
        server.until(server.start("review"), "completed")  # nobody notes it
    monkeypatch.setattr(deliveries, "LOOK", 0.01)
    with running(folder, db, OPEN, database=database) as server:
        receiver.wait(2)
        found = server.get(f"/webhooks/{made['id']}/deliveries")["deliveries"]
        assert len(found) == 2


def test_a_webhook_into_a_private_network_is_refused(server: Running) -> None:
    for url in ("http://127.0.0.1:1/x", "http://localhost/x", "http://[::1]/x", "ftp://x.example"):
        server.post("/webhooks", {"url": url}, 400)
