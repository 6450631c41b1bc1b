"""Runs every example and prints what came of it, as JSON: a program, to be run by either engine."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from rondel.cli import main
from rondel.engine.core import fold

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[0-9]*_*"))
OF_THE_MOMENT = {"timestamp", "session_id", "elapsed", "duration", "seconds", "at", "id"}
"""Fields that no two runs have in common."""


def runs() -> Iterator[dict[str, Any]]:
    for example in EXAMPLES:
        expected = json.loads((example / "expected.json").read_text("utf-8"))
        file = example / expected.get("file", "graph.yaml")
        for run in expected["runs"]:
            yield {"example": example.name, **outcome(file, run)}


def outcome(file: Path, run: dict[str, Any]) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    stdin = io.StringIO(run.get("stdin", ""))
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch("sys.stdin", stdin),
    ):
        code = main(["run", str(file), *run["args"], "--json"])
    events = [lasting(json.loads(line)) for line in out.getvalue().splitlines()]
    return {
        "code": code,
        "events": events,
        "told": re.sub(r"\b[0-9a-f]{16}\b", "…", err.getvalue()),
    }


def lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in OF_THE_MOMENT}
    return [lasting(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    json.dump({"engine": fold.__file__, "runs": [*runs()]}, sys.stdout)
