"""Limits that hold whatever the order of events: calls at once, calls in any minute."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel.models.headers import KINDS, NAMES, seconds_of
from rondel.models.limiter import MINUTE, Limiter

HEADERS = [
    name.format(what, kind)
    for name in NAMES
    for what in ("limit", "remaining", "reset")
    for kind in KINDS
]
VALUES = ["0", "1", "0.5", "10", "1e9", "inf", "nan", "-1", "1s", "20ms", "9h", "6m0s"]


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


async def test_a_lower_limit_waits_for_room_of_its_own() -> None:
    limiter, inside, most_seen = Limiter(), 0, 0

    async def call(most: int, modest: bool) -> None:
        nonlocal inside, most_seen
        async with limiter.slot(most, None):
            inside += 1
            if modest:
                most_seen = max(most_seen, inside)
            await asyncio.sleep(0.001)
            inside -= 1

    await asyncio.gather(*(call(2 if n % 3 == 0 else 5, n % 3 == 0) for n in range(30)))
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


async def test_a_provider_that_says_what_it_takes_gets_no_more() -> None:
    now, starts = 0.0, []

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        await asyncio.sleep(0)

    limiter = Limiter(lambda: now, sleep)

    async def call() -> None:
        async with limiter.slot(1, None):
            starts.append(round(now, 3))

    await call()
    limiter.told(
        {
            "x-ratelimit-limit-requests": "10",
            "x-ratelimit-remaining-requests": "2",
            "x-ratelimit-reset-requests": "4s",
        }
    )
    for _ in range(4):
        await call()
    assert starts[:3] == [0.0, 0.0, 0.0]  # two were left
    assert starts[3] > 0.3  # eight more within four seconds
    assert starts[4] - starts[3] > 0.3


def test_one_that_has_no_tokens_left_is_left_alone_until_it_has() -> None:
    now, started = 100.0, 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    limiter = Limiter(lambda: now, sleep)
    limiter.told(
        {
            "anthropic-ratelimit-input-tokens-limit": "50000",
            "anthropic-ratelimit-input-tokens-remaining": "0",
            "anthropic-ratelimit-input-tokens-reset": "7",
            "anthropic-ratelimit-requests-limit": "50",
            "anthropic-ratelimit-requests-remaining": "49",
            "anthropic-ratelimit-requests-reset": "1",
        }
    )

    async def main() -> None:
        nonlocal started
        async with limiter.slot(1, None):
            started = now

    asyncio.run(main())
    assert started == 107.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("1h2m3.5s", 3600.0),
        ("7", 7.0),
        ("2000-01-01T00:00:00Z", 0.0),
        ("soon", None),
        ("", None),
        ("-3", None),
        ("nan", None),
    ],
)
def test_how_long_it_takes_is_read_in_every_spelling(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@given(st.dictionaries(st.sampled_from(HEADERS), st.sampled_from(VALUES) | st.text(max_size=12)))
def test_whatever_headers_say_nobody_waits_for_ever(headers: dict[str, str]) -> None:
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        assert 0 < seconds <= 3600
        now += seconds

    limiter = Limiter(lambda: now, sleep)
    limiter.told(headers)

    async def main() -> None:
        for _ in range(20):
            async with limiter.slot(1, None):
                pass

    asyncio.run(main())


async def test_who_waits_is_told_for_how_long() -> None:
    now, told = 100.0, list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    limiter = Limiter(lambda: now, sleep)
    limiter.hold(7)
    for _ in range(2):
        async with limiter.slot(1, 1, waits=told.append):
            pass
    assert told == [7, MINUTE]
