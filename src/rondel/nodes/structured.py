"""Structured answers: the JSON Schema that they must fit, and the object in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rondel.graph.json_in_text import objects_in
from rondel.models.model import Answer
from rondel.nodes.schema_validator import check_patterns, validator_of

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

SHOWN_ERRORS = 3
LARGE = 10_000
"""Characters from which on an answer is checked in a thread: about 10 ms of work."""

ERROR_CHARACTERS = 300
"""The most characters of one error, which may quote the whole answer."""

NOTHING = "there is no JSON object in it"


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

    async def read_beside(self, answer: Answer) -> dict[str, Any] | Misfit:
        """As `read`, but a large answer is checked in a thread."""
        if len(answer.content) < LARGE and len(repr(answer.data)) < LARGE:
            return self.read(answer)
        return await asyncio.to_thread(self.read, answer)

    def read(self, answer: Answer) -> dict[str, Any] | Misfit:
        """The object of the answer that fits: its data, else the last JSON in its text."""
        said: list[dict[str, Any]] = [answer.data, *reversed(objects_in(answer.content))]
        said = [each for each in said if each]
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
        return validator_of(self.schema)

    def _errors(self, value: dict[str, Any]) -> list[str]:
        errors = sorted(self._validator.iter_errors(value), key=lambda error: error.json_path)
        shown = [_shortened(f"{error.json_path}: {error.message}") for error in errors]
        more = len(shown) - SHOWN_ERRORS
        return [*shown[:SHOWN_ERRORS], *([f"and {more} more"] if more > 0 else [])]


def checked_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, if it is one, of an object, and complete; ValueError if not."""
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    validator: Any = validator_of(schema)
    checker = type(validator)
    try:
        checker.check_schema(schema, format_checker=checker.FORMAT_CHECKER)
    except SchemaError as error:
        place = error.json_path.removeprefix("$").lstrip(".")
        where = f" at {place!r}" if place else ""
        raise ValueError(_shortened(f"is no JSON Schema{where}: {error.message}")) from None
    check_patterns(schema)
    if schema.get("type") != "object":
        raise ValueError("must describe an object (type: object): it becomes the message's data")
    resolver = _resolver_of(schema)
    for reference in _references(schema):
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


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= ERROR_CHARACTERS else f"{text[: ERROR_CHARACTERS - 1]}…"
