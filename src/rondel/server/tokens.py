"""Tokens: who may call, in what role, for which groups."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

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
        self._version = -1
        self._known: dict[str, Caller] = {}

    def create(self, name: str, role: str, groups: list[str] | None = None) -> str:
        """A new token; its text is told this once."""
        if role not in ROLES:
            hint = Names(ROLES, what="there are").hint(role)
            raise CallError(f"there is no role {role!r}; {hint}")
        if not name.strip() or len(name) > 100:
            raise CallError("a token needs a name of at most 100 letters, to know it by")
        text = PREFIX + secrets.token_urlsafe(32)
        kept = None if not groups else json.dumps(sorted(set(groups)))
        with self._database.write() as db:
            if db.execute("SELECT 1 FROM token WHERE name = ?", (name,)).fetchone():
                raise CallError(f"there is a token {name!r} already; revoke it, or name it else")
            db.execute(
                "INSERT INTO token (name, hash, role, groups, created_at) VALUES (?, ?, ?, ?, ?)",
                (name, _hash(text), role, kept, time.time()),
            )
        self._version = -1
        return text

    def revoke(self, name: str) -> None:
        """From now on the token opens nothing, and who logged in with it is logged out."""
        with self._database.write() as db:
            changed = db.execute(
                "UPDATE token SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL",
                (time.time(), name),
            ).rowcount
            db.execute("DELETE FROM login WHERE token = ?", (name,))
        self._version = -1
        if not changed:
            hint = Names([token.name for token in self.list()], what="there are").hint(name)
            raise CallError(f"there is no token {name!r} to revoke; {hint}")

    def list(self) -> list[TokenView]:
        """All tokens, oldest first."""
        rows = self._database.rows(
            "SELECT name, role, groups, created_at, revoked_at FROM token ORDER BY created_at"
        )
        return [
            TokenView(
                str(name),
                str(role),
                None if groups is None else json.loads(str(groups)),
                float(cast(float, made)),
                cast("float | None", revoked),
            )
            for name, role, groups, made, revoked in rows
        ]

    @property
    def exist(self) -> bool:
        """Whether any token opens anything."""
        return bool(self._database.rows("SELECT 1 FROM token WHERE revoked_at IS NULL LIMIT 1"))

    def caller(self, text: str) -> Caller | None:
        """Who shows this token."""
        self._refresh()
        return self._known.get(_hash(text))

    # Browsers

    def log_in(self, text: str) -> str | None:
        """A word that stands for a token in a browser's cookie; None if it is no token."""
        caller = self.caller(text)
        if caller is None:
            return None
        word = secrets.token_urlsafe(32)
        with self._database.write() as db:
            db.execute("DELETE FROM login WHERE until < ?", (time.time(),))
            db.execute(
                "INSERT INTO login (hash, token, until) VALUES (?, ?, ?)",
                (_hash(word), caller.name, time.time() + LOGIN),
            )
        return word

    def logged_in(self, word: str) -> Caller | None:
        """Whose cookie it is."""
        self._refresh()
        found = self._database.rows(
            "SELECT token FROM login WHERE hash = ? AND until >= ?", _hash(word), time.time()
        )
        if not found:
            return None
        name = found[0][0]
        return next((caller for caller in self._known.values() if caller.name == name), None)

    def log_out(self, word: str) -> None:
        """The cookie opens nothing any more."""
        with self._database.write() as db:
            db.execute("DELETE FROM login WHERE hash = ?", (_hash(word),))

    def _refresh(self) -> None:
        """Read the tokens again if another process may have changed them."""
        version = self._database.version
        if version == self._version:
            return
        self._version = version
        rows = self._database.rows(
            "SELECT hash, name, role, groups FROM token WHERE revoked_at IS NULL"
        )
        self._known = {
            str(hashed): Caller(
                str(name),
                cast(Role, role),
                None if groups is None else frozenset(json.loads(str(groups))),
            )
            for hashed, name, role, groups in rows
        }


def _hash(text: str) -> str:
    """Enough for words of 256 random bits, which nobody can try out."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()
