"""A store that tells one listener which sessions change in this process."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol, cast

from rondel.engine import ticks
from rondel.engine.ticks import AnyTick
from rondel.journal.store import Durable, SessionRow, Store

TOLD = frozenset({ticks.Suspended, ticks.Answered, ticks.Locked, ticks.Unlocked})
"""Ticks that are reported even if they do not change the status."""


SAMPLE = 16
"""One write in this many is timed."""


class NewsListener(Protocol):
    """Is told of changes."""

    def driven(self, id: str) -> None:
        """This process now drives the session."""
        ...

    def released(self, id: str) -> None:
        """This process no longer drives the session."""
        ...

    def changed(self, id: str, status: str | None) -> None:
        """The session has a new status, or a question, an answer or a lock."""
        ...

    def stored(self, id: str, status: str | None) -> None:
        """What changed is durable: whoever reads the store finds it."""
        ...


class NewsStore:
    """Wraps a store and reports what is written to it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.listener: NewsListener | None = None
        self.took: Callable[[float], object] | None = None
        """Called with the seconds that some writes took."""
        self.stepped: Callable[[float], object] = lambda _: None
        """Called with the seconds that a step took."""
        self._writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def create(self, row: SessionRow, owner: str | None = None, ttl: float = 0.0) -> Durable:
        """Add a session; it is reported once it has a status."""
        durable = self.store.create(row, owner, ttl)
        self._changed(row.id, row.status, durable)
        return durable

    def set_status(
        self, id: str, status: str, reason: str = "", due: float | None = None
    ) -> Durable:
        """Change the status."""
        durable = self.store.set_status(id, status, reason, due)
        self._changed(id, status, durable)
        return durable

    def append(
        self,
        id: str,
        tick: AnyTick,
        status: str | None = None,
        reason: str = "",
        letter: int | None = None,
        due: float | None = None,
    ) -> Durable:
        """Add a tick."""
        durable = self.store.append(id, tick, status, reason, letter, due)
        if status is not None or type(tick) in TOLD:
            self._changed(id, status, durable)
        return durable

    def writer(self, id: str) -> Callable[[AnyTick], Durable]:
        """`append` for one session, which is driven here from now on."""
        append = self.store.writer(id)
        if self.listener is not None:
            self.listener.driven(id)

        def write(tick: AnyTick) -> Durable:
            durable = append(tick)
            if type(tick) in TOLD:
                self._changed(id, None, durable)
            elif isinstance(tick, ticks.Finished | ticks.Failed):
                self.stepped(tick.took)
            self._writes += 1
            if self._writes % SAMPLE == 0 and isinstance(durable, Future):
                self._time(durable)
            return durable

        return write

    def release(self, id: str, owner: str) -> None:
        """Give a lease back."""
        self.store.release(id, owner)
        if self.listener is not None:
            self.listener.released(id)

    def _time(self, durable: Future[None]) -> None:
        took, began = self.took, perf_counter()
        if took is not None:
            durable.add_done_callback(lambda _: took(perf_counter() - began))

    def _changed(self, id: str, status: str | None, durable: Durable) -> None:
        listener = self.listener
        if listener is None:
            return
        listener.changed(id, status)
        if isinstance(durable, Future):
            durable.add_done_callback(
                lambda done: listener.stored(id, status) if _is_good(done) else None
            )
        else:
            listener.stored(id, status)


def _is_good(done: Future[None]) -> bool:
    return not done.cancelled() and done.exception() is None


def telling(store: Store) -> tuple[Store, NewsStore]:
    """The store, wrapped so that it reports changes."""
    news = NewsStore(store)
    return cast(Store, news), news
