"""A session as Temporal knows it: a workflow that has some worker attend to it.

It is replayed by Temporal and must stay deterministic; histories of earlier versions replay too.
It holds nothing of the session, whose truth is the journal.
"""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy

WORKFLOW = "rondel.session"
ACTIVITY = "rondel.attend"
SIGNAL = "attend"

AGAIN = timedelta(seconds=1)
"""The time until a session is tried again after an error."""

FOREVER = timedelta(days=3650)


@workflow.defn(name=WORKFLOW)
class SessionWorkflow:
    """Lives while some worker has to attend to the session, now or later."""

    def __init__(self) -> None:
        self._is_wanted = False
        self._later: list[float] = []

    @workflow.signal(name=SIGNAL)
    def attend(self, after: float) -> None:
        """Signal: attend to the session after so many seconds."""
        if after > 0:
            self._later.append(workflow.time() + after)
        else:
            self._is_wanted = True

    @workflow.run
    async def run(self, session: str, group: str, lease: float, later: list[float]) -> None:
        """Have the session attended to for as long as that is wanted."""
        self._later += later
        while await self._next():
            await workflow.execute_activity(
                ACTIVITY,
                args=[session, group],
                start_to_close_timeout=FOREVER,
                heartbeat_timeout=timedelta(seconds=lease),
                retry_policy=RetryPolicy(initial_interval=AGAIN, maximum_interval=AGAIN),
                priority=Priority(fairness_key=group or None),
            )
            if workflow.info().is_continue_as_new_suggested():
                if self._is_wanted:
                    self._later.append(0.0)
                workflow.continue_as_new(args=[session, group, lease, self._later])

    async def _next(self) -> bool:
        """Wait until the session is wanted; False if nobody wants it."""
        while not self._is_wanted:
            if not self._later:
                return False
            wait = min(self._later) - workflow.time()
            if wait > 0:
                try:
                    await workflow.wait_condition(lambda: self._is_wanted, timeout=wait)
                except TimeoutError:
                    continue
            else:
                self._is_wanted = True
        now = workflow.time()
        self._later = [time for time in self._later if time > now]
        self._is_wanted = False
        return True
