"""What every dispatcher must do, as tests: subclass `DispatcherSuite` and say how to make one.

class TestMyDispatcher(DispatcherSuite):
    def dispatcher(self):
        return MyDispatcher(self.address)
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

from rondel.dispatch.dispatcher import QUEUE, Dispatcher
from rondel.testing.journal_suite import in_loop

PATIENCE = 30.0


class Attended:
    """Records the sessions that were driven, in order, and the most at once."""

    def __init__(self, hold: asyncio.Event | None = None, seconds: float = 0.001) -> None:
        self.sessions: list[str] = []
        self.at: list[float] = []
        self.most = 0
        self._now = 0
        self._hold = hold
        self._seconds = seconds
        self._came = asyncio.Event()

    async def __call__(self, session: str) -> None:
        """Attend to it."""
        self.sessions.append(session)
        self.at.append(monotonic())
        self._now += 1
        self.most = max(self.most, self._now)
        self._came.set()
        try:
            await (self._hold.wait() if self._hold is not None else asyncio.sleep(self._seconds))
        finally:
            self._now -= 1
            self._came.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for it."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self._came.clear()
                await self._came.wait()


class DispatcherSuite(ABC):
    """All that a dispatcher promises while its worker lives."""

    @abstractmethod
    def dispatcher(self) -> Dispatcher:
        """A new dispatcher on the same queue."""

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Dispatcher]:
        """A dispatcher that is open."""
        made = self.dispatcher()
        await made.open()
        try:
            yield made
        finally:
            await made.close()

    @asynccontextmanager
    async def working(
        self,
        attend: Callable[[str], object],
        queue: str = QUEUE,
        concurrency: int = 10,
        per_group: int | None = None,
    ) -> AsyncIterator[asyncio.Event]:
        """A worker with a dispatcher of its own, which is stopped in the end."""
        stop = asyncio.Event()
        async with self.opened() as dispatcher:
            work = asyncio.ensure_future(
                dispatcher.work(attend, stop, [queue], concurrency, per_group)  # type: ignore[arg-type]
            )
            try:
                yield stop
            finally:
                stop.set()
                async with asyncio.timeout(PATIENCE):
                    await work

    @in_loop
    async def test_what_is_submitted_is_attended_to(self) -> None:
        attended = Attended()
        ids = {f"s{n}" for n in range(10)}
        async with self.opened() as dispatcher, self.working(attended):
            for session in sorted(ids):
                await dispatcher.submit(session)
            await attended.until(lambda: set(attended.sessions) == ids)

    @in_loop
    async def test_workers_share_the_work(self) -> None:
        hold = asyncio.Event()
        one, two = Attended(hold), Attended(hold)
        async with (
            self.opened() as dispatcher,
            self.working(one, concurrency=2),
            self.working(two, concurrency=2),
        ):
            for n in range(4):
                await dispatcher.submit(f"s{n}")
            await one.until(lambda: len(one.sessions) == 2)
            await two.until(lambda: len(two.sessions) == 2)
            hold.set()
        assert {*one.sessions, *two.sessions} == {"s0", "s1", "s2", "s3"}

    @in_loop
    async def test_a_session_that_waits_waits_once(self) -> None:
        attended = Attended()
        async with self.opened() as dispatcher:
            for _ in range(3):
                await dispatcher.submit("a")
            await dispatcher.submit("b")
            async with self.working(attended, concurrency=1):
                await attended.until(lambda: {"a", "b"} <= set(attended.sessions))
        assert sorted(attended.sessions) == ["a", "b"]

    @in_loop
    async def test_submitted_while_attended_to_it_is_attended_to_again(self) -> None:
        hold = asyncio.Event()
        attended = Attended(hold)
        async with self.opened() as dispatcher, self.working(attended):
            await dispatcher.submit("a")
            await attended.until(lambda: len(attended.sessions) == 1)
            await dispatcher.submit("a")
            hold.set()
            await attended.until(lambda: len(attended.sessions) >= 2)

    @in_loop
    async def test_later_is_not_now_and_is_in_nobodys_way(self) -> None:
        attended = Attended()
        async with self.opened() as dispatcher, self.working(attended):
            began = monotonic()
            await dispatcher.submit("a", after=1.0)
            await dispatcher.submit("a")
            await attended.until(lambda: len(attended.sessions) == 2)
        assert attended.at[0] < attended.at[1]
        assert attended.at[1] - began >= 0.9

    @in_loop
    async def test_what_failed_is_tried_again(self) -> None:
        attended = Attended()

        async def attend(session: str) -> None:
            await attended(session)
            if len(attended.sessions) == 1:
                raise OSError("the first time it fails")

        async with self.opened() as dispatcher, self.working(attend):
            await dispatcher.submit("a")
            await attended.until(lambda: len(attended.sessions) == 2)

    @in_loop
    async def test_no_more_at_once_than_allowed(self) -> None:
        attended = Attended()
        async with self.opened() as dispatcher:
            for n in range(12):
                await dispatcher.submit(f"s{n}")
            async with self.working(attended, concurrency=3):
                await attended.until(lambda: len(attended.sessions) == 12)
        assert attended.most <= 3

    @in_loop
    async def test_a_worker_takes_from_its_own_queues_only(self) -> None:
        attended, slow = Attended(), Attended()
        async with self.opened() as dispatcher, self.working(attended):
            await dispatcher.submit("a", "slow")
            await dispatcher.submit("b")
            await attended.until(lambda: attended.sessions == ["b"])
            async with self.working(slow, "slow"):
                await slow.until(lambda: slow.sessions == ["a"])
        assert attended.sessions == ["b"]

    @in_loop
    async def test_groups_take_turns(self) -> None:
        attended = Attended(seconds=0.15)
        async with self.opened() as dispatcher:
            for n in range(8):
                await dispatcher.submit(f"many {n}", group="many")
            for n in range(2):
                await dispatcher.submit(f"few {n}", group="few")
            async with self.working(attended, concurrency=1):
                await attended.until(lambda: len(attended.sessions) == 10)
        assert {"few 0", "few 1"} <= set(attended.sessions[:6])

    @in_loop
    async def test_of_one_group_no_more_at_once_than_allowed(self) -> None:
        hold = asyncio.Event()
        attended = Attended(hold)
        async with self.opened() as dispatcher:
            for n in range(6):
                await dispatcher.submit(f"many {n}", group="many")
            async with self.working(attended, concurrency=4, per_group=2):
                await attended.until(lambda: len(attended.sessions) == 2)
                await dispatcher.submit("few", group="few")
                await dispatcher.submit("alone")
                await attended.until(lambda: len(attended.sessions) == 4)
                assert {"few", "alone"} <= set(attended.sessions)
                hold.set()
                await attended.until(lambda: len(attended.sessions) == 8)

    @in_loop
    async def test_told_to_stop_it_ends_what_is_under_way_and_takes_no_more(self) -> None:
        hold = asyncio.Event()
        first, second = Attended(hold), Attended()
        async with self.opened() as dispatcher:
            async with self.working(first, concurrency=1) as stop:
                await dispatcher.submit("a")
                await first.until(lambda: first.sessions == ["a"])
                await dispatcher.submit("b")
                stop.set()
                await asyncio.sleep(0)
                hold.set()
            assert first.sessions == ["a"]
            async with self.working(second):
                await second.until(lambda: second.sessions == ["b"])
