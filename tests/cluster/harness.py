"""A cluster on one machine: servers that submit, and workers in processes that can be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

from rondel import Graph, Session
from rondel.dispatch.submitting import SubmittingEngine
from rondel.engine.registry import Registry
from rondel.sessions.local_sessions import LEASE
from tests.cluster.fleet import bringing, registry

ROOT = Path(__file__).parents[2]

PATIENCE = 60.0

ROUNDS = """
version: 1
graph:
  id: rounds
  start: [a]
  nodes:
    - {id: a, type: mark, config: {seconds: SECONDS}}
    - {id: b, type: mark, config: {seconds: SECONDS}}
    - {id: c, type: mark, config: {seconds: SECONDS}}
    - {id: twice, type: loop, config: {max_rounds: 2}}
    - {id: done, type: mark}
  edges:
    - {from: a, to: b}
    - {from: a, to: c}
    - {from: b, to: twice}
    - {from: c, to: twice}
    - {from: twice, to: a, label: continue}
    - {from: twice, to: done, label: exit}
"""

ASKING = """
version: 1
graph:
  id: asking
  nodes:
    - {id: a, type: mark}
    - {id: ask, type: human, config: {description: good?, CONFIG}}
    - {id: done, type: mark}
  edges:
    - {from: a, to: ask}
    - {from: ask, to: done}
"""


async def all_ended(sessions: list[Session]) -> None:
    async with asyncio.timeout(PATIENCE):
        for session in sessions:
            assert (await session.result()).status == "completed"


async def marked(marks: Path, lines: int = 1) -> None:
    """Wait until so many steps have begun."""

    def look() -> None:
        deadline = time.monotonic() + PATIENCE
        while not marks.exists() or len(marks.read_text().splitlines()) < lines:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    await asyncio.to_thread(look)


class Fleet:
    """Workers on machines of different names, as far as anybody can tell."""

    def __init__(
        self, url: str, marks: Path, lease: float, concurrency: int = 5, temporal: str = ""
    ) -> None:
        given = [url, str(marks), str(lease), str(concurrency), *([temporal] if temporal else [])]
        command = [sys.executable, "-m", "tests.cluster.fleet", *given]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        self._started = 0
        self.workers: list[int] = []

    def start(self, count: int = 1) -> int:
        """Start workers; the process id of the last."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        for _ in range(count):
            self._started += 1
            stdin.write(f"machine-{self._started}\n")
            stdin.flush()
            self.workers.append(int(stdout.readline()))
        return self.workers[-1]

    def kill(self, pid: int) -> None:
        """As a power cut does; it may have ended, if the database was away when it began."""
        self.workers.remove(pid)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in list(self.workers):
            self.kill(pid)
        self._process.kill()
        self._process.communicate()


@asynccontextmanager
async def server(
    url: str, marks: Path, lease: float = LEASE, temporal: str = ""
) -> AsyncIterator[SubmittingEngine]:
    """A process that starts and watches sessions, and drives none."""
    dispatcher = bringing(url, lease, temporal)
    await dispatcher.open()
    async with SubmittingEngine(url, dispatcher, registry=registry(str(marks))) as engine:
        yield engine
    await dispatcher.close()


def graph(text: str, marks: Path, **words: str) -> Graph:
    """A graph of marks."""
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    known: Registry = registry(str(marks))
    return Graph.loads(text, registry=known)


def check_each_step_ran_once(sessions: list[Session], marks: Path) -> None:
    """The run that the journal tells of is the last there was: nothing finished ran again."""
    runs: dict[str, list[str]] = {}
    for line in marks.read_text().splitlines():
        key, run = line.rsplit(" ", 1)
        runs.setdefault(key, []).append(run)
    for session in sessions:
        steps = [step for step in session.steps() if step.outputs and step.node_id in "abcdone"]
        assert steps
        for step in steps:
            began = runs[f"{session.id}:{step.address}"]
            assert began[-1] == step.outputs[0]["content"], (session.id, step.address, began)
