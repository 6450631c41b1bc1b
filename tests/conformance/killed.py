"""Kills sessions of ChatDev's graphs at every journal write, and resumes them without their files.

Run as a program, with the crash points armed: `python -m tests.conformance.killed FOLDER ID`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from rondel import Engine, Graph, Session
from rondel.engine import ticks
from tests.conformance.observed import CASES, compare_executions
from tests.fault.campaign import NEVER, arm, child

POINTS = ("before_commit", "after_commit")


async def _help_on(session: Session, case: dict[str, Any]) -> None:
    """Answer as the person did that was observed."""
    while (await session.settled()).status == "waiting":
        given = sum(isinstance(tick, ticks.Answered) for tick in session.journal())
        await session.answer(case["human"][given])


async def _start(case: dict[str, Any], db: Path) -> None:
    async with Engine(db) as engine:
        session = await engine.start(Graph.loads(case["yaml"], compat="chatdev"), case["prompt"])
        await _help_on(session, case)


async def _finish(case: dict[str, Any], db: Path) -> None:
    async with Engine(db) as engine:
        [row] = engine.sessions().rows or [None]
        if row is None:
            return  # it died before it existed
        session = engine.get(row.id)
        if session.status not in ("completed", "waiting"):
            session = await engine.resume(row.id)
        await _help_on(session, case)
        result = await session.result()
        compare_executions(session.steps(), case)
        assert (result.status, result.output) == ("completed", case["expected"]["final"])


def _kills(case: dict[str, Any], folder: Path) -> int:
    """Kill at each write, in turn before and after it is durable; how often that was."""
    for count in range(1, NEVER):
        point = POINTS[count % 2]
        db = folder / f"{count}.db"
        arm(point, count)
        died = child(lambda db=db: asyncio.run(_start(case, db)))
        arm("never", NEVER)
        if child(lambda db=db: asyncio.run(_finish(case, db))) != 0:
            raise SystemExit(f"{case['id']}: another outcome after {point}:{count}")
        if not died:
            return count - 1
    raise AssertionError("a run writes for ever")


def main(folder: str, id: str) -> None:
    """Kill a case everywhere, and print how often."""
    [case] = [case for case in CASES if case["id"] == id]
    print(_kills(case, Path(folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
