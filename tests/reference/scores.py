"""Where the score of a step is, and what a round's outputs come to."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.reference.messages import Message

IN_STRUCTURED_SCORE = ("weighted_score", "weighted_total")
WAYS = ((), *((key,) for key in IN_STRUCTURED_SCORE))
"""A score is a number, or an object that has a weighted one."""


@dataclass(frozen=True)
class Output:
    """What one step of a round emitted; there is at least one message."""

    node_id: str
    messages: list[Message]
    at: tuple[int, int] = (0, 0)
    """Level and place in the file of the item that the step is of, or is in."""


def in_logical_order(outputs: list[Output]) -> list[Output]:
    """By level, then by place; those of one item, an inner loop, stay as they are."""
    return sorted(outputs, key=lambda output: output.at)


def round_value(
    outputs: list[Output], path: tuple[str, ...], node_id: str | None = None
) -> float | None:
    """The score of the last of these outputs that has one; those of other nodes do not count."""
    own = [output.messages[-1] for output in outputs if node_id in (None, output.node_id)]
    return _last(
        [*[spoken_score(message, path) for message in own], *[score_of(m, path) for m in own]]
    )


def score_among(data: dict[str, Any], messages: list[Message]) -> float | None:
    """The score that a `loop` node reads: in its data, in JSON, in plain words."""
    path = ("score",)
    spoken = [spoken_score(message, path) for message in messages]
    in_json = [score_of(replace(message, data={}), path) for message in messages]
    return _last([*spoken, *in_json, score_of(Message("", "", data=data), path)])


def spoken_score(message: Message, path: tuple[str, ...]) -> float | None:
    """The number on the last line `<key>: number`, as the cases write it."""
    found = re.findall(rf"(?im)^{path[-1]}: (\d+(?:\.\d+)?)", message.content)
    return float(found[-1]) if found else None


def _last(scores: list[float | None]) -> float | None:
    return next((score for score in reversed(scores) if score is not None), None)


def round_data(outputs: list[Output]) -> dict[str, Any]:
    """All data of these outputs, later wins."""
    data: dict[str, Any] = {}
    for output in outputs:
        for message in output.messages:
            data |= message.data
    return data


def score_of(message: Message, path: tuple[str, ...]) -> float | None:
    """The score in a message: at the path, else structured, else in JSON inside the text."""
    structured = message.data.get("structured_score")
    places = [_at(message.data, (*path, *inside)) for inside in WAYS]
    places += [_at(structured, (key,)) for key in IN_STRUCTURED_SCORE]
    for each in reversed(list(_objects_in(message.content))):
        places += [_at(each, (*path, *inside)) for inside in WAYS]
    numbers = [number(place) for place in places]
    return next((score for score in numbers if score is not None), None)


def number(value: Any) -> float | None:
    """A finite number, or a text that is one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        parsed = float(value)
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _objects_in(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text that are in no other, fenced or bare, in order."""
    start = text.find("{")
    while start >= 0:
        try:
            found, end = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            end = start + 1
        else:
            yield found
        start = text.find("{", end)
