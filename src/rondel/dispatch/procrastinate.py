"""Sessions brought to workers by procrastinate: a queue in the same PostgreSQL database.

A job is a session's id and nothing else. Dead workers are noticed by procrastinate's heartbeats,
and their jobs are put back by whichever worker looks first.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import Event
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job
from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction

from rondel.dispatch.dispatcher import CONCURRENCY, QUEUE, Attend, Shares
from rondel.dispatch.procrastinate_fairness import INDEX, FairJobs, FairWorker, waiting
from rondel.errors import JournalError, JournalUnwritable, RondelError
from rondel.journal.postgres.database import PostgresDatabase, said_by, stored, told
from rondel.sessions.local_sessions import LEASE

TASK = "rondel.attend"

AGAIN = 1.0
"""Seconds until a session is tried again after an error."""

_BEATS = 3
_LOOK = 0.3
"""Seconds between looks for jobs of workers that are gone; less than between those of a worker."""

_PAUSE = 1.0
_CONNECTIONS = 4
_AWAY = 5.0
"""Seconds after which a connection that cannot be had is asked for anew."""

_SELDOM = 60.0
"""Seconds between two warnings that the queue is away."""

_IS_INSTALLED = "SELECT to_regclass('procrastinate_jobs') IS NOT NULL AS yes"
_IS_INDEXED = "SELECT to_regclass('rondel_jobs_of_group') IS NOT NULL AS yes"
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float AS now"

log = logging.getLogger("rondel.worker")


class ProcrastinateDispatcher:
    """Jobs in the database that the sessions are in; `lease` is how long a dead worker has them."""

    def __init__(self, url: str, lease: float = LEASE) -> None:
        self._lease = lease
        self._database = PostgresDatabase(url, "normal")
        connector = PsycopgConnector(
            conninfo=url,
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=_AWAY,
            reconnect_timeout=_PAUSE,  # a pool that goes on trying tries ever more seldom
            kwargs={"prepare_threshold": None},  # a pooler may stand between
        )
        self._app = App(connector=connector)
        self._jobs = self._app.job_manager = FairJobs(connector, Shares())
        self._worker: FairWorker | None = None
        self._task = self._app.task(name=TASK, pass_context=True)(self._attend)
        self._attend_to: Attend | None = None
        self._epoch = 0.0
        self._complained = -_SELDOM

    async def open(self) -> None:
        """Connect, and make procrastinate's tables if there are none."""
        await asyncio.to_thread(self._database.try_out)
        await self._app.open_async()
        try:
            await self._install()
            found = await self._app.connector.execute_query_one_async(_CLOCK)
            self._epoch = found["now"] - monotonic()
        except ConnectorException as error:
            await self._app.close_async()
            raise self._explained(error) from error

    async def submit(
        self, session: str, queue: str = QUEUE, *, group: str = "", after: float = 0.0
    ) -> None:
        """Queue the session; one that must wait delays no other."""
        options: dict[str, Any] = {"queue": queue}
        if after > 0:
            now = datetime.fromtimestamp(self._epoch + monotonic(), UTC)
            options["schedule_at"] = now + timedelta(seconds=after)
        else:
            options["queueing_lock"] = session
        group = stored(group)
        try:
            options["priority"] = -await waiting(self._app.connector, queue, group)
            with suppress(AlreadyEnqueued):
                await self._task.configure(**options).defer_async(session=session, group=group)
        except ConnectorException as error:
            raise self._explained(error) from error

    async def missing(self, sessions: Sequence[str]) -> list[str]:
        """Those of these that have no job that waits."""
        try:
            there = await self._jobs.in_line(sessions)
        except ConnectorException as error:
            raise self._explained(error) from error
        return [session for session in sessions if session not in there]

    async def work(
        self,
        attend: Attend,
        stop: Event,
        queues: Sequence[str] = (QUEUE,),
        concurrency: int = CONCURRENCY,
        per_group: int | None = None,
    ) -> None:
        """Attend to what is submitted until told to stop; a database that goes away comes back."""
        self._attend_to = attend
        self._jobs.shares = Shares(per_group)
        stopping = asyncio.ensure_future(stop.wait())
        tending = asyncio.ensure_future(self._tend())
        try:
            while not stop.is_set():
                await self._work(stopping, queues, concurrency)
        finally:
            for task in (stopping, tending):
                task.cancel()
            await asyncio.gather(stopping, tending, return_exceptions=True)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._app.close_async()

    def _explained(self, error: ConnectorException) -> RondelError:
        cause = error.__cause__
        if not isinstance(cause, InsufficientPrivilege | ReadOnlySqlTransaction):
            return self._database.explain(cause if isinstance(cause, Exception) else error)
        return JournalUnwritable(
            f"the queue in {self._database.name} cannot be used; let its user make tables in the "
            f"database's default schema, or start a worker once as one who may ({said_by(cause)})"
        )

    async def _install(self) -> None:
        if not await self._is(_IS_INSTALLED):
            try:
                await self._app.schema_manager.apply_schema_async()
            except ConnectorException:
                if not await self._is(_IS_INSTALLED):  # else another process was quicker
                    raise
        if not await self._is(_IS_INDEXED):
            await self._app.connector.execute_query_async(INDEX)

    async def _is(self, query: str) -> bool:
        found = await self._app.connector.execute_query_one_async(query)
        return bool(found["yes"])

    async def _work(
        self, stopping: asyncio.Future[Any], queues: Sequence[str], concurrency: int
    ) -> None:
        """Work until told to stop, or until the database goes away."""
        worker = self._worker = FairWorker(
            self._app,
            queues=list(queues),
            name=None,
            concurrency=concurrency,
            delete_jobs="always",
            install_signal_handlers=False,
            fetch_job_polling_interval=_PAUSE,
            update_heartbeat_interval=self._lease / _BEATS,
            stalled_worker_timeout=_BEATS * self._lease,
            shutdown_graceful_timeout=_PAUSE,
        )
        running = asyncio.ensure_future(worker.run())  # type: ignore[no-untyped-call]
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if stopping.done():
            worker.shutdown_graceful_timeout = None  # whoever stops it ends what is under way
            worker.stop()  # type: ignore[no-untyped-call]
        try:
            await running
        except Exception as error:  # it ends with whatever its connection ended with
            if monotonic() - self._complained > _SELDOM:
                log.warning("the queue is away and is tried again: %s", error.__cause__ or error)
                self._complained = monotonic()
        if not stopping.done():
            await asyncio.sleep(_PAUSE)

    async def _attend(
        self, context: JobContext, /, session: str, group: str = "", **_: Any
    ) -> None:
        """The job: attend to the session, then give its place to others of its group."""
        with self._jobs.shares.place(group):
            await self._attend_now(context, session)
        if self._worker is not None:
            self._worker.look_again()

    async def _attend_now(self, context: JobContext, session: str) -> None:
        """Attend to a session; it goes on even if the queue fails."""
        if self._attend_to is None:
            return
        attending = asyncio.ensure_future(self._attend_to(session))
        try:
            await asyncio.shield(attending)
        except asyncio.CancelledError:
            await self._submit_again(context.job, self._lease)
            raise
        except Exception as error:  # foreign code: the session is there, and somebody tries again
            log.warning("session %s is tried again: %s", session, error)
            await self._submit_again(context.job, AGAIN)

    async def _submit_again(self, job: Job, after: float) -> None:
        with suppress(JournalError):  # the job of a lost connection is put back by others
            session, group = (
                str(job.task_kwargs["session"]),
                told(str(job.task_kwargs.get("group", ""))),
            )
            await self.submit(session, job.queue, group=group, after=after)

    async def _tend(self) -> None:
        """Put back the jobs of workers that are gone, as soon as nobody has their sessions."""
        silent = self._lease * (1 - 1 / _BEATS)  # when leases last prolonged a beat earlier end
        while True:
            with suppress(ConnectorException):
                if await self._jobs.put_back(TASK, silent) and self._worker is not None:
                    self._worker.look_again()
            await asyncio.sleep(min(_LOOK, self._lease / _BEATS))
