"""The past of a session, read in parts: any point is reached from the nearest snapshot."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import TypeVar

from rondel.engine import ticks
from rondel.engine.core import effects as fx
from rondel.engine.core.effects import Effect
from rondel.engine.core.fold import apply
from rondel.engine.core.snapshot import load
from rondel.engine.core.state import SessionState
from rondel.errors import CallError
from rondel.graph.plan import Plan
from rondel.journal.store import Store
from rondel.sessions.records import RoundLister, RoundRecord, StepLister, StepRecord

Ticks = Iterable[ticks.AnyTick]

Listed = TypeVar("Listed", StepRecord, RoundRecord)

COMPARED = 10_000
"""How many addresses a wrong one is compared with, newest first."""


class Past:
    """The ticks of a session and the states between them; nothing of it is kept in memory."""

    def __init__(self, store: Store, id: str, plan: Plan) -> None:
        self._store = store
        self._id = id
        self._plan = plan
        row = store.session(id)
        self.length = row.length if row is not None else 0

    def ticks(self, start: int = 0, stop: int | None = None) -> Iterator[ticks.AnyTick]:
        """The ticks from `start` up to, not including, `stop`."""
        end = self.length if stop is None else min(stop, self.length)
        for batch in self._store.scan(self._id, start):
            yield from batch[: end - start]
            start += len(batch)
            if start >= end:
                return

    def state_at(self, length: int) -> SessionState:
        """The state after the first `length` ticks."""
        state, start = self._nearest(length, [])
        for tick in self.ticks(start, length):
            apply(state, tick)
        return state

    def steps(self, last: int | None = None) -> list[StepRecord]:
        """Every step in logical order, or the `last` ones."""
        if last is None:
            return StepLister(self._plan).list(self.ticks())
        return self._last(last, lambda state: StepLister(self._plan, state).list)

    def rounds(self, last: int | None = None) -> list[RoundRecord]:
        """Every round of every loop in the order they began, or the `last` ones."""
        if last is None:
            return RoundLister(self._plan).list(self.ticks())
        return self._last(last, lambda state: RoundLister(self._plan, state).list)

    def _last(
        self, count: int, lister: Callable[[SessionState], Callable[[Ticks], list[Listed]]]
    ) -> list[Listed]:
        """The last `count` records; no more of the past is read than needed."""
        if count < 1:
            raise CallError(f"how many are to be listed is 1 or more, not {count}")
        found: list[Listed] = []
        for state, start in self._states_backwards():
            found = lister(state)(self.ticks(start))
            if len(found) >= count:
                break
        return found[-count:]

    def _states_backwards(self) -> Iterator[tuple[SessionState, int]]:
        """States to begin from, each with its number of ticks, going further back each time."""
        distance = 1
        while True:
            state, start = self._nearest(max(self.length - distance, 0), [])
            yield state, start
            if start == 0:
                return
            distance = 2 * (self.length - start)

    def position_of(self, address: str, *, answering: bool = False) -> int:
        """How many ticks lie before an address; the newest part is searched first.

        A step's address is before its outcome, or before the answer it got; a loop's with a round
        is where that round began, or, for another answer, where it was answered.
        """
        search = _Search(address, answering)
        guess = self._behind(address)
        if not self._look_back(search, guess) and guess < self.length:
            self._look_back(search, self.length, guess)
        return search.result()

    def _look_back(self, search: _Search, stop: int, least: int = 0) -> bool:
        """Search the past up to `stop`, its newest part first, down to `least`."""
        address = search.address
        while True:
            effects: list[Effect] = []
            state, start = self._nearest(max(stop - 1, 0), effects)
            was_under_way = address in _under_way(state)
            for position, tick in enumerate(self.ticks(start, stop), start):
                effects.clear()
                apply(state, tick)
                if search.finds(effects, position):
                    break
            if stop == self.length and search.found is None:
                search.look_at(_under_way(state), self.length)
            if start <= least or (search.found is not None and not was_under_way):
                return search.found is not None
            stop = start

    def _behind(self, address: str) -> int:
        """A number of ticks after which the address was reached, as near as snapshots tell."""
        low, high = 0, self.length
        while low < high:
            state, start = self._nearest((low + high) // 2, [])
            if start <= low:
                break
            if any(_is_past(reached, address) for reached in _under_way(state)):
                high = start
            else:
                low = start
        return high

    def _nearest(self, at_most: int, effects: list[Effect]) -> tuple[SessionState, int]:
        """The state of the newest snapshot of at most that many ticks, or the beginning."""
        while (snapshot := self._store.latest_snapshot(self._id, at_most)) is not None:
            state = SessionState(self._plan, effects)
            try:
                load(state, snapshot[1])
            except ValueError:
                at_most = snapshot[0] - 1
            else:
                return state, snapshot[0]
        return SessionState(self._plan, effects), 0


class _Search:
    """Looks for the first place of an address, from part to part."""

    def __init__(self, address: str, answering: bool) -> None:
        self.address = address
        self._answering = answering
        self._known: deque[str] = deque(maxlen=COMPARED)
        self.found: int | None = None

    def finds(self, effects: list[Effect], position: int) -> bool:
        """Whether the tick at that position settles the address."""
        for effect in effects:
            place = _place(effect, answering=self._answering)
            if place is None:
                continue
            address, before = place
            if address == self.address:
                self.found = position if before else position + 1
                return True
            self._known.append(address)
        return False

    def look_at(self, under_way: list[str], length: int) -> None:
        """Whether the address is one that has begun and is not settled."""
        self._known.extend(under_way)
        if self.address in under_way:
            self.found = length

    def result(self) -> int:
        if self.found is not None:
            return self.found
        close = get_close_matches(self.address, dict.fromkeys(self._known), 3, 0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise CallError(f"the session has no step or round at {self.address!r}{hint}")


def _is_past(reached: str, address: str) -> bool:
    """Whether a step that is under way lies in a later round of a loop that both are in."""
    for one, other in zip(reached.split("/"), address.split("/"), strict=False):
        (name, _, later), (same, _, earlier) = one.partition("["), other.partition("[")
        if name != same or not (later and earlier):
            return False
        if later != earlier:
            rounds = later.rstrip("]"), earlier.rstrip("]")
            return all(map(str.isdigit, rounds)) and int(rounds[0]) > int(rounds[1])
    return False


def _under_way(state: SessionState) -> list[str]:
    """The addresses of what has begun and is not settled."""
    running = [step.address for step in state.steps.values()]
    return running + [state.asker(question)[1] for question in state.questions if question < 0]


def _place(effect: Effect, *, answering: bool) -> tuple[str, bool] | None:
    """The address that an effect settles, and whether the fork lies before its tick."""
    if isinstance(effect, fx.LoopAnswered) and answering:
        return effect.address, True
    if isinstance(effect, fx.RoundStarted) and not answering:
        return effect.address, False
    outcomes = (ticks.Finished, ticks.Failed, ticks.Answered)
    if isinstance(effect, fx.StepTicked) and isinstance(effect.tick, outcomes):
        return effect.address, True
    return None
