"""Procrastinate's queue with turns between groups, and a worker that gives no group all its places.

Of a group's sessions, the further back one is in the group's own line, the lower its priority: so
the first of every group come before the hundredth of any. A group that has its share of a worker
is passed over there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from procrastinate.connector import BaseAsyncConnector, BaseConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.worker import Worker
from psycopg.errors import RaiseException

from rondel.dispatch.dispatcher import Shares
from rondel.journal.postgres.leases import is_driven

LINE = 1000
"""The most waiting sessions of a group that lower the priority of a new one."""

TRIES = 60
"""How often it is tried to note a job's end, a second apart."""

_PAUSE = 1.0

INDEX = """
SELECT pg_advisory_xact_lock(1380929093);
CREATE INDEX IF NOT EXISTS rondel_jobs_of_group
ON procrastinate_jobs (queue_name, (args->>'group')) WHERE status = 'todo'
"""

_WAITING = """
SELECT count(*) AS jobs FROM (
    SELECT 1 FROM procrastinate_jobs WHERE status = 'todo' AND queue_name = %(queue)s
    AND args->>'group' = %(group)s LIMIT %(most)s
) waiting
"""

_IN_LINE = """
SELECT queueing_lock FROM procrastinate_jobs
WHERE status = 'todo' AND queueing_lock = ANY(%(sessions)s::varchar[])
"""

# As procrastinate's own, without the locks that no job of ours has.
_FETCH = """
WITH candidate AS (
    SELECT id FROM procrastinate_jobs
    WHERE status = 'todo' AND queue_name = ANY(%(queues)s)
    AND (scheduled_at IS NULL OR scheduled_at <= now()) AND args->>'group' <> ALL(%(full)s)
    ORDER BY priority DESC, id LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE procrastinate_jobs job SET status = 'doing', worker_id = %(worker_id)s
FROM candidate WHERE job.id = candidate.id
RETURNING job.id, status, task_name, priority, lock, queueing_lock, args, scheduled_at,
    queue_name, attempts, worker_id
"""

# Of the jobs of one session the newest is enough, and it is of no use while a lease still runs.
_PUT_BACK = f"""
WITH gone AS (
    SELECT job.id, job.worker_id, EXISTS (
        SELECT 1 FROM procrastinate_jobs other WHERE other.queueing_lock = job.queueing_lock
        AND (other.status = 'todo' OR other.status = 'doing' AND other.id > job.id)
    ) AS is_done_by_another, {is_driven("job.args->>'session'")} AS is_driven
    FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
    WHERE job.status = 'doing' AND job.task_name = %(task)s AND (
        worker.id IS NULL OR worker.last_heartbeat < now() - make_interval(secs => %(seconds)s)
    )
), dropped AS (
    DELETE FROM procrastinate_jobs job USING gone WHERE gone.is_done_by_another
    AND job.id = gone.id AND job.status = 'doing'
    AND job.worker_id IS NOT DISTINCT FROM gone.worker_id
)
UPDATE procrastinate_jobs job SET status = 'todo', attempts = attempts + 1, scheduled_at = now()
FROM gone WHERE NOT gone.is_done_by_another AND NOT gone.is_driven
AND job.id = gone.id AND job.status = 'doing'
    AND job.worker_id IS NOT DISTINCT FROM gone.worker_id
RETURNING job.id
"""  # noqa: S608


class FairJobs(JobManager):
    """The queue without the jobs of groups that have their share here."""

    def __init__(self, connector: BaseAsyncConnector, shares: Shares) -> None:
        super().__init__(connector)
        self.shares = shares

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """The next job for this worker, if there is one."""
        full = self.shares.full
        if not full or queues is None:
            return await super().fetch_job(queues, worker_id)
        rows = await self.connector.execute_query_all_async(
            _FETCH, queues=list(queues), full=full, worker_id=worker_id
        )
        return Job.from_row(rows[0]) if rows else None

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Finish a job, unless it was given to another worker meanwhile."""
        tries = 0
        while True:
            try:
                await super().finish_job(job, status, delete_job)
                return
            except ConnectorException as error:
                tries += 1
                if isinstance(error.__cause__, RaiseException) or tries >= TRIES:
                    return  # if need be it is put back with this worker's other jobs
            await asyncio.sleep(_PAUSE)

    async def in_line(self, sessions: Iterable[str]) -> set[str]:
        """Which of these sessions have a job that waits."""
        found = await self.connector.execute_query_all_async(_IN_LINE, sessions=list(sessions))
        return {row["queueing_lock"] for row in found}

    async def put_back(self, task: str, seconds: float) -> bool:
        """Put back the jobs of workers that have been silent for so long; False if there are none.

        A job comes back once nobody drives its session. It is dropped where another one for the
        same session is done by somebody or will be.
        """
        found = await self.connector.execute_query_all_async(_PUT_BACK, task=task, seconds=seconds)
        return bool(found)


class FairWorker(Worker):
    """A worker that can be told to look for jobs again."""

    def look_again(self) -> None:
        """Look for jobs again: a group has a free place."""
        self._new_job_event.set()


async def waiting(connector: BaseConnector, queue: str, group: str) -> int:
    """How many sessions of the group wait in a queue."""
    where = {"queue": queue, "group": group, "most": LINE}
    found = await connector.execute_query_one_async(_WAITING, **where)
    return int(found["jobs"])
