"""Who watches a session from tick to tick and may lock it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from rondel.engine import ticks
from rondel.engine.core.state import SessionState
from rondel.engine.protocols import Lock, Note


class SessionGuard(Protocol):
    """Middleware of a whole session: it sees what happens, wherever the session runs.

    Steps that finish without a model call and without sub-steps are none of its business.

    What it knows is what the ticks have taught it, so a session that is opened again goes on
    with the same guard; a lock opens for good only when the guard has learnt of the unlock.
    """

    due: Lock | None
    """The lock it has found that no tick records yet."""

    @property
    def alert(self) -> bool:
        """Whether it wants to see every tick, also those that are none of its business."""
        ...

    def weigh(self, state: SessionState, tick: ticks.Finished) -> ticks.Finished:
        """The tick with what the guard measures of it, before it is recorded and folded in."""
        ...

    def learn(self, state: SessionState, tick: ticks.AnyTick) -> Sequence[Lock | Note]:
        """Take in a tick that has been folded in; what it says about it, if anything."""
        ...

    def time_left(self, state: SessionState, now: float) -> float | None:
        """Seconds that the session may still run; None without a bound."""
        ...

    def overdue(self, state: SessionState, now: float) -> Lock:
        """The lock for a session that has run too long."""
        ...

    def dump(self) -> Any:
        """What it knows, as JSON can hold it."""
        ...

    def load(self, known: Any) -> None:
        """Know that again."""
        ...
