"""Drives a session in this terminal with live progress, for `run`, `resume`, `answer` and
others."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path as FilePath

from rondel.certificate import lints_explaining
from rondel.cli.arguments import Answers
from rondel.cli.database import NextCommands, is_python, next_commands, open_existing
from rondel.cli.failures import FAILED, complain, problem_text
from rondel.cli.graph_files import open_graph
from rondel.cli.keyboard import Keyboard
from rondel.cli.language import words
from rondel.cli.live.view import view_for
from rondel.cli.options import AllowCommands, AllowPython, AsEvents, Db, Debug, Functions, NoInput
from rondel.cli.terminal_session import Shown, TerminalSession
from rondel.cli.views import JsonView, PlainView, View
from rondel.errors import CallError, GraphError, JournalError
from rondel.journal.memory import MemoryStore
from rondel.sessions.agents import configs_of
from rondel.sessions.engine import Engine
from rondel.sessions.fingerprints import change_of_code, fingerprints_of
from rondel.sessions.graph import Graph
from rondel.sessions.labels import CODE
from rondel.sessions.records import Result
from rondel.sessions.session import Session

HUMAN = "human"
STOPPED = 130
EXIT_CODES = {
    "completed": 0,
    "failed": 1,
    "bounded": 3,
    "waiting": 4,
    "suspended_locked": 5,
    "cancelled": STOPPED,
    "paused": STOPPED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreground:
    """The options by which a session is driven and shown in this terminal."""

    as_json: AsEvents = False
    no_input: NoInput = False
    allow_python: AllowPython = False
    allow_commands: AllowCommands = False
    functions: Functions = None
    db: Db = None
    debug: Debug = False

    def open(self) -> Engine:
        """The engine of the database, with what it may do."""
        return open_existing(self.db, self.allow_python, self.allow_commands)

    async def show(
        self,
        engine: Engine,
        session: Session,
        title: str,
        past: Shown,
        given: Answers | None = None,
    ) -> int:
        """Show a session that is under way, to its end or its rest; the exit code says which."""
        graph = session.graph
        durable = not isinstance(engine.store, MemoryStore)
        view: View = JsonView() if self.as_json else view_for(graph.plan())
        agents = (agent for node in graph.plan().nodes for agent in configs_of(node.spec))
        simulated = any("provider" not in agent.model_fields_set for agent in agents)
        if durable:
            title = words("{title}, session {id}", title=title, id=session.id)
        past.current.restart(time.time())
        view.open(title, simulated=simulated, past=past.current)
        keyboard = None if self.no_input else Keyboard()
        given = given or answers_for(graph, ())
        conversation = TerminalSession(view, given, keyboard, self.debug)
        how = next_commands(session, self.db)
        try:
            result = await conversation.hold(session, past, durable=durable)
        except JournalError as error:
            view.pause()
            complain(str(error))
            complain(
                words("nothing recorded is lost; then go on with: {command}", command=how.resume()),
                "note",
            )
            return FAILED
        view.close(result)
        _tell(result, conversation, how if durable else None, over=session.is_over)
        _explain(result, graph)
        stays = conversation.interrupted and result.status not in ("completed", "bounded", "failed")
        return STOPPED if stays else EXIT_CODES.get(result.status, STOPPED)

    def report(self, session: Session) -> int:
        """Show what became of a session that is over; the exit code is that of its run."""
        result = session.snapshot()
        view: View = JsonView() if self.as_json else PlainView(0, 0)
        view.close(result)
        tell_failure(result)
        return EXIT_CODES[result.status]


def answers_for(graph: Graph, options: Sequence[str]) -> Answers:
    """The answers of `--answer`; raises if one names a node that does not exist."""
    asking = [head for head, loop in graph.spec.loops.items() if loop.on_limit == "ask"]
    humans = [node.id for node in graph.plan().nodes if node.spec.type == HUMAN]
    return Answers(options, [*humans, *asking])


def tell_failure(result: Result) -> None:
    """Print once, on stderr, why a session failed."""
    if result.status == "failed":
        complain(result.message or result.reason)


def hand_over(session: Session, file: str | None, command: str, *, strict: bool = False) -> None:
    """Give a session the graph it needs to go on: its own copy, or the one in `file`.

    A graph written in Python is handed over again, and so may be one with keys in it. Functions
    that have changed are told, unless the session is refused for them.
    """
    _use_file(session, file, command)
    fingerprints = fingerprints_of(session.graph)
    if fingerprints and not strict and (change := change_of_code(session.origin, fingerprints)):
        complain(f"{change}; it goes on with the code of now", "warning")


def _use_file(session: Session, file: str | None, command: str) -> None:
    if not is_python(session):
        if file is None:
            return
        labels = session.origin.labels
        if not (labels.get("secrets") or labels.get(CODE)):
            raise CallError(
                f"session {session.id} keeps its own copy of its graph; leave out {file}"
            )
    if file is None:
        raise CallError(
            f"session {session.id} runs a graph written in Python; name its file: {command}"
        )
    session.use(_graph_of(session, file))


def _graph_of(session: Session, file: str) -> Graph:
    """The graph of a file, also of another system's if the session's file was one."""
    from rondel.formats import FORMATS

    if FilePath(file).suffix == ".py":
        return open_graph(file)
    for compat in (None, *FORMATS):
        with suppress(GraphError):
            graph = open_graph(file, compat=compat)
            if graph.has_structure_of(session.origin.document):
                return graph
    return open_graph(file)


def _tell(
    result: Result, conversation: TerminalSession, how: NextCommands | None, *, over: bool
) -> None:
    """Print what to do next, if there is something to do."""
    match result.status:
        case "failed":
            tell_failure(result)
            if how is not None and not over:
                complain(how.after_failure(result), "note")
        case "waiting":
            for node in conversation.unanswered:
                complain(f"{node!r} waits for an answer; {_answer(node, conversation, how)}")
        case "suspended_locked" if how is not None:
            why = f"{result.reason}: {result.message}".strip(": ")
            complain(f"the session is locked ({why}); open it with: {how.unlock()}")
        case "paused" | "running" if how is not None:
            complain(f"the session is not over; go on with: {how.resume()}", "note")


def _explain(result: Result, graph: Graph) -> None:
    """Print the warnings of `rondel check` that may explain why the run ended badly."""
    for lint in lints_explaining(result.reason or result.status, graph.plan(), graph.registry):
        complain(problem_text(lint.warning), "warning")


def _answer(node: str, conversation: TerminalSession, how: NextCommands | None) -> str:
    if how is None:
        return f"give one with --answer '{node}=TEXT'"
    return f"give one with: {how.answer(node if len(conversation.unanswered) > 1 else None)}"
