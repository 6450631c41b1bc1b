"""The inputs of a session."""

from __future__ import annotations

from typing import Any

from rondel.errors import CallError, Unstorable
from rondel.graph.surrogates import whole
from rondel.journal.codec import decode_value, encode_value

Inputs = str | dict[str, Any] | None


def as_inputs(inputs: Inputs) -> dict[str, Any]:
    """The inputs as a JSON object; raises CallError if they are none."""
    if inputs is None:
        return {}
    if isinstance(inputs, str):
        return {"task": whole(inputs)}
    if isinstance(inputs, dict):
        try:
            own: dict[str, Any] = decode_value(encode_value(inputs, "the inputs"))
        except Unstorable as error:
            raise CallError(str(error)) from error
        return own
    name = type(inputs).__name__
    raise CallError(f"inputs must be a text or a JSON object, not {name}")
