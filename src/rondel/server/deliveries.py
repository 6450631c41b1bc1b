"""Webhooks: signed, retried with back-off, kept until they are delivered or given up."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, cast

import httpx2
import msgspec
from standardwebhooks import Webhook as Signer

from rondel.errors import CallError, RondelError
from rondel.graph.moments import to_microsecond
from rondel.journal.store import SessionRow
from rondel.server.access import GROUP, Caller
from rondel.server.addresses import demand_public
from rondel.server.server_database import ServerDatabase
from rondel.sessions.engine import Engine

EVENTS = {
    "waiting": "session.waiting",
    "suspended_locked": "session.locked",
    "bounded": "session.bounded",
    "failed": "session.failed",
    "completed": "session.completed",
}
"""By status, the event that is told of it."""

BACKOFF = (5.0, 30.0, 120.0, 600.0, 3600.0, 6 * 3600.0, 24 * 3600.0)
"""Seconds before each further attempt; after the last one a delivery is given up."""

SETTLE = 0.05
"""Seconds in which what was written becomes visible."""

TIMEOUT = 15.0
GONE = 410
ABREAST = 8
"""Deliveries that are under way at once."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Who is told what."""

    id: str
    url: str
    secret: str
    events: tuple[str, ...]
    groups: frozenset[str] | None
    created_at: float


class Deliveries:
    """Notes what is to be told, and tells it until it was heard."""

    def __init__(self, engine: Engine, database: ServerDatabase, *, allow_private: bool) -> None:
        self._engine = engine
        self._database = database
        self._allow_private = allow_private
        self._changed: dict[str, None] = {}
        self._news: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._hooks: list[Webhook] = []

    # Webhooks

    def create(self, url: str, events: Iterable[str], caller: Caller) -> Webhook:
        """A new webhook; its secret is told this once."""
        wrong = [event for event in events if event not in EVENTS.values()]
        if wrong:
            raise CallError(
                f"there is no event {wrong[0]!r}; there are {', '.join(EVENTS.values())}"
            )
        self._check(url)
        made = Webhook(
            f"wh_{secrets.token_hex(8)}",
            url,
            f"whsec_{b64encode(secrets.token_bytes(24)).decode()}",
            tuple(events) or tuple(EVENTS.values()),
            caller.groups,
            time.time(),
        )
        groups = None if made.groups is None else json.dumps(sorted(made.groups))
        with self._database.write() as db:
            db.execute(
                "INSERT INTO webhook VALUES (?, ?, ?, ?, ?, ?)",
                (made.id, url, made.secret, json.dumps(made.events), groups, made.created_at),
            )
        self._hooks = self._read_hooks()
        return made

    def hooks(self, caller: Caller) -> list[Webhook]:
        """The webhooks that a caller may see."""
        found = self._read_hooks()
        return [h for h in found if caller.groups is None or h.groups == caller.groups]

    def delete(self, id: str) -> None:
        """Tell it nothing any more."""
        with self._database.write() as db:
            db.execute("DELETE FROM webhook WHERE id = ?", (id,))
            db.execute("DELETE FROM delivery WHERE webhook = ?", (id,))
        self._hooks = self._read_hooks()

    def of(self, id: str, limit: int = 100) -> list[dict[str, Any]]:
        """The newest deliveries of a webhook."""
        rows = self._database.rows(
            "SELECT id, body, created_at, attempts, due, status, note FROM delivery "
            "WHERE webhook = ? ORDER BY created_at DESC LIMIT ?",
            id,
            limit,
        )
        return [
            {
                "id": name,
                "event": msgspec.json.decode(cast(bytes, body))["type"],
                "session_id": msgspec.json.decode(cast(bytes, body))["data"]["session_id"],
                "created_at": to_microsecond(float(cast(float, made))),
                "attempts": attempts,
                "next_attempt": None if due is None else to_microsecond(float(cast(float, due))),
                "status": status,
                "note": note,
            }
            for name, body, made, attempts, due, status, note in rows
        ]

    # At work

    def open(self) -> None:
        """Begin, in the running event loop."""
        self._news = asyncio.Event()
        self._hooks = self._read_hooks()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Deliver no more; what is not delivered yet is delivered after the next start."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def changed(self, id: str, status: str | None) -> None:
        """A session has a new status."""
        if status in EVENTS and self._hooks and self._news is not None:
            self._changed[id] = None
            self._news.set()

    async def _run(self) -> None:
        assert self._news is not None  # noqa: S101
        self._catch_up()
        async with httpx2.AsyncClient(timeout=TIMEOUT, follow_redirects=False) as client:
            while True:
                pause = self._pause()
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._news.wait()
                if self._news.is_set():
                    self._news.clear()
                    await asyncio.sleep(SETTLE)
                    self._note_changed()
                await self._send_due(client)

    def _catch_up(self) -> None:
        """Note what happened while no server was there to note it."""
        since = min((hook.created_at for hook in self._hooks), default=None)
        if since is None:
            return
        for status in EVENTS:
            before: str | None = None
            while True:
                page = self._engine.sessions(status, before=before, limit=200)
                for row in page.rows:
                    self._note(row)
                before = page.next
                if before is None or page.rows[-1].created_at < since - 30 * 86400:
                    break

    def _note_changed(self) -> None:
        changed, self._changed = self._changed, {}
        for session in changed:
            with suppress(RondelError):
                row = self._engine.store.session(session)
                if row is not None:
                    self._note(row)

    def _note(self, row: SessionRow) -> None:
        """Note a delivery for everybody who wants to know; each once, whoever notes it."""
        event = EVENTS.get(row.status)
        if event is None:
            return
        for hook in self._hooks:
            seen = hook.groups is None or row.labels.get(GROUP) in hook.groups
            if event not in hook.events or not seen or row.updated_at < hook.created_at:
                continue
            name = sha256(f"{hook.id} {row.id} {row.status} {row.updated_at:.6f}".encode())
            with self._database.write() as db:
                db.execute(
                    "INSERT OR IGNORE INTO delivery (id, webhook, body, created_at, due, status, "
                    "note) VALUES (?, ?, ?, ?, ?, 'pending', '')",
                    (
                        f"msg_{name.hexdigest()[:24]}",
                        hook.id,
                        _body(event, row),
                        *[time.time()] * 2,
                    ),
                )

    def _pause(self) -> float | None:
        """Seconds until the next attempt is due; None if there is none."""
        found = self._database.rows("SELECT min(due) FROM delivery WHERE due IS NOT NULL")[0][0]
        return None if found is None else max(0.0, float(cast(float, found)) - time.time())

    async def _send_due(self, client: httpx2.AsyncClient) -> None:
        rows = self._database.rows(
            "SELECT id, webhook, body, attempts FROM delivery WHERE due <= ? ORDER BY due LIMIT ?",
            time.time(),
            ABREAST,
        )
        hooks = {hook.id: hook for hook in self._hooks}
        await asyncio.gather(
            *[
                self._send(client, hooks.get(str(hook)), str(name), cast(bytes, body), attempts)
                for name, hook, body, attempts in rows
            ]
        )

    async def _send(
        self,
        client: httpx2.AsyncClient,
        hook: Webhook | None,
        id: str,
        body: bytes,
        attempts: object,
    ) -> None:
        if hook is None:
            self._settle(id, "dropped", "the webhook is gone", None, 0)
            return
        tried = int(cast(int, attempts)) + 1
        try:
            await asyncio.to_thread(self._check, hook.url)
            reply = await client.post(hook.url, content=body, headers=_signed(hook, id, body))
        except (httpx2.HTTPError, OSError, CallError) as error:
            self._retry(id, tried, f"{type(error).__name__}: {error}"[:300])
            return
        if reply.is_success:
            self._settle(id, "delivered", f"HTTP {reply.status_code}", None, tried)
        elif reply.status_code == GONE:
            self._settle(id, "dropped", "HTTP 410: the webhook wants no more", None, tried)
            self.delete(hook.id)
        else:
            self._retry(id, tried, f"HTTP {reply.status_code}")

    def _retry(self, id: str, tried: int, note: str) -> None:
        if tried > len(BACKOFF):
            self._settle(id, "failed", note, None, tried)
        else:
            self._settle(id, "pending", note, time.time() + BACKOFF[tried - 1], tried)

    def _settle(self, id: str, status: str, note: str, due: float | None, tried: int) -> None:
        with self._database.write() as db:
            db.execute(
                "UPDATE delivery SET status = ?, note = ?, due = ?, attempts = ? WHERE id = ?",
                (status, note, due, tried, id),
            )

    def _check(self, url: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise CallError(f"a webhook's address begins with https://, not {url!r}")
        if not self._allow_private:
            demand_public(url, "webhook")

    def _read_hooks(self) -> list[Webhook]:
        rows = self._database.rows(
            "SELECT id, url, secret, events, groups, created_at FROM webhook ORDER BY created_at"
        )
        return [
            Webhook(
                str(name),
                str(url),
                str(secret),
                tuple(json.loads(str(events))),
                None if groups is None else frozenset(json.loads(str(groups))),
                float(cast(float, made)),
            )
            for name, url, secret, events, groups, made in rows
        ]


def _body(event: str, row: SessionRow) -> bytes:
    data = {
        "session_id": row.id,
        "graph_id": row.graph_id,
        "status": row.status,
        "reason": row.reason,
        "labels": row.labels.get("labels") or {},
        "link": f"/inbox/{row.id}" if row.status == "waiting" else f"/sessions/{row.id}",
    }
    return msgspec.json.encode(
        {"type": event, "timestamp": to_microsecond(row.updated_at), "data": data}
    )


def _signed(hook: Webhook, id: str, body: bytes) -> dict[str, str]:
    now = datetime.now(UTC)
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Signer(hook.secret).sign(id, now, body.decode()),
    }
