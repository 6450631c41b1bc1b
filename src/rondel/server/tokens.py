"""Tokens: who may call, in what role, for which groups."""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import dataclass
from hashlib import sha256

from rondel.errors import CallError
from rondel.graph.names import Names
from rondel.server.access import ROLES, Caller, Role
from rondel.server.server_database import ServerDatabase

PREFIX = "rondel_"
LOGIN = 30 * 86400.0
"""Seconds for which a browser stays logged in."""


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token as it can be seen: not its text, which nobody keeps."""

    name: str
    role: str
    groups: list[str] | None
    created_at: float
    revoked_at: float | None


class Tokens:
    """Makes tokens, knows them again, and revokes them."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._version: int | None = None
        self._known: dict[str, Caller] = {}
        self._callers: frozenset[Caller] = frozenset()
        self._reading = asyncio.Lock()

    async def create(self, name: str, role: str, groups: list[str] | None = None) -> str:
        """A new token; its text is told this once."""
        if role not in ROLES:
            hint = Names(ROLES, what="there are").hint(role)
            raise CallError(f"there is no role {role!r}; {hint}")
        if not name.strip() or len(name) > 100:
            raise CallError("a token needs a name of at most 100 letters, to know it by")
        if any(not group.strip() or not group.isprintable() for group in groups or ()):
            raise CallError("a group is named by letters that can be seen: --group NAME")
        text = PREFIX + secrets.token_urlsafe(32)
        kept = None if not groups else json.dumps(sorted(set(groups)))
        [made] = await self._database.write(
            (
                "INSERT INTO rondel.token (name, hash, role, groups, created_at) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
                *(name, _hash(text), role, kept, self._database.now()),
            )
        )
        if not made:
            raise CallError(f"there is a token {name!r} already; revoke it, or name it else")
        self._version = None
        return text

    async def revoke(self, name: str) -> None:
        """Revoke a token and end its logins."""
        revoked = "UPDATE rondel.token SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL"
        changed, _ = await self._database.write(
            (revoked, self._database.now(), name),
            ("DELETE FROM rondel.login WHERE token = ?", name),
        )
        self._version = None
        if not changed:
            names = [token.name for token in await self.list()]
            hint = Names(names, what="there are").hint(name)
            raise CallError(f"there is no token {name!r} to revoke; {hint}")

    async def list(self) -> list[TokenView]:
        """All tokens, oldest first."""
        rows = await self._database.rows(
            "SELECT name, role, groups, created_at, revoked_at FROM rondel.token "
            "ORDER BY created_at"
        )
        return [
            TokenView(name, role, None if groups is None else json.loads(groups), made, revoked)
            for name, role, groups, made, revoked in rows
        ]

    async def exist(self) -> bool:
        """Whether there is any token."""
        found = "SELECT 1 FROM rondel.token WHERE revoked_at IS NULL LIMIT 1"
        return bool(await self._database.rows(found))

    async def caller(self, text: str) -> Caller | None:
        """The caller of a token; a new token is known at once."""
        hashed = _hash(text)
        if not self.knows(text):
            await self._read()
        elif self._version != self._database.version():
            async with self._reading:  # one reads for all who ask meanwhile
                if self._version != self._database.version():
                    await self._read()
        return self._known.get(hashed)

    async def hold(self, caller: Caller) -> bool:
        """Whether somebody who was let in would be let in again."""
        if not caller.name:
            return True  # no token let them in
        if self._version != self._database.version():
            await self._read()
        return caller in self._callers

    def knows(self, text: str) -> bool:
        """Whether it is among the tokens as last read."""
        return _hash(text) in self._known

    # Browsers

    async def log_in(self, text: str) -> str | None:
        """A cookie value that stands for a token; None if the token is wrong."""
        caller = await self.caller(text)
        if caller is None:
            return None
        word, now = secrets.token_urlsafe(32), self._database.now()
        await self._database.write(
            ("DELETE FROM rondel.login WHERE until < ?", now),
            (
                "INSERT INTO rondel.login (hash, token, until) VALUES (?, ?, ?)",
                *(_hash(word), caller.name, now + LOGIN),
            ),
        )
        return word

    async def logged_in(self, word: str) -> Caller | None:
        """The caller of a cookie."""
        found = await self._database.rows(
            "SELECT t.name, t.role, t.groups FROM rondel.login l "
            "JOIN rondel.token t ON t.name = l.token "
            "WHERE l.hash = ? AND l.until >= ? AND t.revoked_at IS NULL",
            _hash(word),
            self._database.now(),
        )
        return _caller(*found[0]) if found else None

    async def log_out(self, word: str) -> None:
        """End the login of a cookie."""
        await self._database.write(("DELETE FROM rondel.login WHERE hash = ?", _hash(word)))

    async def _read(self) -> None:
        version = self._database.version()
        rows = await self._database.rows(
            "SELECT hash, name, role, groups FROM rondel.token WHERE revoked_at IS NULL"
        )
        self._known = {hashed: _caller(*rest) for hashed, *rest in rows}
        self._callers = frozenset(self._known.values())
        self._version = version


def _caller(name: str, role: Role, groups: str | None) -> Caller:
    return Caller(name, role, None if groups is None else frozenset(json.loads(groups)))


def _hash(text: str) -> str:
    """A plain hash, which is enough for 256 random bits."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()
