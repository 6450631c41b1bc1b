"""Workers that Temporal brings sessions to, and a graph as an activity of one's own workflow."""

from __future__ import annotations

import asyncio
import importlib
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client
from temporalio.worker import Worker

from rondel.cli import main
from tests.cluster.harness import (
    ASKING,
    ROOT,
    ROUNDS,
    Fleet,
    all_ended,
    check_each_step_ran_once,
    graph,
    marked,
)
from tests.cluster.harness import server as submitting

PATIENCE = 60.0


async def test_a_worker_that_is_killed_is_taken_over(
    new_database: str, marks: Path, temporal_address: str
) -> None:
    with Fleet(new_database, marks, lease=1.0, temporal=temporal_address) as fleet:
        async with submitting(new_database, marks, 1.0, temporal_address) as server:
            fleet.start(2)
            work = graph(ROUNDS, marks, SECONDS="0.2")
            sessions = [await server.start(work) for _ in range(8)]
            await marked(marks, 6)
            fleet.kill(fleet.workers[0])
            await all_ended(sessions)
            check_each_step_ran_once(sessions, marks)


async def test_what_is_asked_is_answered_and_what_is_due_is_minded(
    new_database: str, marks: Path, temporal_address: str
) -> None:
    with Fleet(new_database, marks, lease=3.0, temporal=temporal_address) as fleet:
        async with submitting(new_database, marks, 3.0, temporal_address) as server:
            fleet.start()
            answered = await server.start(graph(ASKING, marks, CONFIG="actions: [yes, no]"))
            config = "timeout: 1s, on_timeout: fine"
            expired = await server.start(graph(ASKING, marks, CONFIG=config))
            async with asyncio.timeout(PATIENCE):
                assert (await answered.settled()).status == "waiting"
                await answered.answer("yes")
            await all_ended([answered, expired])


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The Python of the page, as its reader would save it."""
    text = (ROOT / "docs" / "guide" / "temporal.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    (tmp_path / "review_recipe.py").write_text(code[1], "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("review_recipe")
    del sys.modules["review_recipe"]


async def test_the_recipe_of_a_graph_as_an_activity(
    new_database: str, temporal_address: str, page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDEL_DB", new_database)
    monkeypatch.chdir(ROOT)
    attempts: list[str] = []

    @activity.defn(name="review")
    async def fails_first(topic: str) -> str:
        attempts.append(topic)
        told: str = await page.review(topic)
        if len(attempts) == 1:
            raise OSError("the worker is lost after the session ended")
        return told

    client = await Client.connect(temporal_address)
    queue = secrets.token_hex(4)
    async with Worker(client, task_queue=queue, workflows=[page.Publish], activities=[fails_first]):
        async with asyncio.timeout(PATIENCE):
            result = await client.execute_workflow(
                page.Publish.run, "loops", id=f"publish-{queue}", task_queue=queue
            )
    assert attempts == ["loops", "loops"]
    assert result
    async with page.Engine(new_database) as engine:
        (row,) = engine.sessions().rows  # the second attempt found the session of the first
        assert row.status == "completed"


def test_a_server_that_is_not_there_is_told_in_one_line(
    new_database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
    assert main(["worker", "--db", new_database, "--dispatcher", "temporal"]) != 0
    told = capsys.readouterr().err
    assert "Temporal cannot be reached at 127.0.0.1:1" in told
    assert told.count("\n") == 1
