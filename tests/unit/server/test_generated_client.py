"""A typed client that a generator of others makes of the OpenAPI document runs an example."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit.server.running import running

EXAMPLE = Path(__file__).parents[3] / "examples" / "01_review_loop"

PROGRAM = """\
import sys, time
from client import Client
from client.api.sessions import get_session, list_rounds, start_session
from client.models import Problem, RoundList, SessionDetail, SessionRequest, SessionState

api = Client(base_url=sys.argv[1])
started = start_session.sync(
    client=api, body=SessionRequest(graph_id="review_loop", inputs="Why loops?")
)
assert isinstance(started, SessionState), started
while True:
    session = get_session.sync(id=started.id, client=api)
    assert isinstance(session, SessionDetail), session
    if str(session.status) in ("completed", "bounded", "failed", "cancelled"):
        break
    time.sleep(0.05)
rounds = list_rounds.sync(id=started.id, client=api)
assert isinstance(rounds, RoundList), rounds
missing = get_session.sync(id="nobody", client=api)
assert isinstance(missing, Problem) and "nobody" in missing.detail, missing
print(session.status, len(rounds.rounds))
"""


def test_a_generated_client_starts_a_session_waits_and_reads_its_rounds(tmp_path: Path) -> None:
    with running(EXAMPLE, tmp_path / "s.db") as server:
        document = tmp_path / "openapi.json"
        document.write_text(json.dumps(server.client.get("/openapi.json").json()))
        _run(tmp_path, "-m", "openapi_python_client", "generate", "--path", str(document))
        told = _run(tmp_path, "-c", PROGRAM, server.url)
    status, rounds = told.split()
    assert status == "completed"
    assert int(rounds) >= 1


def _run(folder: Path, *arguments: str) -> str:
    if "generate" in arguments:
        arguments = (*arguments, "--meta", "none", "--output-path", str(folder / "client"))
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
