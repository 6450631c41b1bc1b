"""Forks: where a fork leaves its parent's past, what it changes, and how it begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rondel.engine import ticks
from rondel.engine.core.fold import apply
from rondel.engine.core.state import ENDED, SessionState
from rondel.engine.emit import Emit
from rondel.engine.message import Message
from rondel.errors import CallError
from rondel.graph.plan import Plan
from rondel.graph.spec import BudgetSpec
from rondel.journal.store import SessionRow, Store, finish
from rondel.sessions.changes import is_of_graph
from rondel.sessions.controls import Answer, Resume
from rondel.sessions.deadlines import due_at
from rondel.sessions.delivery import ControlDelivery
from rondel.sessions.drive import fold
from rondel.sessions.graph import Graph
from rondel.sessions.labels import labels_of, new_id
from rondel.sessions.past import Past

if TYPE_CHECKING:
    from rondel.sessions.local_session import LocalSession
    from rondel.sessions.local_sessions import LocalSessions
    from rondel.sessions.session import Session


INPUTS, ANSWER, OUTPUT = "inputs", "answer", "output"


@dataclass(frozen=True, slots=True)
class Fork:
    """What a new session shares with its parent, and what is different in it."""

    length: int
    graph: Graph
    inputs: dict[str, Any]
    answer: Any = None
    output: tuple[str, Emit] | None = None
    """The address of a step, and what it says there."""


def plan_fork(session: Session, at: str | None, changes: dict[str, Any]) -> Fork:
    """The fork at an address with these changes by path; raises CallError if it is impossible.

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
    past = session.past
    graph = session.graph.with_changes(of_graph) if of_graph else session.graph
    length = _length(session, graph, at, changes, past)
    if inputs and length > 1:
        raise CallError(f"the inputs were read before {at}; fork at the first step to change them")
    output = None
    if OUTPUT in changes and at is not None:
        output = at, _said(past, length, at, changes[OUTPUT])
    given = {**session.origin.inputs, **inputs}
    return Fork(0 if inputs else length, graph, given, changes.get(ANSWER), output)


def row_of(session: Session, fork: Fork) -> SessionRow:
    """The row of the fork."""
    return SessionRow(
        id=new_id(),
        graph_id=session.origin.graph_id,
        document=fork.graph.stored.document,
        includes=session.origin.includes,
        inputs=fork.inputs,
        labels={**session.origin.labels, **labels_of(fork.graph)},
        parent=session.id if fork.length else None,
        parent_length=fork.length,
    )


async def start_fork(sessions: LocalSessions, row: SessionRow, fork: Fork) -> LocalSession:
    """Create a fork that goes on at once, in this process."""
    binding = sessions.graphs.bind(fork.graph)
    child = await sessions.create(row, fork.graph, to_drive=True)
    sessions.remember(child)
    if row.parent is None:
        await child.begin(binding, row)
    else:
        await _mark(sessions.store, row.id, row.parent)
        if fork.output is not None:
            await child.speak_for(*fork.output)
        await ControlDelivery(child).deliver(Resume(), run=True)
    if fork.answer is not None:
        await ControlDelivery(child).deliver(Answer(text=fork.answer), run=True)
    return child


async def create_fork(sessions: LocalSessions, row: SessionRow, fork: Fork) -> LocalSession:
    """Create a fork without driving it."""
    store = sessions.store
    child = await sessions.create(row, fork.graph, to_drive=False)
    sessions.remember(child)
    if row.parent is not None:
        await _mark(store, row.id, row.parent)
    if fork.answer is not None:
        await ControlDelivery(child).deliver(Answer(text=fork.answer), run=False)
    elif fork.output is not None:
        child.park(await child.speak_for(*fork.output))
    elif row.parent is not None:
        state = fold(store, row.id, child.plan).state
        due = due_at(state, store.now())
        await finish(store.set_status(row.id, state.status, state.reason, due))
    return child


async def _mark(store: Store, id: str, parent: str) -> None:
    """Record where the fork begins: what the parent spent before is not the fork's."""
    await finish(store.append(id, ticks.Forked(store.now(), parent)))


def _length(
    session: Session,
    graph: Graph,
    at: str | None,
    changes: dict[str, Any],
    past: Past,
) -> int:
    """How many ticks the fork shares with its parent."""
    paths = " and ".join(changes)
    changed = graph is not session.graph
    parting = _first_difference(session.plan, graph.plan(), past.ticks()) if changed else None
    if at is not None:
        length = past.position_of(at, answering=ANSWER in changes)
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
    return past.length if parting is None else parting


def _said(past: Past, length: int, at: str, said: Any) -> Emit:
    """The outcome of a step that ended, with another output in place of its own."""
    state, last = past.state_at(length), next(past.ticks(length, length + 1), None)
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


def _first_difference(before: Plan, after: Plan, journal: Iterable[ticks.AnyTick]) -> int | None:
    """How many ticks of a past two plans share before they differ; None if they never differ.

    The tick at which they first differ is shared too, if it says what a step did and not what a
    contract decided.
    """
    one, other = SessionState(before), SessionState(after)
    for position, tick in enumerate(journal):
        if _is_decided_anew(one, other, tick):
            return position
        begun = one.step_count
        apply(one, tick)
        try:
            apply(other, tick)
        except (LookupError, AssertionError, AttributeError):
            return position
        if _standing(one, begun) != _standing(other, begun):
            return position + 1
    return None


def _standing(state: SessionState, begun: int) -> tuple[Any, ...]:
    """What is under way in a session, and the inputs of its newest steps."""
    frames = [
        (frame.entry, frame.round, frame.checking_until, frame.halted, frame.ways is None)
        for frame in state.frames.values()
    ]
    steps = state.steps.values()
    given: list[list[Message]] = [list(step.inputs) for step in steps if step.number > begun]
    under_way = [(step.number, step.node.index) for step in steps]
    return state.status, state.step_count, frames, under_way, list(state.questions), given


def _is_decided_anew(one: SessionState, other: SessionState, tick: ticks.AnyTick) -> bool:
    """Whether a tick says what a contract decided, and that contract was changed."""
    match tick:
        case ticks.UntilChecked():
            return bool(_until(one, tick.entry) != _until(other, tick.entry))
        case ticks.Refused():
            return _budget(one, tick.entry) != _budget(other, tick.entry)
        case ticks.Aborted():
            untils = [[_until(state, entry) for entry in state.frames] for state in (one, other)]
            return untils[0] != untils[1]
        case _:
            return False


def _until(state: SessionState, entry: int) -> Any:
    return state.frames[entry].scope.contract.until


def _budget(state: SessionState, entry: int) -> BudgetSpec:
    scope = state.frames[entry].scope
    return state.plan.spec.limits.budget if scope.head is None else scope.contract.budget
