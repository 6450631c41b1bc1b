"""`rondel show`: one session, what became of it, and every step."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import typer

from rondel.cli.database import NextCommands, find, next_commands, open_existing
from rondel.cli.options import AsDocument, Db, Debug, Id, Last
from rondel.cli.session_json import print_with_lists, session_json
from rondel.cli.sessions import inputs_text
from rondel.cli.tables import length, moment, print_table, short
from rondel.cli.views import content_text, loop_text, money, status_text, usage_text
from rondel.errors import CallError
from rondel.sessions.engine import Engine
from rondel.sessions.records import CallRecord, QuestionRecord, StepLister, StepRecord
from rondel.sessions.session import Session

CALLS = ("ADDRESS", "MODEL", "IN", "CACHED", "OUT", "COST", "DURATION", "END")


def show(
    session: Id,
    steps: Annotated[
        bool, typer.Option("--steps", help="Every step with its inputs and outputs.")
    ] = False,
    calls: Annotated[
        bool, typer.Option("--calls", help="Every model call: where, which model, what it took.")
    ] = False,
    last: Last = None,
    as_json: AsDocument = False,
    db: Db = None,
    debug: Debug = False,  # noqa: ARG001
) -> int:
    """Show a session: its state, inputs, loops, cost, open questions and output."""
    if last is not None and not steps:
        raise CallError("--last says how many steps are shown; add --steps")
    return asyncio.run(_show(db, session, steps, last, calls, as_json))


async def _show(
    db: str | None, id: str, steps: bool, last: int | None, calls: bool, as_json: bool
) -> int:
    async with open_existing(db) as engine:
        session = find(engine, id)
        if as_json:
            lists: dict[str, Iterable[Any]] = {}
            if steps:
                lists["steps"] = map(_step_json, _steps(session, last))
            if calls:
                lists["calls"] = session.ledger()
            print_with_lists(session_json(engine, session), lists)
            return 0
        _print(engine, session, db)
        if steps:
            print("steps")
            for step in _steps(session, last):
                _print_step(step)
        if calls:
            rows = [_call_cells(call) for call in session.ledger()]
            print_table(CALLS, rows, right="IN CACHED OUT COST DURATION")
    return 0


def _steps(session: Session, last: int | None) -> Iterable[StepRecord]:
    """All steps as they are found, or the last so many."""
    if last is not None:
        return session.steps(last)
    return StepLister(session.plan).stream(session.past.ticks())


def _print(engine: Engine, session: Session, db: str | None) -> None:
    row, result = session.row, session.snapshot()
    driver = engine.driver_of(session.id)
    how = next_commands(session, db)
    _line("session", row.id)
    _line("graph", row.graph_id)
    _line("status", status_text(result))
    _print_driver(session, result.status, driver, how)
    _line("created", moment(row.created_at))
    _line("changed", moment(row.updated_at))
    if row.parent is not None:
        _line("fork of", f"{row.parent}, with its first {row.parent_length} ticks")
    _line("inputs", inputs_text(row.inputs, 200) or "none")
    for loop in result.loops:
        _line("loop", loop_text(loop))
    if result.usage.model_calls:
        _line("usage", usage_text(result.usage))
    for question in session.asking:
        _line("question", question_text(question))
        if driver is None:
            node = question.node_id if len(session.asking) > 1 else None
            _line("", f"answer it with: {how.answer(node)}")
    if result.output is not None:
        print(f"output\n\n{result.output}\n")


def _print_driver(session: Session, status: str, driver: str | None, how: NextCommands) -> None:
    """Who drives the session, or what makes it go on."""
    if driver is not None:
        _line("driven by", driver)
    elif status in ("running", "pending", "paused"):
        _line("driven by", f"nobody; go on with: {how.resume()}")
    elif status == "failed" and not session.is_over:
        _line("failed", f"run that step again with: {how.resume()}")
    elif status == "suspended_locked":
        _line("locked", f"open it with: {how.unlock()}")


def question_text(question: QuestionRecord) -> str:
    """A question on one line."""
    actions = f" ({', '.join(question.actions)})" if question.actions else ""
    text = short(question.description, 200) or "an answer is needed"
    return f"{question.node_id}: {text}{actions}"


def _call_cells(call: CallRecord) -> tuple[str, ...]:
    tokens = f"{call.input_tokens:,}", f"{call.cached_tokens:,}", f"{call.output_tokens:,}"
    again = f"attempt {call.attempt}" if call.attempt > 1 else ""
    end = ", ".join(filter(None, (call.finish_reason, again)))
    return call.address, call.model, *tokens, money(call.usd), length(call.duration), end


def _line(name: str, text: str) -> None:
    print(f"{name:11}{text}")


def _print_step(step: StepRecord) -> None:
    figures = f"{step.status}, {length(step.duration)}"
    if step.usage.tokens:
        figures += f", {step.usage.tokens:,} tokens"
    print(f"  {step.address}: {figures}")
    width = 7 if step.recalled else 4
    shown = ("recall", step.recalled), ("in", step.inputs), ("out", step.outputs)
    for name, messages in shown:
        for message in messages:
            print(f"    {name:{width}}{_message(message)}")
    if step.error is not None:
        print(f"    {short(step.error, 100)}")


def _step_json(step: StepRecord) -> dict[str, Any]:
    """A step as JSON; that nothing was recalled need not be said."""
    fields: dict[str, Any] = msgspec.to_builtins(step)
    if not step.recalled:
        del fields["recalled"]
    return fields


def _message(message: dict[str, Any]) -> str:
    return f"{message['source']}: {short(content_text(message), 90)}"
