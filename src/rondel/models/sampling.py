"""Plausible values for a JSON Schema, the same for the same random numbers.

All values of an object are in one mood, from 0 (bad) to 1 (good): a high score goes with yes, true
and a high confidence. So what is made up agrees with itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

GOOD = 0.6
"""The mood from which an answer is yes."""

DEPTH = 6
"""The depth to which optional parts are filled; a schema may refer to itself."""

SPREAD = 0.15
"""The most by which the mood of an item may differ from that of its list."""

YES = frozenset({"yes", "true", "pass", "passed", "approve", "approved", "accept", "accepted"})
NO = frozenset({"no", "false", "fail", "failed", "reject", "rejected", "revise"})

ADDRESSES = frozenset({"source", "sources", "url", "urls", "link", "links"})
"""Properties that hold addresses, though their schema does not say so."""

FORMATS = {
    "date": "2026-01-{day:02}",
    "date-time": "2026-01-{day:02}T09:30:00Z",
    "time": "09:{day:02}:00Z",
    "duration": "P{day}D",
    "email": "reader{day}@example.org",
    "hostname": "host{day}.example.org",
    "ipv4": "192.0.2.{day}",
    "ipv6": "2001:db8::{day}",
    "uri": "https://example.org/{day}",
    "uuid": "00000000-0000-4000-8000-0000000000{day:02}",
}

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sampler:
    """Fills schemas; `score` is the value of properties of that name, if it is set."""

    root: Schema
    rng: Random
    mood: float
    sentence: Callable[[], str]
    score: float | None = None

    def filled(self) -> dict[str, Any]:
        """An object that fits the schema, as far as it can be made up."""
        value = self._value(self.root, "", 0)
        return value if isinstance(value, dict) else {}

    def _value(self, schema: Any, name: str, depth: int) -> Any:
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._choice(schema["enum"])
        kind = self._kind(schema)
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "boolean":
                return self.mood >= GOOD
            case "integer" | "number":
                return self._number(schema, name, whole=kind == "integer")
            case "null":
                return None
        return self._text(schema, name)

    def _resolved(self, schema: Any) -> dict[str, Any]:
        """The schema with its reference resolved and one of its alternatives chosen."""
        found: dict[str, Any] = dict(schema) if isinstance(schema, Mapping) else {}
        for _ in range(DEPTH):
            if isinstance(reference := found.pop("$ref", None), str):
                found = {**self._referred(reference), **found}
            elif parts := found.pop("allOf", None):
                for part in parts:
                    found = _merged(found, self._resolved(part))
            elif ways := found.pop("anyOf", None) or found.pop("oneOf", None):
                real = [way for way in ways if not _is_null(way)]
                found = _merged(found, self._resolved((real or ways)[0]))
            else:
                break
        return found

    def _referred(self, reference: str) -> dict[str, Any]:
        at: Any = self.root
        for step in filter(None, reference.removeprefix("#").split("/")):
            key = step.replace("~1", "/").replace("~0", "~")
            at = at.get(key) if isinstance(at, Mapping) else None
        return dict(at) if isinstance(at, Mapping) else {}

    def _kind(self, schema: Schema) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), "null")
        if isinstance(kind, str):
            return kind
        if "properties" in schema:
            return "object"
        return "array" if "items" in schema else "string"

    def _choice(self, options: Sequence[Any]) -> Any:
        """One of the options; of yes and no, the one that fits the mood."""
        yes = [each for each in options if str(each).casefold() in YES]
        no = [each for each in options if str(each).casefold() in NO]
        if yes and no:
            return (yes if self.mood >= GOOD else no)[0]
        return self.rng.choice(list(options))

    def _object(self, schema: Schema, depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = schema.get("required") or ()
        names = [name for name in properties if depth < DEPTH or name in required]
        names += [name for name in required if name not in properties]
        if depth > 2 * DEPTH:
            return {}
        return {name: self._value(properties.get(name, {}), name, depth + 1) for name in names}

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        places = list(schema.get("prefixItems") or ())
        least = int(schema.get("minItems", 0 if depth >= DEPTH else 2))
        most = int(schema.get("maxItems", max(least, 0 if depth >= DEPTH else 3)))
        size = self.rng.randint(min(least, most), most)
        items = schema.get("items", {})
        values: list[Any] = []
        for place in range(max(size, len(places))):
            made = self._item(places[place] if place < len(places) else items, name, depth)
            for _ in range(DEPTH if schema.get("uniqueItems") else 0):
                if made not in values:
                    break
                made = self._item(items, name, depth)
            values.append(made)
        return values

    def _item(self, schema: Any, name: str, depth: int) -> Any:
        """An item of a list, with a mood near that of the list."""
        mood = min(1.0, max(0.0, self.mood + self.rng.uniform(-SPREAD, SPREAD)))
        return replace(self, mood=mood)._value(schema, name, depth + 1)

    def _number(self, schema: Schema, name: str, *, whole: bool) -> int | float:
        low, high = _bounds(schema, whole=whole)
        if name == "score" and self.score is not None and low <= self.score <= high:
            value = self.score
        elif math.isinf(low) and math.isinf(high):
            value = max(1, math.floor(10 * self.mood))
        else:
            low, high = _likely(low, high)
            value = low + (high - low) * self.mood
        step = schema.get("multipleOf") or (1 if whole else 0)
        if step:
            value = _multiple(value, step, low, high)
        elif low <= round(value, 2) <= high:
            value = round(value, 2)
        return int(value) if float(value).is_integer() else value

    def _text(self, schema: Schema, name: str) -> str:
        for known in (schema.get("default"), *(schema.get("examples") or ())):
            if isinstance(known, str):
                return known
        least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
        kind = schema.get("format", "uri" if name.casefold() in ADDRESSES else "")
        if pattern := FORMATS.get(kind):
            text = pattern.format(day=self.rng.randint(1, 28))
            if least <= len(text) and (most is None or len(text) <= most):
                return text
        text = self.sentence()
        while len(text) < least:
            text = f"{text} {self.sentence()}"
        return text if most is None or len(text) <= most else _cut(text, least, int(most))


def _cut(text: str, least: int, most: int) -> str:
    """The text cut to the allowed length, without white space at its end."""
    return text[:most].rstrip().ljust(min(max(least, 1), most), "x")


def _merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both schemas in one: properties and requirements of both."""
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _bounds(schema: Schema, *, whole: bool) -> tuple[float, float]:
    low = float(schema.get("minimum", -math.inf))
    high = float(schema.get("maximum", math.inf))
    nudge = 1.0 if whole else 1e-6
    if (above := schema.get("exclusiveMinimum")) is not None:
        low = max(low, above + nudge)
    if (below := schema.get("exclusiveMaximum")) is not None:
        high = min(high, below - nudge)
    return low, high


def _multiple(value: float, step: float, low: float, high: float) -> float:
    """The multiple of `step` next to the value, within the bounds."""
    times = round(value / step)
    if not math.isinf(low):
        times = max(times, math.ceil(low / step))
    if not math.isinf(high):
        times = min(times, math.floor(high / step))
    return times * step


def _likely(low: float, high: float) -> tuple[float, float]:
    """The range of a number, also if only one end is set."""
    if math.isinf(high):
        return low, low + 10
    if math.isinf(low):
        return min(0.0, high - 10), high
    return low, high
