"""Checks without encoding that a journal can hold a tick; only doubtful ticks are encoded.

It is compiled, because a session in memory makes this check for every step.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Final

import msgspec
from mypy_extensions import mypyc_attr

from rondel.engine import message as messages
from rondel.engine.ticks import AnyTick, Finished

FINISHED: Final = Finished
NO_DATA: Final = messages.NO_DATA
UNSET: Final = msgspec.UNSET
"""Local names, which compiled code finds faster."""


@mypyc_attr(acyclic=True)
class Ticks:
    """The ticks of a session in memory; `encode` raises for a tick that a file could not hold."""

    __slots__ = ("_encode", "_ticks")

    def __init__(self, ticks: list[AnyTick], encode: Callable[[AnyTick], bytes]) -> None:
        self._ticks: list[AnyTick] = ticks
        self._encode: Callable[[AnyTick], bytes] = encode

    def append(self, tick: AnyTick) -> None:
        """Add a tick; raises if a file could not hold it."""
        if not (isinstance(tick, FINISHED) and _is_plain(tick)):
            self._encode(tick)
        self._ticks.append(tick)


def _is_plain(tick: Finished) -> bool:
    """Whether a step said nothing but ASCII text and flat data, as most do."""
    if tick.altered or tick.state is not UNSET or tick.report or tick.verdict is not None:
        return False
    for message in tick.messages:
        content: object = message.content
        if type(content) is not str or not content.isascii():
            return False
        data = message.data
        if data is not NO_DATA and not (type(data) is dict and _is_flat(data)):
            return False
    return True


def _is_flat(data: dict[Any, Any]) -> bool:
    for key, value in data.items():
        if type(key) is not str or not key.isascii():
            return False
        kind = type(value)
        if kind is str:
            if not value.isascii():
                return False
        elif kind is float:
            if not isfinite(value):
                return False
        elif not (kind is int or kind is bool or value is None):
            return False
    return True
