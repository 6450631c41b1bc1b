"""`rondel run`: a graph from start to end, in this terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer

from rondel.cli.arguments import Answers, parse_change, parse_inputs
from rondel.cli.documents import AGENT, open_graph
from rondel.cli.failures import complain
from rondel.cli.keyboard import Keyboard
from rondel.cli.loops import label_width, loops_of
from rondel.cli.views import JsonView, TerminalView, View
from rondel.errors import WrongState
from rondel.graph.spec import NodeSpec
from rondel.sessions.engine import Engine
from rondel.sessions.events import Event
from rondel.sessions.graph import Graph
from rondel.sessions.records import Result
from rondel.sessions.session import Session

HUMAN = "human"
EXIT_CODES = {
    "completed": 0,
    "failed": 1,
    "bounded": 3,
    "waiting": 4,
    "suspended_locked": 5,
    "cancelled": 130,
}
PARKED = ("waiting", "suspended_locked")


def run(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A graph: YAML, JSON, or Python with a `graph`.")
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "-i", "--input", metavar="TEXT|KEY=VALUE", help="The task, or one key of the inputs."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Change the file first: graph.limits.max_steps=5."
        ),
    ] = None,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            "--answer", metavar="[NODE=]TEXT", help="Answer the next question, of NODE or any."
        ),
    ] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Replace every agent's provider.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one event a line, and last the result.")
    ] = False,
    no_input: Annotated[
        bool, typer.Option("--no-input", help="Ask nobody: end with 4 where a human is needed.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks, and the edges that fire.")
    ] = False,
) -> int:
    """Run a graph with live progress: rounds, scores, cost.

    Questions are answered by --answer, in order; then by the person at the terminal, or by the
    lines of a piped standard input, one a question.

    Exit codes: 0 completed, 1 failed, 2 the graph or the call is wrong, 3 bounded (a loop ended
    without its goal), 4 waiting for a human, 5 locked, 130 stopped.
    """
    task = parse_inputs(inputs or [])
    opened = open_graph(file, [parse_change(change) for change in changes or []], provider)
    for warning in opened.warnings:
        complain(str(warning), "warning")
    graph = opened.graph
    given = Answers(answers or [], _nodes(graph, HUMAN))
    agents = _nodes(graph, AGENT)
    view: View = JsonView() if as_json else _terminal(graph, agents)
    view.open(graph.id, simulated=any(map(_has_no_provider, agents.values())))
    conversation = Conversation(view, given, None if no_input else Keyboard(), debug)
    result = asyncio.run(conversation.hold(graph, task))
    view.close(result)
    if result.status == "failed":
        complain(result.message or result.reason)
    elif result.status == "waiting":
        for node in conversation.unanswered:
            complain(f"{node!r} waits for an answer; give one with --answer '{node}=TEXT'")
    return EXIT_CODES[result.status]


class Conversation:
    """One session, its events shown as they come, its questions answered where they can be."""

    def __init__(self, view: View, given: Answers, keyboard: Keyboard | None, debug: bool) -> None:
        self.unanswered: dict[str, None] = {}
        self._view = view
        self._given = given
        self._keyboard = keyboard
        self._debug = debug

    async def hold(self, graph: Graph, inputs: dict[str, Any]) -> Result:
        """Run the graph until it is over, or until nobody here can help it on."""
        async with Engine(db=None) as engine:
            session = await engine.start(graph, inputs)
            with self._stopped_by_interrupt(session):
                await self._show(session)
            return session.snapshot()

    async def _show(self, session: Session) -> None:
        async for event in session.events(debug=self._debug):
            self._view.show(event)
            match event.event:
                case "human_input_required":
                    await self._answer(session, event)
                case "session_state_change" if self._is_parked(session, event):
                    return

    def _is_parked(self, session: Session, event: Event) -> bool:
        """Whether nothing more will happen here; the event may be older than the session is."""
        status = event.data["status"]
        if status not in PARKED or session.status != status:
            return False
        return status != "waiting" or session.questions.keys() <= self.unanswered.keys()

    async def _answer(self, session: Session, event: Event) -> None:
        node = str(event.node_id)
        text = self._given.take(node)
        typed = text is None and self._keyboard is not None and self._keyboard.is_terminal
        if text is None and self._keyboard is not None:
            text = await self._keyboard.line(lambda: self._view.prompt(node) if typed else None)
        if text is None:
            self.unanswered[node] = None
            return
        if not typed:
            self._view.answered(node, text)
        try:
            await session.answer(text, node=node)
        except WrongState:
            if session.status != "cancelled":
                raise

    @contextmanager
    def _stopped_by_interrupt(self, session: Session) -> Iterator[None]:
        """The first Ctrl-C stops the session, a second one everything."""
        loop = asyncio.get_running_loop()
        stopping: list[asyncio.Task[None]] = []

        async def stop() -> None:
            with suppress(WrongState):  # it may just have ended
                await session.stop()
            if self._keyboard is not None:
                self._keyboard.close()

        def interrupted(*_: object) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            loop.call_soon_threadsafe(lambda: stopping.append(loop.create_task(stop())))

        try:
            before = signal.signal(signal.SIGINT, interrupted)
        except ValueError:  # not the main thread: nobody interrupts it
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _terminal(graph: Graph, agents: dict[str, NodeSpec]) -> TerminalView:
    return TerminalView(max(map(len, agents), default=0), label_width(loops_of(graph.plan())))


def _nodes(graph: Graph, type: str) -> dict[str, NodeSpec]:
    return {node.id: node.spec for node in graph.plan().nodes if node.spec.type == type}


def _has_no_provider(agent: NodeSpec) -> bool:
    return "provider" not in agent.config.model_fields_set
