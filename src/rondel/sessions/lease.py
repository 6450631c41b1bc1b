"""Which process drives a session: its name, its lease, and the clock it goes by."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Generator
from typing import Any

from rondel.engine.core.state import SessionState
from rondel.errors import JournalUnwritable, LeaseLost
from rondel.journal.clock import Clock, elapsed
from rondel.journal.process import began, processes
from rondel.journal.store import Store, finish

_PARTS = 4


def new_owner() -> str:
    """A name for this engine: machine, process, when that process began, and a random part."""
    pid = os.getpid()
    return f"{_machine()}:{pid}:{began(pid)}:{secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether that owner was a process of this machine that has ended.

    False for another machine, or a container whose processes cannot be seen: its leases run out.
    """
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) != _PARTS or parts[0] != _machine() or not parts[1].isdigit():
        return False
    return parts[2] != began(int(parts[1]))


def process_of(owner: str) -> str:
    """An owner as text: its process, and its machine unless it is this one."""
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) != _PARTS:
        return owner
    here = parts[0] == _machine()
    return f"process {parts[1]}" + ("" if here else f" on {parts[0].partition('/')[0]}")


def _machine() -> str:
    """The name of this machine and of its group of processes; containers may share a name."""
    return f"{socket.gethostname()}/{processes()}"


class DrivenLease:
    """Whether this process still has the session, by a clock that also runs while it is stopped.

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
        """Whether no other process can have taken the session yet."""
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
                if self._store.ready() is None:  # the store is there, and cannot be written
                    raise


class Clocks:
    """The clock of each session: the store's, unless the session's past is ahead of it."""

    def __init__(self, store: Store) -> None:
        self._now = store.now
        self._ahead: dict[str, Clock] = {}

    def clock_of(self, id: str, state: SessionState) -> Callable[[], float]:
        """The clock of a session; it never shows less than the session's last tick."""
        if self._now() >= state.last_at:
            self._ahead.pop(id, None)
            return self._now
        kept = self._ahead.get(id)
        if kept is None or kept.now() < state.last_at:
            kept = self._ahead[id] = Clock(state.last_at)
        return kept.now
