"""Running a graph to where it gets by itself, and looking at what it did."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rondel import Context, Emit, Engine, Event, Graph, Message, Outcome, Result, Session
from rondel.sessions.records import StepRecord

Value = TypeVar("Value")

SECONDS = 60.0
"""How long a test may wait for anything before it is taken to hang."""


@dataclass(frozen=True)
class Played:
    """A run that is over, or that waits for somebody."""

    result: Result
    steps: list[StepRecord]
    events: list[Event]

    @property
    def times(self) -> Counter[str]:
        """How often each node ran."""
        return Counter(step.node_id for step in self.steps)

    @property
    def status_of(self) -> dict[str, str]:
        """The status of each node's last step."""
        return {step.node_id: step.status for step in self.steps}

    def inputs(self, node: str) -> list[list[str]]:
        """What each execution of the node saw, as texts."""
        return [
            [message["content"] for message in step.inputs]
            for step in self.steps
            if step.node_id == node
        ]

    def outputs(self, node: str) -> list[list[str]]:
        """What each execution of the node emitted, as texts."""
        return [
            [message["content"] for message in step.outputs]
            for step in self.steps
            if step.node_id == node
        ]

    @property
    def exits(self) -> list[tuple[str, int, str]]:
        """Every loop entry that ended: its head, its rounds, its reason."""
        return [
            (event.data["loop"], event.data["rounds"], event.data["exit_reason"])
            for event in self.events
            if event.event == "loop:exited"
        ]

    def of(self, name: str, node: str | None = None) -> list[Event]:
        """The events of that name, of that node if one is given."""
        return [e for e in self.events if e.event == name and node in (None, e.node_id)]


async def playing(
    graph: Graph, inputs: Any = None, answers: Sequence[Any] = (), **options: Any
) -> Played:
    """Start the graph, give the answers in order, and see where it gets."""
    left = list(answers)
    async with Engine(db=None, **options) as engine:
        session = await engine.start(graph, inputs)
        result = await session.settled()
        while result.status == "waiting" and left:
            await session.answer(left.pop(0))
            result = await session.settled()
        return Played(result, session.steps(), await told(session))


async def told(session: Session) -> list[Event]:
    """All events of a session that is over; none of one that is not."""
    if session.status not in ("completed", "bounded", "failed", "cancelled"):
        return []
    return [event async for event in session.events()]


def limited(work: Coroutine[Any, Any, Value], seconds: float = SECONDS) -> Value:
    """Run it on a fresh event loop; hanging is a failure."""

    async def main() -> Value:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(main())


def play(
    graph: Graph,
    inputs: Any = None,
    answers: Sequence[Any] = (),
    seconds: float = SECONDS,
    **options: Any,
) -> Played:
    """The same, blocking and bounded in time."""
    return limited(playing(graph, inputs, answers, **options), seconds)


async def until(holds: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Wait for something that another task brings about."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def others() -> set[asyncio.Task[Any]]:
    """The tasks besides the test's own, and the one with which an engine looks after its store."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    return {task for task in tasks if "LocalSessions._poll" not in str(task.get_coro())}


def alone(function: Any, **fields: Any) -> Graph:
    """A graph of one node, `work`."""
    graph = Graph("alone")
    graph.node(id="work", **fields)(function)
    return graph


class Says:
    """A processor that says its texts, one execution after the other, the last one repeated."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts or ("said",)

    async def process(self, ctx: Context) -> Outcome:
        count = (ctx.state or 0) + 1
        return Emit([Message(self._texts[:count][-1])], state=count)


def saying(graph: Graph, *nodes: str, **fields: Any) -> Graph:
    """Add nodes that say their own names."""
    for node in nodes:
        graph.add(node, Says(node), **fields)
    return graph


def chain(graph: Graph, *nodes: str) -> Graph:
    """Lead an edge from each node to the next."""
    for source, target in itertools.pairwise(nodes):
        graph.edge(source, target)
    return graph
