"""`rondel worker` as its users start it."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from rondel import Graph
from rondel.cli import main
from rondel.dispatch.dispatchers import NAMES, dispatcher
from rondel.dispatch.submitting import SubmittingEngine
from rondel.testing.journal_suite import in_loop
from tests.e2e.command import ROOT, start

PATIENCE = 60.0
EXAMPLE = ROOT / "examples" / "01_review_loop" / "graph.yaml"


@pytest.mark.parametrize("name", NAMES)
@in_loop
async def test_a_worker_drives_what_is_submitted_until_it_is_told_to_stop(
    new_database: str, temporal_address: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", temporal_address)
    bringing = dispatcher(name, new_database)
    await bringing.open()
    options = ("--queue", "fast", "--concurrency", "5", "--per-group", "2")
    worker = start("worker", "--db", new_database, "--dispatcher", name, *options)
    try:
        async with SubmittingEngine(new_database, bringing, queue="fast") as engine:
            async with asyncio.timeout(PATIENCE):
                session = await engine.start(EXAMPLE, "a poem")
                assert (await session.result()).status == "completed"
    finally:
        await bringing.close()
        worker.send_signal(signal.SIGTERM)
        _, told = await asyncio.to_thread(worker.communicate, timeout=PATIENCE)
    assert worker.returncode == 0
    assert told.startswith("worker of postgresql://")
    assert told.count("\n") == 1


CODE = """
graph: {id: code, nodes: [{id: Run, type: python, config: {code: print(1)}}], edges: []}
"""


@in_loop
async def test_a_worker_says_what_it_lacks_for_a_session(new_database: str) -> None:
    bringing = dispatcher("procrastinate", new_database)
    await bringing.open()
    worker = start("worker", "--db", new_database)
    try:
        async with SubmittingEngine(new_database, bringing, allow_python=True) as engine:
            session = await engine.start(Graph.loads(CODE), "a poem")
            assert worker.stderr is not None
            told = [await asyncio.to_thread(worker.stderr.readline) for _ in range(2)]
            assert session.status == "pending"
    finally:
        await bringing.close()
        worker.kill()
        await asyncio.to_thread(worker.communicate, timeout=PATIENCE)
    assert "is left alone: node 'Run' runs Python code, which is off" in told[1]
    assert "--allow-python" in told[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--db", "sessions.db"], "a worker needs sessions in PostgreSQL"),
        (["--db", "postgresql://x@127.0.0.1:1/x", "--dispatcher", "celery"], "no dispatcher"),
    ],
)
def test_what_a_worker_cannot_do_is_told_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["worker", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
