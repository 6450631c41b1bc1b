"""Idempotency keys: the same request with the same key is carried out once."""

from __future__ import annotations

from pathlib import Path

from tests.unit.server.running import ASKING, Running, running

KEY = {"Idempotency-Key": "k1"}


def test_who_asks_again_gets_the_same_answer_also_after_a_restart(
    folder: Path, tmp_path: Path
) -> None:
    db, database = tmp_path / "s.db", tmp_path / "s.server.db"
    graph = {"text": ASKING.replace("asking", "further")}
    hook = {"url": "https://93.184.216.34/hook"}
    with running(folder, db, database=database) as server:
        id = server.start("review")
        server.until(id, "completed")
        fork = {"at": "Writer[1]"}
        made = {
            path: server.post(path, body, 201, headers=KEY)
            for path, body in (
                ("/graphs", graph),
                ("/webhooks", hook),
                (f"/sessions/{id}/fork", fork),
            )
        }
        again = server.post("/webhooks", hook, 201, headers=KEY)
        assert again == made["/webhooks"]
        refused = server.post("/webhooks", {**hook, "events": ["session.failed"]}, 409, headers=KEY)
        assert "'k1' stood for another request" in refused["detail"]
    with running(folder, db, database=database) as server:
        assert (
            server.post(f"/sessions/{id}/fork", fork, 201, headers=KEY)
            == made[f"/sessions/{id}/fork"]
        )
        assert server.post("/graphs", graph, 201, headers=KEY) == made["/graphs"]
        assert len(server.get("/webhooks")["webhooks"]) == 1
        assert len(server.get("/sessions")["sessions"]) == 2


def test_a_refused_request_leaves_its_key_free(server: Running) -> None:
    server.post("/webhooks", {"url": "ftp://x"}, 400, headers=KEY)
    server.post("/webhooks", {"url": "https://93.184.216.34/hook"}, 201, headers=KEY)
