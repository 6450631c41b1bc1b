"""Forking: where in the journal an address is, and what may be different from there on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rondel.engine import ticks
from rondel.engine.core import effects as fx
from rondel.engine.core.effects import Effect
from rondel.engine.core.fold import apply, replay
from rondel.engine.core.state import ENDED, SessionState
from rondel.engine.emit import Emit
from rondel.engine.message import Message
from rondel.errors import CallError
from rondel.graph.plan import Plan
from rondel.sessions.changes import is_of_graph
from rondel.sessions.difference import first_difference
from rondel.sessions.graph import Graph

if TYPE_CHECKING:
    from rondel.sessions.session import Session

INPUTS, ANSWER, OUTPUT = "inputs", "answer", "output"


@dataclass(frozen=True, slots=True)
class Fork:
    """What a new session shares with its parent, and in what it differs."""

    length: int
    graph: Graph
    inputs: dict[str, Any]
    answer: Any = None
    output: tuple[str, Emit] | None = None
    """The address of a step, and what it says there."""


def plan_fork(session: Session, at: str | None, changes: dict[str, Any]) -> Fork:
    """The fork at an address with these changes by path, or a CallError that says what is wrong.

    Without an address it begins where the changes first make a difference.
    """
    inputs: dict[str, Any] = {}
    of_graph: dict[str, Any] = {}
    for path, value in changes.items():
        kind, _, rest = path.partition(".")
        if is_of_graph(path):
            of_graph[path] = value
        elif kind == INPUTS and rest:
            inputs[rest] = value
        elif path not in (ANSWER, OUTPUT):
            raise CallError(
                f"a fork cannot change {path!r}; it can change inputs.KEY, nodes.ID.config.KEY, "
                "loops.HEAD.KEY, limits.KEY, breaker.KEY, answer and output"
            )
    journal = session.journal()
    graph = session.graph.with_changes(of_graph) if of_graph else session.graph
    length = _length(session, graph, at, changes, journal)
    if inputs and length > 1:
        raise CallError(f"the inputs were read before {at}; fork at the first step to change them")
    output = None
    if OUTPUT in changes and at is not None:
        output = at, _said(session.plan, journal[: length + 1], at, changes[OUTPUT])
    given = {**session.row.inputs, **inputs}
    return Fork(0 if inputs else length, graph, given, changes.get(ANSWER), output)


def _length(
    session: Session,
    graph: Graph,
    at: str | None,
    changes: dict[str, Any],
    journal: Sequence[ticks.AnyTick],
) -> int:
    """How many ticks the fork shares with its parent."""
    paths = " and ".join(changes)
    changed = graph is not session.graph
    parting = first_difference(session.plan, graph.plan(), journal) if changed else None
    if at is not None:
        length = position_of(session.plan, journal, at, answering=ANSWER in changes)
        if parting is not None and length > parting:
            raise CallError(
                f"with another {paths} session {session.id} does not come to {at}; fork earlier, "
                "or leave out the address to fork where it first makes a difference"
            )
        return length
    if changes and all(path.startswith(f"{INPUTS}.") for path in changes):
        return 0
    if not changed or ANSWER in changes or OUTPUT in changes:
        raise CallError("say where to fork: --at ADDRESS")
    if parting is None and session.status in ENDED:
        raise CallError(
            f"another {paths} makes no difference to what session {session.id} did; say where to "
            "fork: --at ADDRESS"
        )
    return len(journal) if parting is None else parting


def _said(plan: Plan, past: Sequence[ticks.AnyTick], at: str, said: Any) -> Emit:
    """What a step says in the fork, in the place of what it said; else it is as it was."""
    state, last = SessionState(plan), past[-1] if past else None
    for tick in past[:-1]:
        apply(state, tick)
    if not isinstance(last, ticks.Finished | ticks.Failed) or state.steps[last.step].address != at:
        raise CallError(f"output is what a step said that has ended; there is none at {at!r}")
    message = _message(said)
    if isinstance(last, ticks.Failed):
        return Emit([message])
    return Emit([message], last.state, last.verdict)


def _message(said: Any) -> Message:
    """A text, or content and data."""
    if isinstance(said, str):
        return Message(said)
    if isinstance(said, dict) and said.keys() <= {"content", "data"}:
        content, data = said.get("content", ""), said.get("data", {})
        if isinstance(content, str) and isinstance(data, dict):
            return Message(content, data)
    raise CallError('output is a text, or {"content": TEXT, "data": OBJECT}')


def position_of(plan: Plan, journal: Any, address: str, *, answering: bool = False) -> int:
    """How many ticks lie before an address.

    A step's address is before its outcome, or before the answer it got; a loop's with a round is
    where that round began, or, for another answer, where it was answered.
    """
    state = SessionState(plan)
    known: dict[str, None] = {}
    for position, (_, effects) in enumerate(replay(state, journal)):
        for effect in effects:
            place = _place(effect, answering=answering)
            if place is None:
                continue
            found, before = place
            if found == address:
                return position if before else position + 1
            known[found] = None
    running = [step.address for step in state.steps.values()]
    running += [state.asker(question)[1] for question in state.questions if question < 0]
    if address in running:
        return len(journal)
    close = get_close_matches(address, [*known, *running], 3, 0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise CallError(f"the session has no step or round at {address!r}{hint}")


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
