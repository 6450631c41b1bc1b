"""A session killed around a person's leave asks the model once a turn, and runs the tool once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.command import ROOT
from tests.fault.killing import resumed, rondel
from tests.openai_server import OpenAIServer, Reply

TOOL = '''
from pathlib import Path


def pay(amount: int) -> str:
    """Pay."""
    with (Path(__file__).parent / "paid.txt").open("a") as file:
        file.write(f"{amount}\\n")
    return "paid"
'''


def killed(command: list[str], server: OpenAIServer, requests: int) -> None:
    """Start a command, and kill it when the server has been asked so often."""
    quiet = subprocess.DEVNULL
    running = subprocess.Popen(command, cwd=ROOT, stdin=quiet, stdout=quiet, stderr=quiet)
    server.wait_for(requests)
    running.kill()
    running.wait(60)


def test_neither_the_model_nor_the_tool_is_asked_again_over_kills(tmp_path: Path, db: str) -> None:
    file, tools = tmp_path / "graph.json", tmp_path / "tools"
    tools.mkdir()
    (tools / "bank.py").write_text(TOOL)
    replies = (Reply(calls=[("pay", {"amount": 5})]), Reply(silent=True), "Done.")
    with OpenAIServer(*replies) as server:
        config: dict[str, Any] = {"provider": "openai", "name": "m", "base_url": server.url}
        config |= {"attempts": 1, "tools": ["pay"], "approve": ["pay"]}
        node = {"id": "Clerk", "type": "agent", "config": config}
        file.write_text(json.dumps({"graph": {"id": "g", "nodes": [node]}}))
        options = "--db", db, "--functions", tools
        waiting = rondel("run", file, "-i", "pay", "--no-input", *options)
        assert subprocess.run(waiting, cwd=ROOT, capture_output=True, check=False).returncode == 4
        listed = subprocess.check_output(rondel("sessions", "--json", "--db", db), cwd=ROOT)
        (session,) = json.loads(listed)["sessions"]
        killed(rondel("answer", session["session_id"], "approve", *options), server, 2)
        result = resumed(session["session_id"], db, "--functions", tools)
        assert result["output"] == "Done."
        assert len(server.seen) == 3
        assert server.bodies[1]["messages"] == server.bodies[2]["messages"]
    assert (tools / "paid.txt").read_text() == "5\n"
