"""Sessions as JSON, for `--json`."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent
from typing import Any

import msgspec

from rondel.graph.moments import to_microsecond
from rondel.journal.store import SessionRow
from rondel.sessions.engine import Engine
from rondel.sessions.session import Session


def row_json(row: SessionRow, driver: str | None) -> dict[str, Any]:
    """What is known of a session without reading its past."""
    return {
        "session_id": row.id,
        "graph_id": row.graph_id,
        "status": row.status,
        "reason": row.reason,
        "driven_by": driver,
        "created_at": to_microsecond(row.created_at),
        "updated_at": to_microsecond(row.updated_at),
        "inputs": row.inputs,
        "parent": row.parent,
        "ticks": row.length,
    }


def session_json(engine: Engine, session: Session) -> dict[str, Any]:
    """All of a session except its steps."""
    result = msgspec.to_builtins(session.snapshot())
    row = row_json(session.row, engine.driver_of(session.id))
    return {**row, **result, "questions": msgspec.to_builtins(session.asking)}


def document(value: Any) -> str:
    """One JSON document, easy to read."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def print_list(values: Iterable[Any], margin: str = "") -> None:
    """Print a JSON list as `document` writes it, value by value: it may be long."""
    before = "["
    for value in values:
        print(f"{before}\n{indent(document(value), f'{margin}  ')}", end="")
        before = ","
    print(f"\n{margin}]" if before == "," else "[]", end="")


def print_with_lists(fields: dict[str, Any], lists: dict[str, Iterable[Any]]) -> None:
    """Print a JSON document whose last fields are long lists."""
    print(document(fields).removesuffix("\n}"), end="")
    for name, values in lists.items():
        print(f',\n  "{name}": ', end="")
        print_list(values, "  ")
    print("\n}")


def driver_text(row: SessionRow, driver: str | None) -> str:
    """The driver of a session as text, and a note if it needs one and has none."""
    return driver or ("nobody" if row.status in ("running", "pending") else "")
