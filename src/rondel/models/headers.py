"""The headers of what providers answer, for whoever makes the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

Headers = Mapping[str, str]
REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid", "x-goog-request-id")

_listening: ContextVar[dict[str, str] | None] = ContextVar("_listening", default=None)


@contextmanager
def listening() -> Iterator[Headers]:
    """The headers of what is answered to the calls made inside, the last one's."""
    headers: dict[str, str] = {}
    token = _listening.set(headers)
    try:
        yield headers
    finally:
        _listening.reset(token)


def note(headers: Headers) -> None:
    """A provider has answered."""
    heard = _listening.get()
    if heard is not None:
        heard.clear()
        heard.update(headers)


def request_id_in(headers: Headers) -> str:
    """By which name the provider knows the call; empty if it does not say."""
    return next((headers[name] for name in REQUEST_IDS if name in headers), "")
