"""`rondel run`: a graph from start to end, in this terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import typer

from rondel.cli.arguments import Answers, merged, parse_change, parse_inputs, parse_object
from rondel.cli.database import database_of
from rondel.cli.failures import complain, problem_text
from rondel.cli.foreground import Foreground, answers_for
from rondel.cli.graph_files import in_file, open_graph
from rondel.cli.language import words
from rondel.cli.options import Changes, Compat, File, GivenAnswers, InputObject, Inputs
from rondel.cli.terminal_session import Shown
from rondel.errors import CallError
from rondel.graph.names import Names
from rondel.graph.source import Path
from rondel.sessions.engine import Engine
from rondel.sessions.graph import Graph
from rondel.sessions.stores import Durability

DURABILITIES: tuple[Durability, ...] = ("full", "normal", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(Foreground):
    """The options by which a new session is shown and kept."""

    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="PATH|URL",
            help="Where the session is kept; else RONDEL_DB or your data folder. "
            ":memory: keeps nothing.",
        ),
    ] = None
    durability: Annotated[
        str,
        typer.Option(
            "--durability",
            metavar="full|normal|off",
            help="What may be lost: nothing; nothing but in a power cut; anything.",
        ),
    ] = "normal"
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks, and the edges that fire.")
    ] = False

    def __post_init__(self) -> None:
        if self.durability not in DURABILITIES:
            hint = Names(DURABILITIES, what="there are").hint(self.durability)
            raise CallError(f"--durability: there is no {self.durability!r}; {hint}")

    def open(self) -> Engine:
        """The engine of the database, which need not exist yet."""
        return Engine(
            database_of(self.db),
            durability=cast("Durability", self.durability),
            allow_python=self.allow_python,
            allow_commands=self.allow_commands,
        )


def run(
    file: File,
    *,
    inputs: Inputs = None,
    input_json: InputObject = None,
    changes: Changes = None,
    attach: Annotated[
        list[str] | None,
        typer.Option("--attach", metavar="PATH", help="Give a file along with the task."),
    ] = None,
    answers: GivenAnswers = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:MODEL]",
            envvar="RONDEL_PROVIDER",
            help="Replace every agent's provider, and its model.",
        ),
    ] = None,
    compat: Compat = None,
    debug_loops: Annotated[
        list[str] | None,
        typer.Option(
            "--debug-loop", metavar="HEAD", help="Pause after every round of that loop; repeatable."
        ),
    ] = None,
    foreground: RunOptions,
) -> int:
    """Run a graph with live progress: rounds, scores, cost.

    Questions are answered by --answer, in order; then by the person at the terminal, or by the
    lines of a piped standard input, one a question.

    The session is kept: after a crash, Ctrl-C or an open question it can go on, here or in any
    other process (rondel resume, rondel answer).

    Exit codes: 0 completed, 1 failed, 2 the graph or the call is wrong, 3 bounded (a loop ended
    without its goal), 4 waiting for a human, 5 locked, 130 stopped or paused.
    """
    changed = [parse_change(change) for change in changes or []]
    task = merged(
        parse_inputs(inputs or []),
        parse_object(input_json) if input_json is not None else {},
        {str(path[1]): value for path, value in changed if _is_input(path)},
    )
    of_graph = [change for change in changed if not _is_input(change[0])]
    graph = open_graph(file, of_graph, provider, compat)
    for warning in in_file(graph.warnings, file):
        complain(problem_text(warning), "warning")
    given = answers_for(graph, answers or [])
    run = _run(graph, task, attach or [], debug_loops or [], given, foreground)
    return asyncio.run(run)


async def _run(
    graph: Graph,
    task: dict[str, Any],
    files: Sequence[str],
    debugged: Sequence[str],
    given: Answers,
    foreground: Foreground,
) -> int:
    if files and "attachments" in task:
        raise CallError("-i attachments=... and --attach say the same; use one of them")
    async with foreground.open() as engine:
        engine.bind(graph)  # what is wrong with it is told before a file is kept
        if files:
            task = {**task, "attachments": [await engine.attach(file) for file in files]}
        session = await engine.start(graph, task, debug=debugged)
        title = words("running {graph}", graph=graph.id)
        return await foreground.show(engine, session, title, Shown(), given)


def _is_input(path: Path) -> bool:
    """Whether the path of `--set` is an input, as in a fork."""
    return len(path) == 2 and path[0] == "inputs"
