"""A validator of JSON Schema that fetches nothing and matches patterns with a time limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rondel.conditions.patterns import pattern_of

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_VALUES = frozenset({"const", "enum", "default", "examples"})
"""Keywords under which there is no schema."""


def validator_of(schema: dict[str, Any]) -> Validator:
    """The validator of the draft that a schema names, or of the newest."""
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

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


def check_patterns(schema: dict[str, Any]) -> None:
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
