"""Sessions brought to workers by Temporal: a workflow for each, while there is something to do.

Where the server is says the environment, as Temporal's own programs take it: `TEMPORAL_ADDRESS`,
`TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, or a profile. Dead workers are noticed by the heartbeats
of its activities.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Event, Semaphore
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.common import Priority
from temporalio.envconfig import ClientConfig
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from rondel.dispatch.dispatcher import CONCURRENCY, QUEUE, Attend, Shares
from rondel.dispatch.temporal_workflow import ACTIVITY, AGAIN, SIGNAL, WORKFLOW, SessionWorkflow
from rondel.errors import CallError, JournalUnwritable
from rondel.sessions.local_sessions import LEASE

_BEATS = 3
_LONGEST_GROUP = 64
_UNTIL_THEY_END = timedelta(days=1)
_DECIDING = timedelta(seconds=3)
"""The timeout of a workflow task, after which another worker takes it."""

RETRIES = 20
"""The most retries of refused sessions in a second."""

log = logging.getLogger("rondel.worker")


class TemporalDispatcher:
    """Workflows on a Temporal server; `lease` is how long a dead worker has its sessions."""

    def __init__(self, lease: float = LEASE, **address: Any) -> None:
        self._lease = lease
        self._address: dict[str, Any] = {**ClientConfig.load_client_connect_config(), **address}
        self._connected: Client | None = None
        self._attend_to: Attend | None = None
        self._shares = Shares()
        self._put_off: set[str] = set()
        """Refused sessions whose group had its share; they are retried."""
        self._places = Semaphore(CONCURRENCY)

    async def open(self) -> None:
        """Connect to the server."""
        where = self._address.setdefault("target_host", "localhost:7233")
        try:
            self._connected = await Client.connect(**self._address)
        except (RuntimeError, RPCError) as error:
            raise JournalUnwritable(
                f"Temporal cannot be reached at {where}: {error}; check TEMPORAL_ADDRESS"
            ) from error

    async def submit(
        self, session: str, queue: str = QUEUE, *, group: str = "", after: float = 0.0
    ) -> None:
        """Signal the session's workflow, which starts with that if it is not there."""
        group = _key(group)
        try:
            await self._client.start_workflow(
                WORKFLOW,
                args=[session, group, self._lease, []],
                id=f"rondel-{session}",
                task_queue=queue,
                task_timeout=_DECIDING,
                start_signal=SIGNAL,
                start_signal_args=[after],
                priority=Priority(fairness_key=group or None),
            )
        except RPCError as error:
            raise JournalUnwritable(f"Temporal does not take session {session}: {error}") from error

    async def missing(self, sessions: Sequence[str]) -> list[str]:
        """All of these: a signal more or less does no harm."""
        return list(sessions)

    async def work(
        self,
        attend: Attend,
        stop: Event,
        queues: Sequence[str] = (QUEUE,),
        concurrency: int = CONCURRENCY,
        per_group: int | None = None,
    ) -> None:
        """Attend to what is submitted until told to stop."""
        self._attend_to, self._shares = attend, Shares(per_group)
        self._places = Semaphore(concurrency)
        async with AsyncExitStack() as workers:
            for queue in queues:
                await workers.enter_async_context(self._worker(queue, concurrency))
            await stop.wait()

    async def close(self) -> None:
        """Drop the client; its connection closes with its last user."""
        self._connected = None

    @property
    def _client(self) -> Client:
        if self._connected is None:
            raise CallError("the dispatcher is not open")
        return self._connected

    def _worker(self, queue: str, concurrency: int) -> Worker:
        return Worker(
            self._client,
            task_queue=queue,
            workflows=[SessionWorkflow],
            activities=[self._activity],
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_cached_workflows=0,  # their histories are short, and no worker's death delays them
            max_concurrent_activities=concurrency,
            disable_eager_activity_execution=True,
            graceful_shutdown_timeout=_UNTIL_THEY_END,
        )

    @activity.defn(name=ACTIVITY)
    async def _activity(self, session: str, group: str) -> None:
        """Attend to the session, with heartbeats meanwhile."""
        async with self._place(session, group):
            if self._attend_to is not None:
                await self._attend_to(session)

    @asynccontextmanager
    async def _place(self, session: str, group: str) -> AsyncIterator[None]:
        """Take a place of the worker and of the group inside this context."""
        self._put_off.discard(session)
        if group in self._shares.full:
            self._put_off.add(session)
            wait = AGAIN * max(1, len(self._put_off) / RETRIES)
            raise ApplicationError(f"group {group!r} has its share here", next_retry_delay=wait)
        with self._shares.place(group):
            async with _heartbeat(self._lease / _BEATS), self._places:
                yield


@asynccontextmanager
async def _heartbeat(pause: float) -> AsyncIterator[None]:
    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(pause)

    beating = asyncio.ensure_future(beat())
    try:
        yield
    finally:
        beating.cancel()


def _key(group: str) -> str:
    """The group as Temporal takes it: at most 64 bytes."""
    if len(group.encode()) <= _LONGEST_GROUP:
        return group
    return sha256(group.encode()).hexdigest()[:_LONGEST_GROUP]
