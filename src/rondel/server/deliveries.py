"""Deliveries of webhooks: signed, retried with back-off, kept until accepted or given up.

What is to be told is noted first: by PostgreSQL itself with the change it tells of, else by the
server that made the change. Of several servers the one sends that moves `due` on; should it die
over that, `due` passes again, and another one sends under the same id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

import httpx2
import msgspec
from standardwebhooks import Webhook as Signer

from rondel.errors import CallError, JournalError, RondelError
from rondel.graph.moments import to_microsecond
from rondel.journal.server_tables import Statement
from rondel.journal.store import SessionRow
from rondel.server.hooks import EVENTS, Hooks, Webhook
from rondel.server.server_database import ServerDatabase
from rondel.sessions.engine import Engine

BACKOFF = (5.0, 30.0, 120.0, 600.0, 3600.0, 6 * 3600.0, 24 * 3600.0)
"""Seconds before each further attempt; after the last one a delivery is given up."""

SETTLE = 0.05
"""The most seconds until a committed write is visible to others."""

TIMEOUT = 10.0
"""Seconds that one attempt may take as a whole."""

LEASE = 2 * TIMEOUT
"""Seconds after which an attempt without a result counts as lost."""

LOOK = 1.0
"""Seconds between looks for what others left to do."""

PAGE = 200
GONE = 410
ABREAST = 8
"""The most deliveries under way at once."""

log = logging.getLogger("rondel.server")


class News(NamedTuple):
    """What became of a session, and when."""

    session: str
    status: str
    reason: str
    at: float


class DueDelivery(NamedTuple):
    """A delivery whose time has come."""

    id: str
    webhook: str
    body: bytes
    attempts: int
    due: float


class Deliveries:
    """Notes deliveries and sends them until they are accepted."""

    def __init__(self, engine: Engine, database: ServerDatabase, hooks: Hooks) -> None:
        self._engine = engine
        self._database = database
        self._hooks = hooks
        self._changed: dict[str, None] = {}
        self._changes: int | None = None
        self._looked = 0.0
        self._news: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._sending: set[str] = set()

    async def of(self, id: str, limit: int = 100) -> list[dict[str, Any]]:
        """The newest deliveries of a webhook."""
        rows = await self._database.rows(
            "SELECT id, body, created_at, attempts, due, status, note FROM rondel.delivery "
            "WHERE webhook = ? ORDER BY created_at DESC LIMIT ?",
            id,
            limit,
        )
        return [_json(*row) for row in rows]

    # At work

    def open(self) -> None:
        """Begin, in the running event loop."""
        self._news = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop; another server, or the next start, delivers the rest."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._sending:
            now = self._database.now()
            back = "UPDATE rondel.delivery SET due = ? WHERE id = ? AND due > ?"
            with suppress(JournalError):
                await self._database.write(
                    *[(back, now, each, now) for each in sorted(self._sending)]
                )

    def changed(self, id: str, status: str | None) -> None:
        """A session has a new status."""
        if status in EVENTS and self._news is not None:
            if not self._database.tells:
                self._changed[id] = None
            self._news.set()

    async def _run(self) -> None:
        limits = httpx2.Limits(max_keepalive_connections=0)
        async with httpx2.AsyncClient(follow_redirects=False, limits=limits) as client:
            caught_up = self._database.tells
            while True:
                try:
                    if not caught_up:
                        await self._catch_up()
                        caught_up = True
                    await self._turn(client)
                except JournalError as error:
                    log.warning("webhooks have to wait: %s", error)
                    await asyncio.sleep(LOOK)

    async def _turn(self, client: httpx2.AsyncClient) -> None:
        """Wait for something to do, and do it."""
        assert self._news is not None  # noqa: S101
        with suppress(TimeoutError):
            async with asyncio.timeout(await self._pause()):
                await self._news.wait()
        if self._news.is_set():
            self._news.clear()
            await asyncio.sleep(SETTLE)
        await self._note_news()
        await self._send_due(client)

    async def _pause(self) -> float:
        """Seconds until the next attempt or the next look at others' work."""
        query = "SELECT min(due) FROM rondel.delivery WHERE due IS NOT NULL"
        [[due]] = await self._database.rows(query)
        return LOOK if due is None else min(LOOK, max(0.0, due - self._database.now()))

    # What is to be told

    async def _note_news(self) -> None:
        if self._database.tells:
            while await self._note_told():
                pass
            return
        changed, self._changed = list(self._changed), {}
        hooks = await self._hooks.all()
        if not hooks:
            return
        await self._note_rows(hooks, changed)
        await self._look_around(hooks)

    async def _note_told(self) -> bool:
        """Take over what the database noted itself; returns whether there is more."""
        told = await self._database.rows(
            "SELECT number, session, status, reason, at FROM rondel.news ORDER BY number LIMIT ?",
            PAGE,
        )
        if not told:
            return False
        hooks = await self._hooks.all()
        statements: list[Statement] = []
        for number, *rest in told:
            news = News(*rest)
            row = await asyncio.to_thread(self._engine.store.session, news.session)
            statements += self._noted(hooks, news, row)
            statements.append(("DELETE FROM rondel.news WHERE number = ?", number))
        await self._database.write(*statements)
        return len(told) == PAGE

    async def _note_rows(self, hooks: list[Webhook], ids: Iterable[str]) -> None:
        for session in ids:
            with suppress(RondelError):
                row = self._engine.store.session(session)
                if row is not None:
                    await self._note_row(hooks, row)

    async def _note_row(self, hooks: list[Webhook], row: SessionRow) -> None:
        news = News(row.id, row.status, row.reason, row.updated_at)
        noted = self._noted(hooks, news, row)
        if noted:
            await self._database.write(*noted)

    async def _look_around(self, hooks: list[Webhook]) -> None:
        """Another process wrote: note which sessions have changed."""
        changes = self._engine.store.changes()
        if changes == self._changes:
            return
        since, self._changes = self._looked, changes
        self._looked = self._database.now() - LOOK
        for status in EVENTS:
            page = await asyncio.to_thread(self._engine.sessions, status, limit=PAGE)
            for row in page.rows:
                if row.updated_at >= since:
                    await self._note_row(hooks, row)

    async def _catch_up(self) -> None:
        """Note what happened while no server was there to note it."""
        hooks = await self._hooks.all()
        self._changes, self._looked = self._engine.store.changes(), self._database.now()
        if not hooks:
            return
        since = min(hook.created_at for hook in hooks) - 30 * 86400
        for status in EVENTS:
            before: str | None = None
            while True:
                page = await asyncio.to_thread(
                    self._engine.sessions, status, before=before, limit=PAGE
                )
                for row in page.rows:
                    await self._note_row(hooks, row)
                before = page.next
                if before is None or page.rows[-1].created_at < since:
                    break

    def _noted(self, hooks: list[Webhook], news: News, row: SessionRow | None) -> list[Statement]:
        """Add a delivery for each webhook that wants the event; each once, whichever server
        notes it."""
        event = EVENTS.get(news.status)
        if event is None or row is None:
            return []
        now, body = self._database.now(), _body(event, news, row)
        return [
            (
                "INSERT INTO rondel.delivery (id, webhook, body, created_at, due, status, note) "
                "VALUES (?, ?, ?, ?, ?, 'pending', '') ON CONFLICT (id) DO NOTHING",
                *(_id(hook, news), hook.id, body, now, now),
            )
            for hook in hooks
            if hook.wants(event, row, news.at)
        ]

    # Telling it

    async def _send_due(self, client: httpx2.AsyncClient) -> None:
        rows = await self._database.rows(
            "SELECT id, webhook, body, attempts, due FROM rondel.delivery "
            "WHERE due <= ? ORDER BY due LIMIT ?",
            self._database.now(),
            ABREAST,
        )
        claimed = await self._claimed([DueDelivery(*row) for row in rows]) if rows else []
        if not claimed:
            return
        hooks = {hook.id: hook for hook in await self._hooks.all()}
        self._sending = {each.id for each in claimed}
        await asyncio.gather(
            *[self._send(client, hooks.get(each.webhook), each) for each in claimed]
        )
        self._sending = set()

    async def _claimed(self, due: list[DueDelivery]) -> list[DueDelivery]:
        """The due deliveries that no other server has taken, in a fixed order to avoid
        deadlocks."""
        due.sort()
        until = self._database.now() + LEASE
        claim = "UPDATE rondel.delivery SET due = ? WHERE id = ? AND due = ?"
        taken = await self._database.write(*[(claim, until, each.id, each.due) for each in due])
        return [each for each, mine in zip(due, taken, strict=True) if mine]

    async def _send(
        self, client: httpx2.AsyncClient, hook: Webhook | None, due: DueDelivery
    ) -> None:
        if hook is None:
            await self._settle(due.id, "dropped", "the webhook is gone", None, due.attempts)
            return
        tried = due.attempts + 1
        try:
            async with asyncio.timeout(TIMEOUT):
                status = await self._post(client, hook, due)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, CallError) as error:
            await self._retry(due.id, tried, f"{type(error).__name__}: {error}"[:300])
            return
        if 200 <= status < 300:
            await self._settle(due.id, "delivered", f"HTTP {status}", None, tried)
        elif status == GONE:
            await self._hooks.delete(hook.id)
        else:
            await self._retry(due.id, tried, f"HTTP {status}")

    async def _post(self, client: httpx2.AsyncClient, hook: Webhook, due: DueDelivery) -> int:
        """Send it; returns the status of the response, whose body is not read."""
        await asyncio.to_thread(self._hooks.check, hook.url)
        headers = _signed(hook, due.id, due.body)
        sent = client.stream("POST", hook.url, content=due.body, headers=headers, timeout=TIMEOUT)
        async with sent as answer:
            return answer.status_code

    async def _retry(self, id: str, tried: int, note: str) -> None:
        if tried > len(BACKOFF):
            await self._settle(id, "failed", note, None, tried)
        else:
            due = self._database.now() + BACKOFF[tried - 1]
            await self._settle(id, "pending", note, due, tried)

    async def _settle(self, id: str, status: str, note: str, due: float | None, tried: int) -> None:
        settled = (
            "UPDATE rondel.delivery SET status = ?, note = ?, due = ?, attempts = ? WHERE id = ?"
        )
        await self._database.write((settled, status, note, due, tried, id))


def _json(
    id: str, body: bytes, made: float, attempts: int, due: float | None, status: str, note: str
) -> dict[str, Any]:
    told = msgspec.json.decode(body)
    return {
        "id": id,
        "event": told["type"],
        "session_id": told["data"]["session_id"],
        "created_at": to_microsecond(made),
        "attempts": attempts,
        "next_attempt": None if due is None else to_microsecond(due),
        "status": status,
        "note": note,
    }


def _id(hook: Webhook, news: News) -> str:
    named = f"{hook.id} {news.session} {news.status} {news.at:.6f}"
    return f"msg_{sha256(named.encode('utf-8', 'backslashreplace')).hexdigest()[:24]}"


def _body(event: str, news: News, row: SessionRow) -> bytes:
    data = {
        "session_id": row.id,
        "graph_id": row.graph_id,
        "status": news.status,
        "reason": news.reason,
        "labels": row.labels.get("labels") or {},
        "link": f"/inbox/{row.id}" if news.status == "waiting" else f"/sessions/{row.id}",
    }
    return msgspec.json.encode({"type": event, "timestamp": to_microsecond(news.at), "data": data})


def _signed(hook: Webhook, id: str, body: bytes) -> dict[str, str]:
    now = datetime.now(UTC)
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Signer(hook.secret).sign(id, now, body.decode()),
    }
