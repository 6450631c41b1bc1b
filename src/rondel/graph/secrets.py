"""Secrets in a document: taken out before it is stored, put back before it runs.

What a graph file holds of keys (an `api_key`, the environment and headers of a tool's server, user
and password of an address, parameters named like one) becomes a variable without a value. A stored
graph finds it in the environment, or in the file when that is handed over again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rondel.graph.source import Path
from rondel.graph.variables import ADDRESS, REFERENCE

PREFIX = "RONDEL_SECRET_"
SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secret|password|passwd|pwd|credentials?|auth|authorization"
    r"|cookie|sig|signature)$",
    re.IGNORECASE,
)
SCHEMES = re.compile(r"\b(?:bearer|basic|token|apikey)\b", re.IGNORECASE)
USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")
QUERY = re.compile(r"(?<=[?&])([^=&#]+)=([^&#]+)")
STEP = re.compile(r"(?<=/)[^/?#\s]+")
RANDOM = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9][\w+/=.~-]{11,}", re.ASCII)
"""Matches text that looks random: long, letters and digits, neither a path nor a sentence."""

COMMON_STEPS = frozenset(
    {
        "api",
        "chat",
        "compatible-mode",
        "completions",
        "deployments",
        "engines",
        "gateway",
        "inference",
        "invoke",
        "messages",
        "models",
        "openai",
        "paas",
        "responses",
        "rest",
        "services",
        "stream",
        "webhook",
        "webhooks",
    }
)
"""Common parts of the paths of addresses; never secret."""

SHORTEST = 8
"""Text beside a reference is a secret from this length on; `sk-` and `Bearer` are shorter."""

OPAQUE = frozenset({"answers", "rules", "output_schema", "code"})
"""Keys whose content is what nodes say and do, never a setting."""

HIDDEN = {"mcp": ("env", "headers"), "params": ("extra_headers",)}
"""The paths of mappings in which every value is secret."""

Values = Mapping[str, Any]
"""Secrets by the name of the variable that stands for them, as they were written."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A document without its secrets, and the secrets."""

    document: Any
    secrets: Values = field(default_factory=dict, repr=False)


def looks_secret(name: str) -> bool:
    """Whether what has this name is likely a secret."""
    return SECRET_NAME.search(name) is not None


def looks_random(text: str) -> bool:
    """Whether a text looks like a key that a machine has made."""
    return RANDOM.fullmatch(text) is not None


def may_be_unset(path: Path, name: str) -> bool:
    """Whether a variable at that path is a key or an address, which only a run needs."""
    apart = ("api_key", "base_url", "url", "env", "headers", "extra_headers")
    return any(step in apart for step in path) or (
        looks_secret(name) or ADDRESS.search(name) is not None
    )


def seal(document: Any, known: Values | None = None) -> Sealed:
    """The document without its secrets; names in `known` are already used for other documents."""
    if not isinstance(document, dict):
        return Sealed(document)
    return _Sealer(document, known or {}).run()


def unseal(document: Any, secrets: Values) -> Any:
    """The document with its secrets among its variables; sealing it again gives it back."""
    if not secrets or not isinstance(document, dict):
        return document
    return {**document, "vars": {**(document.get("vars") or {}), **secrets}}


@dataclass(frozen=True, slots=True)
class Stored:
    """A graph as a session keeps it, and the secrets in it, which nobody keeps.

    `secrets` are by the file they are in; the graph's own are under no name.
    """

    document: dict[str, Any]
    includes: dict[str, Any]
    secrets: Mapping[str, Values]

    @property
    def names(self) -> list[str]:
        """The variables that stand for the secrets."""
        return sorted({name for values in self.secrets.values() for name in values})

    @classmethod
    def of(cls, document: dict[str, Any], includes: Mapping[str, Any]) -> Stored:
        """What is stored of a document and of those that it includes."""
        sealed = seal(document)
        secrets = {"": sealed.secrets} if sealed.secrets else {}
        known = dict(sealed.secrets)
        kept = {}
        for file, included in includes.items():
            inner = seal(included, known)
            kept[file] = inner.document
            if inner.secrets:
                secrets[file] = inner.secrets
                known |= inner.secrets
        return cls(sealed.document, kept, secrets)

    def unsealed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The document and what it includes, with their secrets as far as they are known."""
        includes = {
            file: unseal(document, self.secrets.get(file, {}))
            for file, document in self.includes.items()
        }
        return unseal(self.document, self.secrets.get("", {})), includes


class _Sealer:
    """Walks one document; what holds no secret is shared with the original."""

    def __init__(self, document: dict[str, Any], known: Values) -> None:
        self.document = document
        declared = document.get("vars")
        self.vars: dict[str, Any] = dict(declared) if isinstance(declared, dict) else {}
        self.known = known
        self.secrets: dict[str, Any] = {}
        self.seen: set[str] = set()

    def run(self) -> Sealed:
        body = {key: value for key, value in self.document.items() if key != "vars"}
        new = self._walk(body, (), "")
        for name, value in list(self.vars.items()):
            if looks_secret(str(name)) and _is_like_a_key(value):
                self._hide_variable(str(name))
        if not self.secrets:
            return Sealed(self.document)
        if self.vars:
            new = {**new, "vars": self.vars}
        return Sealed(new, self.secrets)

    def _walk(self, value: Any, path: tuple[str, ...], inside: str) -> Any:
        if isinstance(value, list):
            items = [self._walk(item, path, inside) for item in value]
            return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
        if not isinstance(value, dict):
            return value
        if "config" in value and isinstance(value.get("id"), str):
            path = (value["id"],)
        new = {key: self._field(str(key), item, path, inside) for key, item in value.items()}
        return new if any(new[key] is not value[key] for key in value) else value

    def _field(self, key: str, value: Any, path: tuple[str, ...], inside: str) -> Any:
        place = path if key == "config" else (*path, key)
        if key in OPAQUE:
            return value
        if isinstance(value, dict) and key in HIDDEN.get(inside, ()):
            new = {name: self._whole(item, (*place, str(name))) for name, item in value.items()}
            return new if any(new[name] is not value[name] for name in value) else value
        if isinstance(value, dict | list):
            return self._walk(value, place, key if key in HIDDEN else inside)
        if key == "api_key" or (inside == "params" and looks_secret(key)):
            return self._whole(value, place)
        if isinstance(value, str) and (key == "base_url" or (inside == "mcp" and key == "url")):
            return self._address(value, place)
        return value

    # Kinds of secrets

    def _whole(self, value: Any, place: tuple[str, ...]) -> Any:
        """A value that is secret as a whole; if it is made of references, their values are."""
        if value is None or value == "" or isinstance(value, dict | list):
            return value
        for name in _references(value):
            self._hide_variable(name)
        return f"${{{self._named(value, place)}}}" if _has_literal(value) else value

    def _address(self, text: str, place: tuple[str, ...]) -> str:
        """An address, of which user, password and keys in the query are secret."""
        text = USER.sub(lambda found: str(self._whole(found[0], place)), text)
        text = QUERY.sub(lambda found: self._query(found[1], found[2], place), text)
        for name in _references(text):
            declared = self.vars.get(name)
            if not isinstance(declared, str) or name in self.seen:
                continue
            if any(map(looks_random, STEP.findall(declared))):
                self._hide_variable(name)
            else:
                self.seen.add(name)
                self.vars[name] = self._address(declared, (name,))
        return text

    def _query(self, name: str, value: str, place: tuple[str, ...]) -> str:
        return f"{name}={self._whole(value, (*place, name)) if looks_secret(name) else value}"

    def _hide_variable(self, name: str) -> None:
        """Hide the value of a variable, and those of the variables it refers to."""
        if name not in self.vars or name in self.seen:
            return
        self.seen.add(name)
        value = self.vars[name]
        for other in _references(value):
            self._hide_variable(other)
        if _has_literal(value):
            self.secrets[name] = self.vars.pop(name)

    def _named(self, value: Any, place: tuple[str, ...]) -> str:
        """The variable that stands for a secret; the same for the same secret."""
        hidden = {**self.known, **self.secrets}
        for name, other in hidden.items():
            if name.startswith(PREFIX) and other == value:
                self.secrets[name] = value
                return name
        words = re.sub(r"[^A-Z0-9]+", "_", "_".join(place).upper()).strip("_")
        base = name = PREFIX + (words or "KEY")
        number = 1
        while name in hidden or name in self.vars:
            number += 1
            name = f"{base}_{number}"
        self.secrets[name] = value
        return name


def _is_like_a_key(value: Any) -> bool:
    return isinstance(value, str) and len(value) >= SHORTEST and not re.search(r"\s", value)


def _references(value: Any) -> list[str]:
    if not isinstance(value, str):
        return []
    return [found[1] for found in REFERENCE.finditer(value) if found[1]]


def _has_literal(value: Any) -> bool:
    """Whether a value has text of its own beside its references."""
    if value is None or value == "":
        return False
    if not isinstance(value, str) or not _references(value):
        return True
    rest = SCHEMES.sub("", REFERENCE.sub("", value))
    return len("".join(rest.split())) >= SHORTEST
