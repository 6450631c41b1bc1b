"""A session killed while the second model answers does not ask, nor pay, the first one again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fault.killing import killed, resumed
from tests.openai_server import OpenAIServer, Reply


def test_a_model_that_has_failed_is_asked_once_over_a_kill(tmp_path: Path, db: str) -> None:
    file = tmp_path / "graph.json"
    broken = Reply(status=500, body={"error": {"message": "broken"}})
    with OpenAIServer(broken) as first, OpenAIServer(Reply(silent=True), "Hello.") as second:
        models: list[dict[str, Any]] = [
            {"provider": "openai", "name": name, "base_url": server.url, "attempts": 1}
            for name, server in (("first", first), ("second", second))
        ]
        config = {**models[0], "fallback": [models[1]]}
        node = {"id": "A", "type": "agent", "config": config}
        file.write_text(json.dumps({"graph": {"id": "g", "nodes": [node]}}))
        session = killed(file, db, lambda: second.wait_for(1))
        assert resumed(session, db)["output"] == "Hello."
        assert (len(first.seen), len(second.seen)) == (1, 2)
