"""Secrets of the server: kept for a group or for everybody, put into graphs, never given back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rondel.errors import CallError
from rondel.graph.variables import WithSecrets
from rondel.server.access import GROUP, Caller
from rondel.server.server_database import ServerDatabase
from rondel.sessions.labels import KEYS

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
RESERVED = re.compile(r"PATH|HOME|LD_.*|PYTHON.*|RONDEL_.*", re.IGNORECASE)
"""Variables that control programs and cannot be secrets."""

EVERYBODY = ""
"""The group name of secrets for everybody."""

ALL = "SELECT grp, name, value FROM rondel.secret"


class SecretView(NamedTuple):
    """A secret as it can be seen: not its value, which nobody is told."""

    name: str
    group: str | None
    """Null: everybody's."""


class Secrets:
    """Keeps secrets, and hands them to graphs of the sessions that they are for."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._version: int | None = None
        self._values: dict[str, dict[str, str]] = {}

    async def refresh(self) -> None:
        """Read what another server or process may have changed."""
        version = self._database.version()
        if version != self._version:
            self._take(await self._database.rows(ALL))
            self._version = version

    def of(self, group: object) -> dict[str, str]:
        """The secrets that sessions of a group see: everybody's, and before these its own."""
        own = self._values.get(group, {}) if isinstance(group, str) and group else {}
        return {**self._values.get(EVERYBODY, {}), **own}

    def environ(self, labels: Mapping[str, Any]) -> Mapping[str, str]:
        """What the variables of a session's graph stand for.

        One that was started by a caller with a token sees the secrets that it named then, and no
        variable of the server.
        """
        visible = self.of(labels.get(GROUP))
        named = labels.get(KEYS)
        if named is None:
            return WithSecrets(visible)
        return {name: visible[name] for name in named if name in visible}

    def fresh_environ(self, labels: Mapping[str, Any]) -> Mapping[str, str]:
        """As `environ`, but reads the secrets again if they changed or one is missing: for
        workers."""
        visible = self.of(labels.get(GROUP))
        version = self._database.version()
        if version != self._version or any(name not in visible for name in labels.get(KEYS) or ()):
            self._take(self._database.store.rows(ALL))
            self._version = version
        return self.environ(labels)

    def seen_by(self, caller: Caller) -> list[SecretView]:
        """The secrets that a caller's graphs may name."""
        return [
            SecretView(name, group or None)
            for group in sorted(self._values)
            for name in sorted(self._values[group])
            if group == EVERYBODY or caller.sees_group(group)
        ]

    async def put(self, name: str, value: str, group: str | None) -> None:
        """Keep a secret, or change it."""
        if not NAME.fullmatch(name) or RESERVED.fullmatch(name):
            raise CallError(f"a secret cannot be named {name!r}; use letters, digits and _")
        if "\0" in value:
            raise CallError("a secret cannot hold the character NUL")
        put = (
            "INSERT INTO rondel.secret (grp, name, value) VALUES (?, ?, ?) "
            "ON CONFLICT (grp, name) DO UPDATE SET value = excluded.value"
        )
        await self._database.write((put, group or EVERYBODY, name, value))
        self._version = None
        await self.refresh()

    async def delete(self, name: str, group: str | None) -> bool:
        """Forget a secret; False if there was none."""
        gone = "DELETE FROM rondel.secret WHERE grp = ? AND name = ?"
        [deleted] = await self._database.write((gone, group or EVERYBODY, name))
        self._version = None
        await self.refresh()
        return bool(deleted)

    def _take(self, rows: list[tuple[Any, ...]]) -> None:
        values: dict[str, dict[str, str]] = {}
        for group, name, value in rows:
            values.setdefault(group, {})[name] = value
        self._values = values
