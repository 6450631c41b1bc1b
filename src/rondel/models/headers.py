"""Passes the response headers of a provider to the caller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Headers = Mapping[str, str]
REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id")

_listening: ContextVar[dict[str, str] | None] = ContextVar("_listening", default=None)


@contextmanager
def listening() -> Iterator[Headers]:
    """Collects the response headers of calls made inside; those of the last call stay."""
    headers: dict[str, str] = {}
    token = _listening.set(headers)
    try:
        yield headers
    finally:
        _listening.reset(token)


def note(headers: Headers) -> None:
    """Keep the headers of a response."""
    heard = _listening.get()
    if heard is not None:
        heard.clear()
        heard.update(headers)


def request_id_in(headers: Headers) -> str:
    """The provider's id of the request; empty if it gives none."""
    return next((headers[name] for name in REQUEST_IDS if name in headers), "")
