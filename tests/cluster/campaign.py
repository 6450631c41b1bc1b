"""Faults under load: workers killed or frozen, connections cut, PostgreSQL restarted, bad clocks.

    python -m tests.cluster.campaign --kills 300

Sessions are started all the while, and some are watched. In the end every session has completed,
nothing that had finished ran again, and who watched was told every event once, in order.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psycopg

from rondel import Event, Session
from rondel.dispatch.submitting import SubmittingEngine
from rondel.errors import RondelError
from tests import postgres
from tests.cluster.harness import ROUNDS, Fleet, check_each_step_ran_once, graph, server

T = TypeVar("T")

LEASE = 1.0
PATIENCE = 120.0

WEIGHTS = {"kill": 80, "freeze": 8, "cut": 8, "restart": 4}
"""How often each fault happens, in a hundred."""


@dataclass
class Campaign:
    """What is done to a cluster, and what it did."""

    kills: int
    workers: int = 3
    under_way: int = 30
    seconds: float = 0.12
    chance: random.Random = field(default_factory=lambda: random.Random(18))
    faults: Counter[str] = field(default_factory=Counter)
    sessions: list[Session] = field(default_factory=list)
    watched: dict[str, list[Event]] = field(default_factory=dict)
    repeats: int = 0
    """Steps that were hit at work and ran again."""

    async def run(self, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        """Do it, and check what came of it."""
        own = await asyncio.to_thread(postgres.PostgresServer)
        try:
            url = await asyncio.to_thread(postgres.new_database, own.url())
            marks = folder / "marks"
            with Fleet(url, marks, LEASE, concurrency=10) as fleet:
                async with server(url, marks) as submitting:
                    await asyncio.to_thread(fleet.start, self.workers)
                    await self._hurt(submitting, fleet, own, url, marks, say)
                    await self._check(submitting, marks)
        finally:
            await asyncio.to_thread(own.close)

    async def _hurt(
        self,
        submitting: SubmittingEngine,
        fleet: Fleet,
        own: postgres.PostgresServer,
        url: str,
        marks: Path,
        say: Callable[[str], None],
    ) -> None:
        """Hurt the cluster until it has been hurt enough, and wait until it is done."""
        work = graph(ROUNDS, marks, SECONDS=str(self.seconds))
        watching: list[asyncio.Task[None]] = []
        while self.faults["kill"] < self.kills:
            await self._keep_busy(submitting, work, watching)
            fault = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
            self.faults[fault] += 1
            match fault:
                case "kill":
                    fleet.kill(self.chance.choice(fleet.workers))
                    await asyncio.to_thread(fleet.start)
                case "freeze":
                    await self._freeze(fleet)
                case "cut":
                    await asyncio.to_thread(cut, url)
                case _:
                    how = self.chance.choice((signal.SIGINT, signal.SIGQUIT))
                    await asyncio.to_thread(own.stop, how)
                    await asyncio.sleep(self.chance.uniform(0.1, 0.5))
                    await asyncio.to_thread(own.start)
            say(f"{self.faults['kill']} of {self.kills} kills, {len(self.sessions)} sessions")
            await asyncio.sleep(self.chance.uniform(0.1, 0.4))
        for session in self.sessions:
            async with asyncio.timeout(PATIENCE):
                assert (await session.result()).status == "completed"
        _, left = await asyncio.wait(watching, timeout=PATIENCE)
        assert not left, [
            (id, seen[-1:]) for id, seen in self.watched.items() if not _saw_end(seen)
        ]

    async def _keep_busy(
        self, submitting: SubmittingEngine, work: object, watching: list[asyncio.Task[None]]
    ) -> None:
        """Start what ended again, so that so many are under way; every fourth is watched."""
        done = await patiently(
            lambda: asyncio.to_thread(lambda: len(_completed(submitting, len(self.sessions))))
        )
        for _ in range(self.under_way - (len(self.sessions) - done)):
            session = await patiently(lambda: submitting.start(work))  # type: ignore[arg-type]
            self.sessions.append(session)
            if len(self.sessions) % 4 == 1:
                watching.append(asyncio.ensure_future(self._watch(session)))

    async def _watch(self, session: Session) -> None:
        seen = self.watched[session.id] = []
        while not _saw_end(seen):
            with suppress(RondelError):
                async for event in session.events(seen[-1].seq or 0 if seen else 0):
                    if event.seq is not None:
                        seen.append(event)
            await asyncio.sleep(0)  # the database may be away

    async def _freeze(self, fleet: Fleet) -> None:
        """A worker stands still for longer than its lease, and wakes up."""
        frozen = self.chance.choice(fleet.workers)
        with suppress(ProcessLookupError):  # the database was away when it began
            os.kill(frozen, signal.SIGSTOP)
            await asyncio.sleep(LEASE * 1.5)
            os.kill(frozen, signal.SIGCONT)

    async def _check(self, submitting: SubmittingEngine, marks: Path) -> None:
        """Everything completed, nothing finished ran again, and nobody was told too little."""
        lines = (await asyncio.to_thread(marks.read_text)).splitlines()
        runs = [line.rsplit(" ", 1)[0] for line in lines]
        self.repeats = len(runs) - len(set(runs))
        await asyncio.to_thread(check_each_step_ran_once, self.sessions, marks)
        for id, seen in self.watched.items():
            assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
            told = [event async for event in submitting.get(id).events() if event.seq is not None]
            assert seen == told


def _saw_end(seen: list[Event]) -> bool:
    return bool(seen) and not seen[-1].node_id and seen[-1].data.get("status") == "completed"


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """What the call returns, however often it takes: the database may be away."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return await call()
        except RondelError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.2)


def cut(url: str) -> None:
    """Cut all connections to the database but this."""
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(query)


def _completed(submitting: SubmittingEngine, most: int) -> list[object]:
    found: list[object] = []
    before = None
    while len(found) < most:
        page = submitting.sessions("completed", before=before, limit=500)
        found += page.rows
        before = page.next
        if before is None:
            break
    return found


def main() -> None:
    """The campaign with its figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=18)
    given = parser.parse_args()
    campaign = Campaign(given.kills, chance=random.Random(given.seed))
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"\r{what}, {time.monotonic() - began:.0f} s ", end="", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(campaign.run(Path(folder), say))
    print(file=sys.stderr)
    faults = ", ".join(f"{count} {what}" for what, count in campaign.faults.items())
    steps = sum(len(session) for session in campaign.watched.values())
    print(f"{len(campaign.sessions)} sessions completed through {faults}")
    print(f"{campaign.repeats} steps were hit at work and ran again; none that had finished did")
    print(f"{len(campaign.watched)} sessions watched, {steps} events, each once and in order")


if __name__ == "__main__":
    main()
