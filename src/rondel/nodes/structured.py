"""Structured answers: the JSON Schema that they must fit, and the object in them.

The validator fetches nothing and matches patterns with a time limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rondel.conditions.patterns import pattern_of
from rondel.graph.source import values_in
from rondel.models.model import ModelAnswer

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

SHOWN_ERRORS = 3
LARGE = 10_000
"""Characters from which on an answer is checked in a thread: about 10 ms of work."""

ERROR_CHARACTERS = 300
"""The most characters of one error, which may quote the whole answer."""

NOTHING = "there is no JSON object in it"


_VALUES = frozenset({"const", "enum", "default", "examples"})
"""Keywords under which there is no schema."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why an answer does not fit: the first errors, each with its place."""

    errors: Sequence[str]

    @property
    def correction(self) -> str:
        """The errors as a message to the model."""
        return (
            "This answer does not fit the JSON Schema that was asked for: "
            f"{'; '.join(self.errors)}. Answer again with exactly one JSON object that fits it, "
            "and nothing else."
        )


@dataclass(frozen=True)
class AnswerSchema:
    """The schema of an agent's answers; its `schema` has passed `checked_schema`."""

    schema: dict[str, Any]

    async def read_beside(self, answer: ModelAnswer) -> dict[str, Any] | Misfit:
        """As `read`, but a large answer is checked in a thread."""
        if len(answer.content) < LARGE and len(repr(answer.data)) < LARGE:
            return self.read(answer)
        return await asyncio.to_thread(self.read, answer)

    def read(self, answer: ModelAnswer) -> dict[str, Any] | Misfit:
        """The object of the answer that fits: its data, else the last JSON in its text."""
        said = [each for each in answer.objects if each]
        for each in said:
            if self._validator.is_valid(each):
                return each
        if not said:
            empty: dict[str, Any] = {}
            is_said = "{" in answer.content and self._validator.is_valid(empty)
            return empty if is_said else Misfit([NOTHING])
        return Misfit(self._errors(said[0]))

    @cached_property
    def _validator(self) -> Validator:
        return _validator_of(self.schema)

    def _errors(self, value: dict[str, Any]) -> list[str]:
        errors = sorted(self._validator.iter_errors(value), key=lambda error: error.json_path)
        shown = [_shortened(f"{error.json_path}: {error.message}") for error in errors]
        more = len(shown) - SHOWN_ERRORS
        return [*shown[:SHOWN_ERRORS], *([f"and {more} more"] if more > 0 else [])]


def checked_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, if it is one, of an object, and complete; ValueError if not."""
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    validator: Any = _validator_of(schema)
    checker = type(validator)
    try:
        checker.check_schema(schema, format_checker=checker.FORMAT_CHECKER)
    except SchemaError as error:
        place = error.json_path.removeprefix("$").lstrip(".")
        where = f" at {place!r}" if place else ""
        raise ValueError(_shortened(f"is no JSON Schema{where}: {error.message}")) from None
    _check_patterns(schema)
    if schema.get("type") != "object":
        raise ValueError("must describe an object (type: object): it becomes the message's data")
    resolver = _resolver_of(schema)
    inside = [each.get("$ref") for each in values_in(schema) if isinstance(each, dict)]
    for reference in [each for each in inside if isinstance(each, str)]:
        try:
            resolver.lookup(reference)
        except Unresolvable:
            raise ValueError(
                f"has a $ref {reference!r} that leads nowhere; refer to $defs in the schema itself"
            ) from None
    return schema


def _resolver_of(schema: dict[str, Any]) -> Any:
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    from referencing import Resource
    from referencing.jsonschema import DRAFT202012

    resource: Any = Resource.from_contents(schema, default_specification=DRAFT202012)
    return REGISTRY.resolver_with_root(resource)


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= ERROR_CHARACTERS else f"{text[: ERROR_CHARACTERS - 1]}…"


def _validator_of(schema: dict[str, Any]) -> Validator:
    """The validator of the draft that a schema names, or of the newest."""
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from jsonschema_specifications import REGISTRY

    kind: Any = validator_for(schema, default=Draft202012Validator)
    own = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    extended: Any = extend
    safe = extended(kind, {name: own[name] for name in own if name in kind.VALIDATORS})
    validator: Validator = safe(
        _in_one_draft(schema), registry=REGISTRY, format_checker=kind.FORMAT_CHECKER
    )
    return validator


def _check_patterns(schema: dict[str, Any]) -> None:
    """Raise for a pattern that cannot be matched in bounded time."""
    names = set(_keywords(schema))
    if {"unevaluatedProperties", "patternProperties"} <= names:
        raise ValueError(
            "has both patternProperties and unevaluatedProperties, which cannot be checked in "
            "bounded time; use additionalProperties"
        )


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and not pattern_of(pattern).found_in(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, properties: dict[str, Any], instance: Any, _schema: Any
) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, inner in properties.items():
        for key, value in instance.items():
            if pattern_of(pattern).found_in(key):
                yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: dict[str, Any]
) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "object"):
        return
    known = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    extras = [
        key
        for key in instance
        if key not in known and not any(pattern_of(each).found_in(key) for each in patterns)
    ]
    if validator.is_type(allowed, "object"):
        for key in extras:
            yield from validator.descend(instance[key], allowed, path=key)
    elif not allowed and extras:
        names = ", ".join(map(repr, sorted(extras)))
        were = "was" if len(extras) == 1 else "were"
        yield ValidationError(f"Additional properties are not allowed ({names} {were} unexpected)")


def _in_one_draft(schema: Any) -> Any:
    """The schema without `$schema`, at which a validator would go back to the library's own."""
    if isinstance(schema, list):
        return [_in_one_draft(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value if key in _VALUES else _in_one_draft(value)
        for key, value in schema.items()
        if not (key == "$schema" and isinstance(value, str))
    }


def _keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _keywords(each)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            if key not in _VALUES:
                yield from _keywords(value)
