"""The pages read what the server sends: their types are made from its OpenAPI document."""

from __future__ import annotations

import difflib

from web_types import TYPES, generated


def test_the_types_of_the_pages_are_those_of_the_openapi_document() -> None:
    committed, current = TYPES.read_text("utf-8"), generated()
    difference = difflib.unified_diff(
        committed.splitlines(), current.splitlines(), "committed", "the server's", lineterm=""
    )
    assert committed == current, "run `make web-types`:\n" + "\n".join(difference)
