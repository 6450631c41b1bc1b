"""Waits grow, vary, honour what the provider asks, and end."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rondel.models.tries import LONGEST, TOTAL, Backoff

seconds = st.floats(0, 200)


@given(
    attempts=st.integers(1, 10),
    base=st.floats(0, 10),
    failed=st.integers(1, 12),
    asked=st.none() | seconds,
    waited=seconds,
    seed=st.integers(),
)
def test_a_wait_is_within_its_bounds(
    attempts: int, base: float, failed: int, asked: float | None, waited: float, seed: int
) -> None:
    pause = Backoff(attempts, base).wait(failed, asked, waited, Random(seed))
    if failed >= attempts:
        assert pause is None
    elif pause is not None:
        assert waited + pause <= TOTAL
        if asked is None:
            assert 0 <= pause <= min(LONGEST, base * 2 ** (failed - 1))
        else:
            assert asked <= pause <= asked + base
    else:
        assert waited + (asked or 0) + min(LONGEST, base * 2 ** (failed - 1)) > TOTAL


def test_waits_differ_so_that_callers_do_not_come_back_together() -> None:
    backoff = Backoff(4, 1.0)
    assert len({backoff.wait(1, None, 0, Random(seed)) for seed in range(20)}) == 20
