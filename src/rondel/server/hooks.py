"""Webhooks as they are kept: who is told what, where, and signed with which secret."""

from __future__ import annotations

import json
import secrets
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from rondel.errors import CallError
from rondel.journal.store import SessionRow
from rondel.server.access import GROUP, Caller
from rondel.server.addresses import demand_public
from rondel.server.server_database import ServerDatabase

EVENTS = {
    "waiting": "session.waiting",
    "suspended_locked": "session.locked",
    "bounded": "session.bounded",
    "failed": "session.failed",
    "completed": "session.completed",
}
"""By status, the event that is told of it."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Who is told what."""

    id: str
    url: str
    secret: str
    events: tuple[str, ...]
    groups: frozenset[str] | None
    created_at: float

    def wants(self, event: str, row: SessionRow, at: float) -> bool:
        """Whether it is told of what happened to a session then."""
        seen = self.groups is None or row.labels.get(GROUP) in self.groups
        return seen and event in self.events and at >= self.created_at


class Hooks:
    """Keeps webhooks, for all servers that share a database."""

    def __init__(self, database: ServerDatabase, *, allow_private: bool) -> None:
        self._database = database
        self._allow_private = allow_private

    async def create(self, url: str, events: Iterable[str], caller: Caller) -> Webhook:
        """A new webhook; its secret is told this once."""
        wrong = [event for event in events if event not in EVENTS.values()]
        if wrong:
            raise CallError(
                f"there is no event {wrong[0]!r}; there are {', '.join(EVENTS.values())}"
            )
        made = Webhook(
            f"wh_{secrets.token_hex(8)}",
            url,
            f"whsec_{b64encode(secrets.token_bytes(24)).decode()}",
            tuple(events) or tuple(EVENTS.values()),
            caller.groups,
            self._database.now(),
        )
        groups = None if made.groups is None else json.dumps(sorted(made.groups))
        await self._database.write(
            (
                "INSERT INTO rondel.webhook VALUES (?, ?, ?, ?, ?, ?)",
                *(made.id, url, made.secret, json.dumps(made.events), groups, made.created_at),
            )
        )
        return made

    async def all(self) -> list[Webhook]:
        """Every webhook, oldest first."""
        rows = await self._database.rows(
            "SELECT id, url, secret, events, groups, created_at FROM rondel.webhook "
            "ORDER BY created_at"
        )
        return [
            Webhook(
                name,
                url,
                secret,
                tuple(json.loads(events)),
                None if groups is None else frozenset(json.loads(groups)),
                made,
            )
            for name, url, secret, events, groups, made in rows
        ]

    async def seen_by(self, caller: Caller) -> list[Webhook]:
        """The webhooks that a caller may see: those of exactly their groups, or all."""
        found = await self.all()
        return [hook for hook in found if caller.groups is None or hook.groups == caller.groups]

    async def delete(self, id: str) -> None:
        """Tell it nothing any more."""
        await self._database.write(
            ("DELETE FROM rondel.webhook WHERE id = ?", id),
            ("DELETE FROM rondel.delivery WHERE webhook = ?", id),
        )

    def check(self, url: str) -> None:
        """Raise CallError for an address that nothing is sent to; waits for names to resolve."""
        try:
            parts = urlsplit(url)
            parts.port  # noqa: B018  raises for one that is no number
        except ValueError as error:
            raise CallError(f"a webhook's address is wrong: {error}") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CallError(f"a webhook's address begins with https://, not {url!r}")
        if not url.isprintable() or " " in url:
            raise CallError("a webhook's address has no spaces and no control characters")
        if parts.username is not None:
            raise CallError("a webhook's address has no user and password; its secret signs")
        if not self._allow_private:
            demand_public(url, "webhook")
