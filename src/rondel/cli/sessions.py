"""`rondel sessions`, `rondel show`, `rondel rounds`: what there is, and what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from textwrap import indent
from typing import Annotated, Any

import msgspec
import typer
from rich.cells import cell_len

from rondel.cli.cells import short, wide
from rondel.cli.database import NextCommands, find, next_commands, open_existing
from rondel.cli.language import translated, translated_lines, words
from rondel.cli.options import AsDocument, Db, Id, Last
from rondel.cli.tables import document, json_line, length, moment, print_table
from rondel.cli.views import content_text, loop_text, money, number, status_text, usage_text
from rondel.errors import CallError
from rondel.graph.moments import to_microsecond
from rondel.graph.names import Names
from rondel.journal.store import Page, SessionRow
from rondel.sessions.engine import Engine
from rondel.sessions.records import (
    CallRecord,
    QuestionRecord,
    Result,
    RoundRecord,
    StepLister,
    StepRecord,
)
from rondel.sessions.session import Session

STATUSES = (
    "pending",
    "running",
    "paused",
    "waiting",
    "suspended_locked",
    "completed",
    "bounded",
    "failed",
    "cancelled",
)
SESSIONS = ("ID", "STATUS", "GRAPH", "CREATED", "DRIVEN BY", "INPUTS")
CALLS = ("ADDRESS", "MODEL", "IN", "CACHED", "OUT", "COST", "DURATION", "END")
ROUNDS = (
    "LOOP",
    "ROUND",
    "SCORE",
    "DELTA",
    "TOKENS",
    "SENT",
    "CACHED",
    "COST",
    "DURATION",
    "BEST",
    "EXIT REASON",
)


def sessions(
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="Only those in this state.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option(metavar="ID", help="Only those of this graph.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many at most.")] = 20,
    before: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="The page after the one that named it.")
    ] = None,
    as_json: AsDocument = False,
    db: Db = None,
) -> int:
    """List sessions, newest first.

    --json prints {"sessions": [...], "next": CURSOR or null}.
    """
    if status is not None and status not in STATUSES:
        hint = Names(STATUSES, what="there are").hint(status)
        raise CallError(f"--status: there is no state {status!r}; {hint}")
    return asyncio.run(_sessions(db, (status, graph, before, limit), as_json))


async def _sessions(db: str | None, wanted: tuple[Any, ...], as_json: bool) -> int:
    async with open_existing(db) as engine:
        page = engine.sessions(*wanted)
        drivers = {row.id: engine.driver_of(row.id) for row in page.rows}
    if as_json:
        shown = [_row_json(row, drivers[row.id]) for row in page.rows]
        print(document({"sessions": shown, "next": page.next}))
    else:
        _print_list(page, drivers)
    return 0


def _print_list(page: Page, drivers: dict[str, str | None]) -> None:
    if not page.rows:
        print(words("no sessions"))
        return
    lines = [
        (
            row.id,
            row.status,
            row.graph_id,
            moment(row.created_at),
            _driver_text(row, drivers[row.id]),
            inputs_text(row.inputs),
        )
        for row in page.rows
    ]
    print_table(SESSIONS, lines)
    if page.next is not None:
        print("\n" + words("there are more: --before {cursor}", cursor=page.next))


def inputs_text(inputs: dict[str, Any], width: int = 60) -> str:
    """Inputs on one line."""
    if inputs.keys() == {"task"} and isinstance(inputs["task"], str):
        return short(inputs["task"], width)
    return short(json_line(inputs), width) if inputs else ""


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
            _print_with_lists(_session_json(engine, session), lists)
            return 0
        _print_session(engine, session, db)
        if steps:
            print(words("steps"))
            for step in _steps(session, last):
                _print_step(step)
        if calls:
            rows = [_call_cells(call) for call in session.ledger()]
            print_table(CALLS, rows, right=CALLS[2:-1])
    return 0


def _steps(session: Session, last: int | None) -> Iterable[StepRecord]:
    """All steps, one by one as they are found, or the `last` ones."""
    if last is not None:
        return session.steps(last)
    return StepLister(session.plan).stream(session.past.ticks())


def _print_session(engine: Engine, session: Session, db: str | None) -> None:
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
    print_spent(result)
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
        print_figure("failed", how.after_failure(session.snapshot()))
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


def print_spent(result: Result) -> None:
    """Print how the loops ended, and what model calls took."""
    for loop in result.loops:
        print_figure("loop", loop_text(loop))
    if result.usage.model_calls:
        print_figure("usage", usage_text(result.usage))


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
    width = 1 + max(cell_len(name) for name, _ in shown)
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


def rounds(
    session: Id,
    last: Last = None,
    as_json: AsDocument = False,
    db: Db = None,
) -> int:
    """List every round of every loop: score, tokens, cost, duration, why the loop ended, the best.

    --json prints a list.
    """
    return asyncio.run(_rounds(db, session, last, as_json))


async def _rounds(db: str | None, id: str, last: int | None, as_json: bool) -> int:
    async with open_existing(db) as engine:
        records = find(engine, id).rounds(last)
    if as_json:
        _print_json_list(records)
        print()
    elif not records:
        print(words("no rounds"))
    else:
        print_table(ROUNDS, records, ROUNDS[1:-2], _round_cells)
    return 0


def _round_cells(record: RoundRecord) -> tuple[str, ...]:
    return (
        record.address.rpartition("[")[0],
        str(record.round),
        "" if record.score is None else number(record.score),
        "" if record.delta is None else f"{round(record.delta, 2):+g}",
        f"{record.tokens:,}",
        f"{record.sent_tokens:,}",
        f"{record.cached_tokens:,}",
        money(record.usd),
        length(record.duration),
        words("best") if record.best else "",
        record.exit_reason or "",
    )


# As JSON


def _row_json(row: SessionRow, driver: str | None) -> dict[str, Any]:
    """What is known of a session without reading its past."""
    return {
        "session_id": row.id,
        "graph_id": row.graph_id,
        "status": row.status,
        "reason": row.reason,
        "driven_by": driver,
        "created_at": to_microsecond(row.created_at),
        "updated_at": to_microsecond(row.updated_at),
        "inputs": row.inputs,
        "parent": row.parent,
        "ticks": row.length,
    }


def _session_json(engine: Engine, session: Session) -> dict[str, Any]:
    """All of a session except its steps."""
    result = msgspec.to_builtins(session.snapshot())
    row = _row_json(session.row, engine.driver_of(session.id))
    return {**row, **result, "questions": msgspec.to_builtins(session.asking)}


def _print_json_list(values: Iterable[Any], margin: str = "") -> None:
    """Print a JSON list as `document` writes it, value by value: it may be long."""
    before = "["
    for value in values:
        print(f"{before}\n{indent(document(value), f'{margin}  ')}", end="")
        before = ","
    print(f"\n{margin}]" if before == "," else "[]", end="")


def _print_with_lists(fields: dict[str, Any], lists: dict[str, Iterable[Any]]) -> None:
    """Print a JSON document whose last fields are long lists."""
    print(document(fields).removesuffix("\n}"), end="")
    for name, values in lists.items():
        print(f',\n  "{name}": ', end="")
        _print_json_list(values, "  ")
    print("\n}")


def _driver_text(row: SessionRow, driver: str | None) -> str:
    """The driver of a session as text, and a note if it needs one and has none."""
    return driver or ("nobody" if row.status in ("running", "pending") else "")
