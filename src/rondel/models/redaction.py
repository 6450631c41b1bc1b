"""Secrets do not show: not in errors, not in records."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

HIDDEN = "***"
SHORTEST = 4
"""Shorter texts are no secrets: hiding them would make a message unreadable."""


class Redaction:
    """What must not be read by anybody, and the text without it."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Iterable[str]) -> None:
        found = {secret for secret in secrets if len(secret) >= SHORTEST}
        found |= {quote(secret, safe="") for secret in found}
        self._secrets = sorted(found, key=len, reverse=True)

    def __repr__(self) -> str:
        return f"Redaction({len(self._secrets)})"

    def of(self, text: str) -> str:
        """The text with every secret hidden."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


def secrets_in_url(url: str) -> list[str]:
    """The parts of an address that may be secret: user, password, and what its query says."""
    parts = urlsplit(url)
    values = [value for _, value in parse_qsl(parts.query)]
    return [text for text in (parts.username, parts.password, *values) if text]


def public_url(url: str) -> str:
    """The address without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
