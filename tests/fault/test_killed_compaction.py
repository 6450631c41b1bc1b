"""A session killed after a summary was written does not have it written, nor paid, again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fault.killing import killed, resumed
from tests.openai_server import OpenAIServer, Reply

DRAFT = "word " * 100


def graph(writing: OpenAIServer, summing: OpenAIServer) -> str:
    """An agent that drafts three times, and has a summary written before the third."""

    def model(server: OpenAIServer) -> dict[str, Any]:
        return {"provider": "openai", "name": "m", "base_url": server.url, "attempts": 1}

    compact = {"over_tokens": 150, "keep": 1, "agent": model(summing)}
    config = {**model(writing), "compact": compact}
    body = {
        "id": "g",
        "start": "A",
        "breaker": "off",
        "loops": {"A": {"max_rounds": 3}},
        "nodes": [
            {"id": "A", "type": "agent", "config": config, "context_window": -1},
            {"id": "B", "type": "literal", "config": {"content": "Again."}},
            {"id": "Final", "type": "passthrough"},
        ],
        "edges": [
            {"from": "A", "to": "B"},
            {"from": "B", "to": "A"},
            {"from": "A", "to": "Final", "label": "limit"},
        ],
    }
    return json.dumps({"graph": body})


def test_while_a_summary_is_written_a_kill_makes_nobody_write_a_draft_again(
    tmp_path: Path, db: str
) -> None:
    file = tmp_path / "graph.json"
    summaries = (Reply(silent=True), "In short.")
    with OpenAIServer(*summaries) as summing, OpenAIServer(DRAFT, DRAFT, "The end.") as writing:
        file.write_text(graph(writing, summing))
        session = killed(file, db, lambda: summing.wait_for(1))
        assert resumed(session, db)["output"] == "The end."
        assert (len(summing.seen), len(writing.seen)) == (2, 3)
    first, second = summing.seen
    assert first.body == second.body
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_a_summary_is_paid_once_over_a_kill(tmp_path: Path, db: str) -> None:
    file = tmp_path / "graph.json"
    drafts = (DRAFT, DRAFT, Reply(silent=True), "The end.")
    with OpenAIServer("In short.") as summing, OpenAIServer(*drafts) as writing:
        file.write_text(graph(writing, summing))
        session = killed(file, db, lambda: writing.wait_for(3))
        assert resumed(session, db)["output"] == "The end."
        assert (len(summing.seen), len(writing.seen)) == (1, 4)
        third, fourth = writing.bodies[2:]
    assert third["messages"] == fourth["messages"]
    assert "In short." in json.dumps(third)
    assert writing.header("Idempotency-Key")[2] == writing.header("Idempotency-Key")[3]
