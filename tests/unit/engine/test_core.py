"""The state: a pure fold of ticks, without an event loop, a clock or a node."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondel import Engine, Graph, Message
from rondel.engine import ticks
from rondel.engine.core.effects import Effect
from rondel.engine.core.fold import apply, todo
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.graph.compile import compile_graph
from rondel.graph.plan import Plan
from rondel.graph.spec import EdgeSpec, GraphSpec, LimitsSpec, LoopSpec, NodeSpec
from rondel.sessions.records import result_of
from tests.property.harness import KNOWN, Jitter
from tests.reference.generator import Case, graphs


def plan_of(*edges: tuple[str, str], start: str, end: str, **rounds: int) -> Plan:
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    loops = {head: LoopSpec(head, max_rounds=count) for head, count in rounds.items()}
    return compile_graph(
        GraphSpec(
            "g",
            tuple(NodeSpec(name, "t") for name in names),
            tuple(EdgeSpec(*edge) for edge in edges),
            (start,),
            (end,),
            loops=loops,
            limits=LimitsSpec(50),
        )
    )


class Played:
    """A state that is told by hand what its steps did."""

    def __init__(self, plan: Plan) -> None:
        self.effects: list[Effect] = []
        self.state = SessionState(plan, self.effects)
        self.ready: list[Any] = apply(self.state, ticks.Started(0.0, {"task": "t"}))
        self.now = 0.0

    @property
    def addresses(self) -> list[str]:
        return [command.address for command in self.ready if isinstance(command, Step)]

    def finish(self, address: str, text: str = "said", fire: Any = None) -> None:
        """The step at the address emits a text along all its node's edges, or some of them."""
        step = next(command for command in self.ready if command.address == address)
        self.ready.remove(step)
        self.now += 1
        fired = list(step.node.out) if fire is None else list(fire)
        done = ticks.Finished(
            self.now, step.number, (Message(text, source=step.node.id),), tuple(fired)
        )
        self.ready += apply(self.state, done)


def test_a_step_is_ready_when_what_it_waits_for_is_settled() -> None:
    played = Played(plan_of(("s", "a"), ("s", "b"), ("a", "e"), ("b", "e"), start="s", end="e"))
    assert played.addresses == ["s"]
    played.finish("s")
    assert played.addresses == ["a", "b"]
    played.finish("b")
    assert played.addresses == ["a"]
    played.finish("a")
    assert played.addresses == ["e"]
    played.finish("e")
    assert (played.addresses, played.state.status) == ([], "completed")


def test_a_loop_decides_at_the_end_of_its_round_and_only_there() -> None:
    plan = plan_of(("a", "b"), ("b", "a"), ("a", "e"), start="a", end="e", a=2)
    played = Played(plan)
    back = next(edge.index for edge in plan.edges if edge.spec.target == "a")
    onward = next(edge.index for edge in plan.edges if edge.spec.target == "b")
    played.finish("a[1]/a", fire=[onward])
    assert played.addresses == ["a[1]/b"]
    played.finish("a[1]/b", fire=[back])
    assert played.addresses == ["a[2]/a"]
    played.finish("a[2]/a", fire=[onward])
    played.finish("a[2]/b", fire=[back])
    assert played.addresses == ["e"]
    assert played.state.loops[0].reason == "max_rounds_reached"


def test_a_core_keeps_time_only_by_its_ticks() -> None:
    state = SessionState(plan_of(("a", "e"), start="a", end="e"))
    apply(state, ticks.Started(100.0, {}))
    apply(state, ticks.Paused(110.0))
    apply(state, ticks.Resumed(150.0))
    apply(state, ticks.Finished(160.0, 1, (Message("x"),), (0,)))
    assert (state.started_at, state.last_at, state.idle) == (100.0, 160.0, 40.0)


def under_way_in(state: SessionState) -> list[tuple[Any, ...]]:
    """What is to be done, by name."""
    return [
        (type(c).__name__, c.number, c.address) if isinstance(c, Step) else (type(c).__name__,)
        for c in todo(state)
    ]


async def journal_of(case: Case, jitter: int) -> tuple[Plan, list[ticks.AnyTick]]:
    async with (
        asyncio.timeout(30),
        Engine(db=None, registry=KNOWN, middleware=[Jitter(jitter)]) as engine,
    ):
        graph = Graph.from_document(case.document, registry=KNOWN)
        session = await engine.start(graph, case.task)
        left = list(case.answers)
        result = await session.settled()
        while result.status == "waiting" and left:
            await session.answer(left.pop(0))
            result = await session.settled()
        return graph.plan(), list(session.journal())


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(case=graphs(scores=True), jitter=st.integers(0, 2**16))
def test_folding_a_journal_again_gives_the_same_state_after_every_tick(
    case: Case, jitter: int
) -> None:
    plan, journal = asyncio.run(journal_of(case, jitter))
    one, other = SessionState(plan), SessionState(plan, [])
    under_way: set[tuple[Any, ...]] = set()
    for tick in journal:
        commands = apply(one, tick)
        assert len(apply(other, tick)) == len(commands)
        assert one.status == other.status
        assert under_way_in(one) == under_way_in(other)
        under_way = set(under_way_in(one))
        started = {("Step", c.number, c.address) for c in commands if isinstance(c, Step)}
        assert one.ended or started <= under_way
    assert result_of("s", one) == result_of("s", other)
    assert not (one.ended and under_way)
