"""A session killed while the second model answers does not ask, nor pay, the first one again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.command import ROOT
from tests.openai_server import OpenAIServer, Reply


def rondel(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "rondel", *map(str, arguments)]


def test_a_model_that_has_failed_is_asked_once_over_a_kill(tmp_path: Path) -> None:
    db, file = tmp_path / "s.db", tmp_path / "graph.json"
    broken = Reply(status=500, body={"error": {"message": "broken"}})
    with OpenAIServer(broken) as first, OpenAIServer(Reply(silent=True), "Hello.") as second:
        models: list[dict[str, Any]] = [
            {"provider": "openai", "name": name, "base_url": server.url, "attempts": 1}
            for name, server in (("first", first), ("second", second))
        ]
        config = {**models[0], "fallback": [models[1]]}
        node = {"id": "A", "type": "agent", "config": config}
        file.write_text(json.dumps({"graph": {"id": "g", "nodes": [node]}}))
        running = subprocess.Popen(
            rondel("run", file, "-i", "x", "--db", db),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        second.wait_for(1)
        running.kill()
        running.wait(60)
        listed = subprocess.check_output(rondel("sessions", "--json", "--db", db), cwd=ROOT)
        (session,) = json.loads(listed)["sessions"]
        resumed = subprocess.run(
            rondel("resume", session["session_id"], "--json", "--db", db),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert resumed.returncode == 0, resumed.stderr
        assert json.loads(resumed.stdout.splitlines()[-1])["output"] == "Hello."
        assert (len(first.seen), len(second.seen)) == (1, 2)
