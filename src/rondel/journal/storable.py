"""Checks without encoding that a journal can hold a tick; only doubtful ticks are encoded.

It is compiled, because a session in memory makes this check for every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any, Final

import msgspec

from rondel.engine import message as messages
from rondel.engine.message import Message
from rondel.engine.protocols import Verdict
from rondel.engine.ticks import AnyTick, Finished

FINISHED: Final = Finished
NO_DATA: Final = messages.NO_DATA
UNSET: Final = msgspec.UNSET
"""Local names, which compiled code finds faster."""

DEEPEST: Final = 16
"""Data that nests deeper than this is left to the encoder."""


class Ticks:
    """The ticks of a session in memory; `encode` raises for a tick that a file could not hold."""

    __slots__ = ("_encode", "_ticks")

    def __init__(self, ticks: list[AnyTick], encode: Callable[[AnyTick], bytes]) -> None:
        self._ticks: list[AnyTick] = ticks
        self._encode: Callable[[AnyTick], bytes] = encode

    def append(self, tick: AnyTick) -> None:
        """Add a tick; raises if a file could not hold it."""
        if not (isinstance(tick, FINISHED) and _is_plain_step(tick)):
            self._encode(tick)
        self._ticks.append(tick)


def _is_plain_step(tick: Finished) -> bool:
    verdict = tick.verdict
    if tick.altered or (verdict is not None and not _is_plain_verdict(verdict)):
        return False
    for message in tick.messages:
        if not _is_plain_message(message):
            return False
    if tick.state is not UNSET and not _is_plain((tick.state,), 0):
        return False
    return tick.report is None or _is_plain((tick.report,), 0)


def _is_plain_message(message: Message) -> bool:
    content: object = message.content
    if type(content) is not str or not content.isascii():
        return False
    data = message.data
    return data is NO_DATA or (type(data) is dict and _is_plain_data(data, 1))


def _is_plain_verdict(said: Verdict) -> bool:
    figures = (said.reason, said.goal_met, said.value, said.threshold, said.score, said.target)
    return type(said.own) is bool and _is_plain(figures, 0)


def _is_plain(values: Iterable[Any], depth: int) -> bool:
    """Whether all values are plain data; False in doubt."""
    return all(_is_plain_value(value, depth) for value in values)


def _is_plain_data(data: dict[Any, Any], depth: int) -> bool:
    for key, value in data.items():
        if type(key) is not str or not key.isascii() or not _is_plain_value(value, depth):
            return False
    return True


def _is_plain_value(value: Any, depth: int) -> bool:
    kind = type(value)
    if kind is str:
        return bool(value.isascii())
    if kind is int or kind is bool or value is None:
        return True
    if kind is float:
        return isfinite(value)
    if depth == DEEPEST:
        return False
    if kind is dict:
        return _is_plain_data(value, depth + 1)
    return (kind is list or kind is tuple) and _is_plain(value, depth + 1)
