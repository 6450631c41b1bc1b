"""Forking: where in the journal an address is, and what may be different from there on."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rondel.engine import effects as fx
from rondel.engine import ticks
from rondel.engine.core import Core
from rondel.engine.effects import Effect
from rondel.errors import CallError
from rondel.graph.plan import Plan
from rondel.sessions.graph import Graph

if TYPE_CHECKING:
    from rondel.sessions.session import Session

NODES, INPUTS, ANSWER = "nodes", "inputs", "answer"


@dataclass(frozen=True, slots=True)
class Fork:
    """What a new session shares with its parent, and in what it differs."""

    length: int
    graph: Graph
    inputs: dict[str, Any]
    answer: Any = None


def plan_fork(session: Session, at: str, changes: dict[str, Any]) -> Fork:
    """The fork at an address with these changes by path, or a CallError that says what is wrong."""
    journal = session.journal()
    length = position_of(session.plan, journal, at, answering=ANSWER in changes)
    nodes: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    answer = None
    for path, value in changes.items():
        kind, _, rest = path.partition(".")
        if kind == NODES and rest:
            nodes[rest] = value
        elif kind == INPUTS and rest:
            inputs[rest] = value
        elif path == ANSWER:
            answer = value
        else:
            raise CallError(
                f"a fork cannot change {path!r}; it can change inputs.KEY, nodes.ID.config.KEY "
                "and answer"
            )
    if inputs and length > 1:
        raise CallError(f"the inputs were read before {at}; fork at the first step to change them")
    graph = session.graph.with_node_changes(nodes) if nodes else session.graph
    given = {**session.row.inputs, **inputs}
    return Fork(0 if inputs else length, graph, given, answer)


def position_of(plan: Plan, journal: Any, address: str, *, answering: bool = False) -> int:
    """How many ticks lie before an address.

    A step's address is before its outcome, or before the answer it got; a loop's with a round is
    where that round began, or, for another answer, where it was answered.
    """
    effects: list[Effect] = []
    core = Core(plan, effects)
    known: dict[str, None] = {}
    for position, tick in enumerate(journal):
        effects.clear()
        core.apply(tick)
        for effect in effects:
            place = _place(effect, answering=answering)
            if place is None:
                continue
            found, before = place
            if found == address:
                return position if before else position + 1
            known[found] = None
    running = [step.address for step in core.steps.all()]
    running += [core.asker(question)[1] for question in core.questions if question < 0]
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
