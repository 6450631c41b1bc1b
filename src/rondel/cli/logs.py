"""The logs of servers and workers: one line a record, with session and address."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from rondel.errors import CallError
from rondel.graph.names import Names

FORMATS = ("text", "json")
FIELDS = ("session", "address", "status", "reason")
"""What a record may carry besides its message."""

LogFormat = Annotated[
    str | None,
    typer.Option(
        "--log-format",
        metavar="text|json",
        help="Log what happens, a line a record, to stderr; without it, only what is wrong.",
    ),
]


def log_as(form: str | None) -> None:
    """Log to stderr in that form; without one, warnings and errors as text."""
    if form is not None and form not in FORMATS:
        hint = Names(FORMATS, what="there are").hint(form)
        raise CallError(f"--log-format {form}: there is no such form; {hint}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in ("psycopg", "procrastinate"):  # that the database is away is said once, by us
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if form is not None:
        for name in ("rondel", "uvicorn.error"):
            logging.getLogger(name).setLevel(logging.INFO)


class JsonLines(logging.Formatter):
    """A JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        return json.dumps(_json(record), ensure_ascii=False, default=str)


class TextLines(logging.Formatter):
    """The message, then the record's fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        fields = _json(record)
        time, level, logger = fields.pop("time"), fields.pop("level"), fields.pop("logger")
        head = f"{time} {level} {logger}: {fields.pop('message')}"
        rest = [f"{name}={json.dumps(value, default=str)}" for name, value in fields.items()]
        return " ".join([head.replace("\n", " "), *rest])


def _json(record: logging.LogRecord) -> dict[str, Any]:
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    fields: dict[str, Any] = {
        "time": at.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": record.getMessage().strip(),
    }
    fields |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
    if record.exc_info and record.exc_info[0] is not None:
        fields["error"] = record.exc_info[0].__name__  # what it says may hold a secret
        frames = traceback.extract_tb(record.exc_info[2])
        fields["where"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return fields
