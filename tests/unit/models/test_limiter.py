"""Limits that hold whatever the order of events: calls at once, calls in any minute."""

from __future__ import annotations

import asyncio
import random
import threading

from hypothesis import given, settings
from hypothesis import strategies as st

from rondel.models.limiter import MINUTE, Limiter


@settings(max_examples=60, deadline=None)
@given(
    limits=st.lists(st.integers(1, 4), min_size=1, max_size=20),
    cancelled=st.sets(st.integers(0, 19)),
    seed=st.integers(0, 1000),
)
def test_nobody_is_inside_beyond_its_own_limit_and_everybody_gets_in(
    limits: list[int], cancelled: set[int], seed: int
) -> None:
    limiter, inside, served = Limiter(), 0, []
    rng = random.Random(seed)

    async def call(number: int, most: int) -> None:
        nonlocal inside
        async with limiter.slot(most, None):
            inside += 1
            try:
                assert inside <= max(limits)
                for _ in range(rng.randrange(4)):
                    await asyncio.sleep(0)
                served.append(number)
            finally:
                inside -= 1

    async def main() -> None:
        tasks = [asyncio.create_task(call(*pair)) for pair in enumerate(limits)]
        await asyncio.sleep(0)
        for number in cancelled & set(range(len(limits))):
            tasks[number].cancel()
            await asyncio.sleep(0)
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20)
        async with asyncio.timeout(20), limiter.slot(1, None):
            pass

    asyncio.run(main())
    assert set(range(len(limits))) - cancelled <= set(served)


def test_a_lower_limit_waits_for_room_of_its_own() -> None:
    limiter, inside, most_seen = Limiter(), 0, 0

    async def call(most: int, modest: bool) -> None:
        nonlocal inside, most_seen
        async with limiter.slot(most, None):
            inside += 1
            if modest:
                most_seen = max(most_seen, inside)
            await asyncio.sleep(0.001)
            inside -= 1

    async def main() -> None:
        await asyncio.gather(*(call(2 if n % 3 == 0 else 5, n % 3 == 0) for n in range(30)))

    asyncio.run(main())
    assert most_seen <= 2


def test_event_loops_in_several_threads_share_a_limit() -> None:
    limiter, lock = Limiter(), threading.Lock()
    inside, most_inside = 0, 0

    async def call() -> None:
        nonlocal inside, most_inside
        async with limiter.slot(3, None):
            with lock:
                inside += 1
                most_inside = max(most_inside, inside)
            await asyncio.sleep(0.002)
            with lock:
                inside -= 1

    async def main() -> None:
        await asyncio.gather(*(call() for _ in range(20)))

    threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert 0 < most_inside <= 3


@settings(deadline=None)
@given(
    per_minute=st.integers(1, 5),
    gaps=st.lists(st.floats(0, 40), min_size=1, max_size=25),
)
def test_no_minute_has_more_starts_than_allowed(per_minute: int, gaps: list[float]) -> None:
    now, starts = 0.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    async def main() -> None:
        nonlocal now
        limiter = Limiter(clock=lambda: now, sleep=sleep)
        for gap in gaps:
            now += gap
            async with limiter.slot(1, per_minute):
                starts.append(now)

    asyncio.run(main())
    for place, start in enumerate(starts[per_minute:]):
        assert start - starts[place] >= MINUTE - 1e-6
