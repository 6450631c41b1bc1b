"""Kills a session at every journal write, resumes it, and says where that made a difference.

Run as a program, with the crash points armed: `python -m tests.fault.campaign VICTIM POINT FOLDER`.
It forks a child for every run, so that Python starts only once.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rondel import Engine, Session
from rondel.engine import ticks
from rondel.journal import crash
from tests import postgres
from tests.fault.victims import VICTIMS, marker

DATABASE = "RONDEL_FAULT_DATABASE"
"""Names the PostgreSQL database to work on; else SQLite."""

NEVER = 10**9
UNDER_WAY = 4
"""The most steps that any victim has under way at once."""


def child(call: Any) -> int:
    """Run it in a process of its own; the exit status, or minus the signal that killed it."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        call()
        os._exit(0)
    except BaseException as error:
        print(f"child failed: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)


def database(folder: Path) -> str:
    """Where the sessions of a run are kept: in a file of its own, or in PostgreSQL."""
    return os.environ.get(DATABASE) or str(folder / "db")


def arm(point: str, count: int) -> None:
    """Die at that pass of that point."""
    crash._name, crash._left = point, count


async def help_on(session: Session) -> None:
    """Answer whatever it asks, to its end."""
    while (await session.settled()).status == "waiting":
        answers = sum(isinstance(tick, ticks.Answered) for tick in session.journal())
        await session.answer(f"answer {answers}")


def start(victim: str, folder: Path) -> None:
    """A fresh session to its end, or to its death."""

    async def main() -> None:
        graph = VICTIMS[victim](marker(str(folder / "marks")))
        async with Engine(database(folder)) as engine:
            session = await engine.start(graph, "task")
            await help_on(session)

    asyncio.run(main())


def finish(victim: str, folder: Path) -> None:
    """Resume whatever session there is, and write down what became of it."""

    async def main() -> None:
        graph = VICTIMS[victim](marker(str(folder / "marks")))
        async with Engine(database(folder)) as engine:
            rows = engine.sessions().rows
            finished = []
            if rows:
                session = engine.get(rows[0].id)
                session.use(graph)
                finished = [step.address for step in session.steps() if step.status == "completed"]
                if session.status not in ("completed", "waiting"):
                    session = await engine.resume(rows[0].id, graph)
            else:
                session = await engine.start(graph, "task")
            (folder / "finished.json").write_text(json.dumps(finished))
            await help_on(session)
            result = await session.result()
            steps = [(s.address, s.status, s.inputs, s.outputs) for s in session.steps()]
            outcome = [result.status, result.output, steps]
            (folder / "outcome.json").write_text(json.dumps(outcome))

    asyncio.run(main())


def marks(folder: Path) -> Counter[str]:
    """How often each thing really ran."""
    return Counter((folder / "marks").read_text().splitlines())


def attempt(victim: str, folder: Path, point: str, count: int) -> bool:
    """Kill at that write and resume; False when there was no such write any more."""
    folder.mkdir()
    if address := os.environ.get(DATABASE):
        postgres.empty(address)
    arm(point, count)
    died = child(lambda: start(victim, folder))
    arm("never", NEVER)
    if child(lambda: finish(victim, folder)) != 0:
        raise SystemExit(f"{victim}: resume failed after {point}:{count}")
    return died != 0


def check(victim: str, folder: Path, baseline: Path, where: str) -> None:
    """Nothing may differ but steps under way that ran again."""
    expected = json.loads((baseline / "outcome.json").read_text())
    if json.loads((folder / "outcome.json").read_text()) != expected:
        raise SystemExit(f"{victim}: another outcome after {where}")
    ran, should = marks(folder), marks(baseline)
    if set(ran) != set(should):
        raise SystemExit(f"{victim}: other effects after {where}: {set(ran) ^ set(should)}")
    again = [line for line in json.loads((folder / "finished.json").read_text()) if ran[line] > 1]
    if again:
        raise SystemExit(f"{victim}: {again} ran again after {where}")
    if ran.total() - should.total() > UNDER_WAY:
        raise SystemExit(f"{victim}: {ran - should} were too many to be under way at {where}")


def main(victim: str, point: str, folder: Path) -> None:
    """Every write, killed at that point of it."""
    baseline = folder / "baseline"
    attempt(victim, baseline, "never", NEVER)
    kills = 0
    for count in range(1, 1000):
        place = folder / str(count)
        if not attempt(victim, place, point, count):
            break
        kills += 1
        check(victim, place, baseline, f"{point}:{count}")
    print(json.dumps({"victim": victim, "kills": kills}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
