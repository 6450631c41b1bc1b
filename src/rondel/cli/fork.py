"""`rondel fork`: a new session that shares another's past up to a point."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from rondel.cli.arguments import parse_change, parse_setting
from rondel.cli.database import find, next_commands
from rondel.cli.foreground import Foreground, answers_for, hand_over
from rondel.cli.language import words
from rondel.cli.options import GivenAnswers, GraphFile, Id, NoRun
from rondel.cli.terminal_session import past_of
from rondel.errors import CallError


def fork(
    session: Id,
    file: GraphFile = None,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Before this step's outcome, or where this round begins; default: where the "
            "changes first make a difference.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="What is different: inputs.KEY, nodes.ID.config.KEY, loops.HEAD.KEY, limits.KEY, "
            "breaker.KEY, answer or output.",
        ),
    ] = None,
    no_run: NoRun = False,
    answers: GivenAnswers = None,
    foreground: Foreground,
) -> int:
    """Start a new session whose past is another's up to an address, and go on with it here.

    The parent stays as it is. Exit codes as those of rondel run.
    """
    changed = parse_changes(changes or [])
    return asyncio.run(_fork(session, file, at, changed, no_run, answers or [], foreground))


def parse_changes(options: Sequence[str]) -> dict[str, Any]:
    """The changes of `--set path=value`, by path; as in a file, `graph.` in front is the same."""
    changes: dict[str, Any] = {}
    for option in options:
        path, equals, value = option.partition("=")
        if not path or not equals:
            raise CallError(
                f"--set {option!r} is not path=value; write inputs.KEY=VALUE, "
                "nodes.ID.config.KEY=VALUE, loops.HEAD.KEY=VALUE or answer=VALUE"
            )
        if "[" in path:
            steps, _ = parse_change(option)
            path = ".".join(map(str, steps))
        path = path.removeprefix("graph.")
        changes[path] = parse_setting(path.partition(".")[0], value)
    return changes


async def _fork(
    id: str,
    file: str | None,
    at: str | None,
    changes: dict[str, Any],
    no_run: bool,
    answers: Sequence[str],
    foreground: Foreground,
) -> int:
    async with foreground.open() as engine:
        parent = find(engine, id)
        where = "" if at is None else f" --at {at}"
        hand_over(parent, file, f"rondel fork {parent.id} FILE.py{where}")
        given = answers_for(parent.graph, answers)
        child = await engine.fork(parent, at, changes, run=not no_run)
        title = _title(parent.id, at)
        if no_run:
            how = next_commands(child, foreground.db)
            told = "session {id} is a {title}; go on with: {command}"
            print(words(told, id=child.id, title=title, command=how.resume()))
            return 0
        past = past_of(engine, child, child.origin.parent_length)
        return await foreground.show(engine, child, title, past, given)


def _title(parent: str, at: str | None) -> str:
    if at is None:
        return words("fork of {parent}", parent=parent)
    return words("fork of {parent} at {address}", parent=parent, address=at)
