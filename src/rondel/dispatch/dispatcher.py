"""The protocol of dispatchers: they bring sessions to the machines that drive them.

A dispatcher says who should look at a session, and no more than that: it may say so twice, or when
there is nothing to do. That only one drives a session is the journal's business (its leases and
its fenced append), and what there is to do is in the journal.
"""

from __future__ import annotations

from asyncio import Event
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rondel.journal.store import SessionRow
from rondel.journal.working_memory import group_of

QUEUE = "rondel"
"""The default queue."""

GROUP = "group"
"""The label of a session that names its group; else its inputs may, with `group_id`."""

LABEL = "queue"
"""The label of a session that names the queue it waits in."""

CONCURRENCY = 100
"""How many sessions a worker drives at once; most of them wait for a model."""

Attend = Callable[[str], Awaitable[None]]
"""Does what is due in a session; returns when nothing is under way in it any more."""


def group_name(row: SessionRow) -> str:
    """The group that a session takes its turn in, empty if it names none."""
    label = row.labels.get(GROUP)
    if isinstance(label, str) and label:
        return label
    group = group_of(row.id, row.inputs)
    return "" if group.own else group.name


class Dispatcher(Protocol):
    """Brings sessions to workers."""

    async def open(self) -> None:
        """Connect, and prepare what is needed."""
        ...

    async def submit(
        self, session: str, queue: str = QUEUE, *, group: str = "", after: float = 0.0
    ) -> None:
        """Have some worker attend to the session, after so many seconds.

        A session that waits already waits once; one that is being attended to is attended to
        again. Sessions of different groups take turns, however many one group has waiting.
        """
        ...

    async def missing(self, sessions: Sequence[str]) -> list[str]:
        """Those of these that do not wait in line; all of them where that is not known."""
        ...

    async def work(
        self,
        attend: Attend,
        stop: Event,
        queues: Sequence[str] = (QUEUE,),
        concurrency: int = CONCURRENCY,
        per_group: int | None = None,
    ) -> None:
        """Attend to what is submitted until told to stop; then end what is under way.

        At most `concurrency` sessions at once, and `per_group` of one group that has a name.

        If `attend` raises, or the process dies, the session is brought to some worker again.
        """
        ...

    async def close(self) -> None:
        """Let go of the connections."""
        ...


class Shares:
    """The places of groups in a worker; sessions without a group are not limited."""

    def __init__(self, per_group: int | None = None) -> None:
        self._per_group = per_group
        self._taken: Counter[str] = Counter()

    @property
    def full(self) -> list[str]:
        """The groups without a free place."""
        most = self._per_group
        if most is None:
            return []
        return [group for group, taken in self._taken.items() if group and taken >= most]

    @contextmanager
    def place(self, group: str) -> Iterator[None]:
        """Take a place of the group inside this context."""
        self._taken[group] += 1
        try:
            yield
        finally:
            self._taken[group] -= 1
            if not self._taken[group]:
                del self._taken[group]
