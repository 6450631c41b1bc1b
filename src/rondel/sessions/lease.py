"""This process's lease of a session, and how long it can count on it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from rondel.errors import JournalUnwritable, LeaseLost
from rondel.journal.clock import elapsed
from rondel.journal.store import Store, finish


class DrivenLease:
    """Whether the session is still this process's, by a clock that goes on while it stands still.

    Who is stopped in the middle of something (SIGSTOP, a laptop that sleeps) may wake up when
    others have gone on with its sessions. So nothing begins that `stands` does not allow; awaiting
    the lease renews it, or raises LeaseLost.
    """

    __slots__ = ("_id", "_owner", "_store", "_ttl", "_until")

    def __init__(self, store: Store, id: str, owner: str, ttl: float, since: float) -> None:
        self._store = store
        self._id = id
        self._owner = owner
        self._ttl = ttl
        self._until = since + ttl / 2

    @property
    def stands(self) -> bool:
        """Whether nobody else can have taken the session; if not, they may have."""
        return elapsed() < self._until

    def renew(self) -> None:
        """Prolong it; LeaseLost if it is not this process's any more."""
        asked = elapsed()
        if not self._store.renew(self._id, self._owner, self._ttl):
            raise LeaseLost(
                f"session {self._id!r} was left alone for longer than its lease, and another "
                "process has taken it"
            )
        self._until = asked + self._ttl / 2

    def __await__(self) -> Generator[Any, None, None]:
        return self._renewed().__await__()

    async def _renewed(self) -> None:
        """Prolong it, as soon as the store can be reached."""
        while not self.stands:
            await finish(self._store.ready())
            try:
                self.renew()
            except JournalUnwritable:
                if self._store.ready() is None:  # it is not for being away
                    raise
