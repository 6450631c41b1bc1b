"""Ticks at hand: told once they are durable, and by the journal where they are not."""

from __future__ import annotations

import asyncio

from rondel.engine.ticks import AnyTick, Paused
from rondel.sessions.tick_buffer import KEPT, TickBuffer


def _tick(number: int) -> AnyTick:
    return Paused(float(number))


async def test_a_tick_is_read_when_it_is_durable_and_not_before() -> None:
    buffer, writing = TickBuffer(10), asyncio.get_running_loop().create_future()
    buffer.add(_tick(10), None)
    buffer.add(_tick(11), writing)
    buffer.add(_tick(12), None)
    assert buffer.read(10, None) == [_tick(10)]
    writing.set_result(None)
    assert buffer.read(11, 12) == [_tick(11)]
    assert buffer.read(9, None) is None


async def test_what_could_not_be_written_is_left_to_the_journal() -> None:
    buffer, writing = TickBuffer(0), asyncio.get_running_loop().create_future()
    buffer.add(_tick(0), writing)
    writing.set_exception(OSError("full"))
    assert buffer.read(0, None) is None


async def test_only_the_newest_are_kept() -> None:
    buffer = TickBuffer(0)
    for number in range(3 * KEPT):
        buffer.add(_tick(number), None)
    assert buffer.read(0, None) is None
    assert buffer.read(2 * KEPT, None) == [_tick(n) for n in range(2 * KEPT, 3 * KEPT)]
