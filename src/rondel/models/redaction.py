"""Hides secrets in errors and records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from pydantic import WrapValidator

from rondel.graph.secrets import COMMON_STEPS, looks_random
from rondel.graph.variables import EnvironmentText

HIDDEN = "***"
SHORTEST = 4
"""The length of the shortest secret: hiding shorter texts would make messages unreadable."""


class Redaction:
    """Holds secrets and replaces them in texts."""

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


def _kept(value: Any, check: Callable[[Any], str]) -> str:
    checked = check(value)
    return EnvironmentText(checked) if isinstance(value, EnvironmentText) else checked


Text = Annotated[str, WrapValidator(_kept)]
"""A text type that keeps through validation whether the value came from the environment."""


def secrets_in_url(url: str) -> list[str]:
    """The parts of an address that may be secret: user, password, query, and steps of its path.

    A path is public, but for steps that look random. One that came from the environment is not.
    """
    parts = urlsplit(url)
    values = [value for _, value in parse_qsl(parts.query)]
    steps = [step for step in parts.path.split("/") if _is_secret_step(url, step)]
    decoded = [unquote(step) for step in steps]
    return [text for text in (parts.username, parts.password, *values, *steps, *decoded) if text]


def public_url(url: str) -> str:
    """The address without user, password, query, and what may be secret in its path."""
    parts = urlsplit(url)
    steps = [HIDDEN if _is_secret_step(url, step) else step for step in parts.path.split("/")]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "/".join(steps), "", ""))


def origin_of(url: str) -> str:
    """The address without its path."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))


def _is_secret_step(url: str, step: str) -> bool:
    if isinstance(url, EnvironmentText):
        return len(step) >= SHORTEST and step.lower() not in COMMON_STEPS
    return looks_random(step)
