"""Times as text are what the standard library reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rondel.graph.moments import to_microsecond, to_millisecond

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(st.integers(0, 2_000_000_000_000_000))
@example(1_999_999)
@example(59_999_999)
def test_a_time_is_read_as_it_was_written(micros: int) -> None:
    assert datetime.fromisoformat(to_microsecond(micros / 1e6)) == EPOCH + timedelta(
        microseconds=micros
    )
    assert datetime.fromisoformat(to_millisecond(micros / 1e6)) == EPOCH + timedelta(
        milliseconds=micros // 1000
    )


@pytest.mark.parametrize(
    ("seconds", "short", "long"),
    [
        (0.0, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000000Z"),
        (1.005, "1970-01-01T00:00:01.005Z", "1970-01-01T00:00:01.005000Z"),
        (0.9999999, "1970-01-01T00:00:01.000Z", "1970-01-01T00:00:01.000000Z"),
    ],
)
def test_how_a_time_reads(seconds: float, short: str, long: str) -> None:
    assert (to_millisecond(seconds), to_microsecond(seconds)) == (short, long)
