"""`rondel show`: one session, what became of it, and every step."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
import typer

from rondel.cli.database import NextCommands, find, next_commands, open_existing
from rondel.cli.language import translated, translated_lines, words
from rondel.cli.options import AsDocument, Db, Id, Last
from rondel.cli.session_json import print_with_lists, session_json
from rondel.cli.sessions import inputs_text
from rondel.cli.tables import cells, length, moment, print_table, short, wide
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
            print(words("steps"))
            for step in _steps(session, last):
                _print_step(step)
        if calls:
            rows = [_call_cells(call) for call in session.ledger()]
            print_table(CALLS, rows, right=CALLS[2:-1])
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
    print_figure("session", row.id)
    print_figure("graph", row.graph_id)
    print_figure("status", status_text(result))
    _print_driver(session, result.status, driver, how)
    print_figure("created", moment(row.created_at))
    print_figure("changed", moment(row.updated_at))
    if row.parent is not None:
        told = "{parent}, with its first {ticks} ticks"
        print_figure("fork of", words(told, parent=row.parent, ticks=row.parent_length))
    print_figure("inputs", inputs_text(row.inputs, 200) or words("none"))
    for loop in result.loops:
        print_figure("loop", loop_text(loop))
    if result.usage.model_calls:
        print_figure("usage", usage_text(result.usage))
    for question in session.asking:
        print_figure("question", question_text(question))
        if driver is None:
            node = question.node_id if len(session.asking) > 1 else None
            print_figure("", words("answer it with: {command}", command=how.answer(node)))
    if result.output is not None:
        print(f"{words('output')}\n\n{result.output}\n")


def _print_driver(session: Session, status: str, driver: str | None, how: NextCommands) -> None:
    """Who drives the session, or what makes it go on."""
    if driver is not None:
        print_figure("driven by", driver)
    elif status in ("running", "pending", "paused"):
        print_figure("driven by", words("nobody; go on with: {command}", command=how.resume()))
    elif status == "failed" and not session.is_over:
        print_figure("failed", how.after_failure(session.snapshot().reason))
    elif status == "suspended_locked":
        print_figure("locked", words("open it with: {command}", command=how.unlock()))


def question_text(question: QuestionRecord) -> str:
    """A question on one line."""
    actions = f" ({', '.join(question.actions)})" if question.actions else ""
    text = short(translated_lines(question.description), 200) or words("an answer is needed")
    return f"{question.node_id}: {text}{actions}"


def _call_cells(call: CallRecord) -> tuple[str, ...]:
    tokens = f"{call.input_tokens:,}", f"{call.cached_tokens:,}", f"{call.output_tokens:,}"
    again = words("attempt {number}", number=call.attempt) if call.attempt > 1 else ""
    end = ", ".join(filter(None, (call.finish_reason, again)))
    return call.address, call.model, *tokens, money(call.usd), length(call.duration), end


def print_figure(name: str, text: str) -> None:
    """Print one figure of a session after its name."""
    print(f"{wide(words(name) if name else '', 11)}{text}")


def _print_step(step: StepRecord) -> None:
    figures = f"{step.status}, {length(step.duration)}"
    if step.usage.tokens:
        figures += ", " + words("{tokens:,} tokens", tokens=step.usage.tokens)
    print(f"  {step.address}: {figures}")
    shown = [(words("in"), step.inputs), (words("out"), step.outputs)]
    if step.recalled:
        shown.insert(0, (words("recall"), step.recalled))
    width = 1 + max(cells(name) for name, _ in shown)
    for name, messages in shown:
        for message in messages:
            print(f"    {wide(name, width)}{_message(message)}")
    if step.error is not None:
        print(f"    {short(translated(step.error), 100)}")


def _step_json(step: StepRecord) -> dict[str, Any]:
    """A step as JSON; empty recalls are left out."""
    fields: dict[str, Any] = msgspec.to_builtins(step)
    if not step.recalled:
        del fields["recalled"]
    return fields


def _message(message: dict[str, Any]) -> str:
    return f"{message['source']}: {short(content_text(message), 90)}"
