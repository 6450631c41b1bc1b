"""All that a client shows of one session, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from rondel.engine.core.contract import LoopEnd
from rondel.engine.core.frame import Frame
from rondel.engine.core.state import SessionState
from rondel.graph.moments import to_microsecond
from rondel.graph.spec import BudgetSpec
from rondel.journal.store import SessionRow
from rondel.sessions.drive import fold
from rondel.sessions.event import message_json
from rondel.sessions.events import loop_json
from rondel.sessions.records import questions_of, result_of
from rondel.sessions.session import Session
from rondel.sessions.structure import structure_of

if TYPE_CHECKING:
    from rondel.sessions.engine import Engine

LABELS = "labels"
"""The key under which a row's labels hold those of the caller."""


def row_overview(row: SessionRow, driver: str | None) -> dict[str, Any]:
    """What is known of a session without reading its past."""
    return {
        "id": row.id,
        "graph_id": row.graph_id,
        "status": row.status,
        "reason": row.reason,
        "driven_by": driver,
        "created_at": to_microsecond(row.created_at),
        "updated_at": to_microsecond(row.updated_at),
        "inputs": row.inputs,
        "labels": row.labels.get(LABELS) or {},
        "parent": row.parent,
    }


def overview_of(engine: Engine, session: Session) -> dict[str, Any]:
    """Everything about a session except its steps, rounds and events."""
    row = session.row
    state = state_of(engine, session)
    result = msgspec.to_builtins(result_of(session.id, state))
    del result["session_id"], result["loops"]
    return {
        **row_overview(row, engine.driver_of(row.id)),
        **result,
        "steps": state.step_count,
        "loops": loops_of(state),
        "limits": _limits_of(state),
        "breaker": _breaker(state),
        "questions": open_questions(state),
        "graph": _graph(engine, row),
    }


def state_of(engine: Engine, session: Session) -> SessionState:
    """The session's state: as this process drives it, or folded from its journal."""
    drive = session.drive
    return drive.state if drive is not None else fold(engine.store, session.id, session.plan).state


def open_questions(state: SessionState) -> list[dict[str, Any]]:
    """The open questions with the messages that the person is to look at, oldest first."""
    found = []
    for number, record in zip(state.questions, questions_of(state), strict=True):
        fields: dict[str, Any] = msgspec.to_builtins(record)
        fields["messages"] = [message_json(message) for message in _shown(state, number)]
        found.append(fields)
    return found


def _shown(state: SessionState, number: int) -> list[Any]:
    if number > 0:
        return list(state.steps[number].inputs)
    frame = state.frames[-number]
    emitted = frame.progress.last_emitted
    return [m for way in frame.scope.limit_ways if way in emitted for m in emitted[way][3]]


# Loops


def loops_of(state: SessionState) -> list[dict[str, Any]]:
    """Every loop that was entered: its current state, or how its last entry ended."""
    open_heads: dict[str, dict[str, Any]] = {}
    for frame in state.frames.values():
        if frame.scope.head is not None:
            fields = _under_way(state, frame)
            open_heads[fields["loop"]] = fields
    ended = [_over(end) for end in state.loops if end.loop not in open_heads]
    return [*ended, *open_heads.values()]


def _under_way(state: SessionState, frame: Frame) -> dict[str, Any]:
    progress = frame.progress
    budget = frame.scope.contract.budget
    running = state.active - progress.active_at_start
    return {
        "loop": state.plan.nodes[frame.scope.head or 0].id,
        "address": frame.address,
        "under_way": True,
        "round": frame.round,
        "max_rounds": progress.allowance,
        "score": progress.last_value,
        "target": frame.scope.target,
        "best_round": progress.best_round,
        "best_score": progress.best_value,
        "budget": _meters(budget, progress.tokens, progress.usd, running, progress.grants),
        "end": None,
    }


def _over(end: LoopEnd) -> dict[str, Any]:
    return {
        "loop": end.loop,
        "address": end.address,
        "under_way": False,
        "round": end.rounds,
        "max_rounds": None,
        "score": getattr(end, "score", None),
        "target": getattr(end, "target", None),
        "best_round": end.best_round,
        "best_score": None,
        "budget": None,
        "end": {**loop_json(end), "entries": end.entries},
    }


# Limits


def _limits_of(state: SessionState) -> dict[str, Any]:
    """What the run may take, and what it has taken."""
    limits = state.plan.spec.limits
    meters = _meters(limits.budget, state.spent.tokens, state.spent.usd, state.active)
    return {"steps": {"spent": state.step_count, "limit": limits.max_steps}, **meters}


def _meters(
    budget: BudgetSpec, tokens: int, usd: float, seconds: float, grants: int = 1
) -> dict[str, Any]:
    spent = {"tokens": tokens, "usd": usd, "wall_time": round(max(seconds, 0.0), 3)}
    return {
        name: {"spent": value, "limit": _times(getattr(budget, name), grants)}
        for name, value in spent.items()
    }


def _times(limit: float | None, grants: int) -> float | None:
    return None if limit is None else limit * grants


def _breaker(state: SessionState) -> dict[str, Any]:
    lock = state.lock
    fields = None
    if lock is not None:
        fields = {
            "reason": lock.reason,
            "message": lock.message,
            "figures": lock.figures,
            "at": to_microsecond(lock.at),
        }
    return {"on": state.plan.spec.breaker is not None, "lock": fields}


def _graph(engine: Engine, row: SessionRow) -> dict[str, Any]:
    outline = engine.outline_of(row)
    text = yaml.safe_dump(row.document, sort_keys=False, allow_unicode=True, width=100)
    return {"id": row.graph_id, "text": text, "document": row.document, **structure_of(outline)}
