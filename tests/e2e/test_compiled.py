"""Compiled or not, the engine does the same."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.plain import compiled_forms, run_as_it_is, run_plain

PROGRAM = ("-m", "tests.e2e.all_examples")


@pytest.fixture(scope="module")
def compiled() -> dict[str, Any]:
    if not compiled_forms():
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop("nothing is compiled; make install says why")
    ran: dict[str, Any] = json.loads(run_as_it_is(*PROGRAM))
    assert not ran["engine"].endswith(".py")
    return ran


def test_every_example_tells_the_same_events_and_ends_the_same(compiled: dict[str, Any]) -> None:
    plain = json.loads(run_plain(*PROGRAM))
    assert plain["engine"].endswith(".py")
    assert len(plain["runs"]) > 10
    for ours, theirs in zip(compiled["runs"], plain["runs"], strict=True):
        assert ours == theirs
