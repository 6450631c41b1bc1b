"""Loops: as many rounds as the contract says, in any nesting, and one reason for every end."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import event as note
from hypothesis import strategies as st

from rondel import (
    Context,
    Emit,
    Engine,
    Event,
    Graph,
    GraphError,
    Message,
    Nothing,
    Outcome,
    Result,
)
from rondel.engine.protocols import Exit
from rondel.sessions.records import StepRecord

REASONS = frozenset(
    {
        "exit_edge",
        "score_threshold_reached",
        "condition_met",
        "consensus_reached",
        "max_rounds_reached",
        "stagnated",
        "regressed",
        "budget_exhausted",
        "no_retrigger",
        "breaker_tripped",
        "cancelled",
        "failed",
    }
)
CUT_SHORT = ("cancelled", "failed")
"""The reasons of a loop that ended in the middle of a round."""

Run = tuple[Result, list[StepRecord], list[Event]]


async def run(graph: Graph) -> Run:
    async with asyncio.timeout(30), Engine(db=None) as engine:
        session = await engine.start(graph, "task")
        result = await session.settled()
        return result, session.steps(), [event async for event in session.events()]


def exits(events: list[Event]) -> list[Event]:
    return [event for event in events if event.event == "loop:exited"]


def check_loop_events(events: list[Event]) -> None:
    """Every entry of every loop: rounds 1, 2, … each begun and completed, then one reason."""
    under_way: dict[str, int] = {}
    open_round: set[str] = set()
    entries: Counter[str] = Counter()
    for event in events:
        loop = event.data.get("loop")
        match event.event:
            case "loop:round_started":
                assert loop not in open_round
                assert event.data["round"] == under_way.get(loop, 0) + 1
                entries[loop] += event.data["round"] == 1
                under_way[loop] = event.data["round"]
                open_round.add(loop)
            case "loop:round_completed":
                assert loop in open_round
                assert event.data["round"] == under_way[loop]
                open_round.discard(loop)
            case "loop:exited":
                reason = event.data["exit_reason"]
                assert reason in REASONS
                assert event.data["rounds"] == under_way.pop(loop)
                assert loop not in open_round or reason in CUT_SHORT
                open_round.discard(loop)
    assert not under_way
    assert entries == Counter(event.data["loop"] for event in exits(events))


def check_step_events(steps: list[StepRecord], events: list[Event]) -> None:
    """Every step runs and completes at its address, and nothing happens after the end."""
    told: dict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    for event in events:
        if event.event == "node_state_change" and event.data["status"] != "skipped":
            told[event.node_id, event.address].append(event.data["status"])
    assert set(told) == {(step.node_id, step.address) for step in steps}
    over = events[-1]
    assert over.event == "session_state_change"
    for states in told.values():
        assert states == ["running", "completed"] or (over.data["reason"] and states == ["running"])
    begun = Counter(e.address for e in events if e.event == "loop:round_started")
    done = Counter(e.address for e in events if e.event == "loop:round_completed")
    assert done <= begun
    assert set(begun.values()) <= {1}


# Loops that nothing ends before their contract does


class Speaks:
    """Says something, so that every edge without a condition fires."""

    async def process(self, ctx: Context) -> Outcome:
        return Emit([Message(f"{ctx.node_id} {ctx.round}", {"score": ctx.round})])


class Picks:
    """A router that takes some of its edges, never none, other ones in every execution."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    async def process(self, ctx: Context) -> Outcome:
        count = (ctx.state or 0) + 1
        return Emit([Message("", {"count": count})], state=count)

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        choice = random.Random(f"{self._seed} {output.messages[0].data['count']}")
        return choice.sample(edges, choice.randint(1, len(edges)))


@dataclass
class Loop:
    """One loop of the nest: its rounds, what is in it, and how it is left."""

    rounds: int
    body: list[Loop | Fork | None]
    """Inner loops, forks, and plain nodes (None), one after the other."""
    closed_by_node: bool
    left_from_head: bool
    labelled: bool
    exit_now: bool


@dataclass
class Fork:
    """A router with branches that meet again."""

    branches: int
    seed: int


@st.composite
def loops(draw: st.DrawFn, depth: int, budget: int) -> Loop:
    """A loop with others inside it, `depth` deep, of at most `budget` rounds all in all."""
    rounds = draw(st.integers(1, min(6, max(budget, 1))))
    parts: list[Loop | Fork | None] = []
    if depth > 1:
        parts.append(draw(loops(depth - 1, budget // rounds)))
    others = st.none() | st.builds(Fork, st.integers(2, 3), st.integers(0, 99))
    if depth > 1 and budget // rounds > 1:
        others = others | loops(depth - 1, budget // rounds // 2)
    more = draw(st.lists(others, max_size=2))
    body = draw(st.permutations([*parts, *more]))
    return Loop(rounds, list(body), *(draw(st.booleans()) for _ in range(4)))


@dataclass
class Nest:
    """The graph of a loop, and how often everything in it must run."""

    graph: Graph
    around: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """Per node, the loops around it with their rounds, outermost first."""
    sure: set[str] = field(default_factory=set)
    """The nodes that run in every round of all loops around them."""
    rounds: dict[str, int] = field(default_factory=dict)
    """Per head, the rounds of its contract."""

    def node(self, path: tuple[tuple[str, int], ...], processor: Any, sure: bool = True) -> str:
        name = f"n{len(self.around)}"
        self.graph.add(name, processor)
        self.around[name] = path
        if sure:
            self.sure.add(name)
        return name

    def loop(self, loop: Loop, path: tuple[tuple[str, int], ...]) -> tuple[str, Any]:
        """The head, and a function that leads the way out of the loop to a node."""
        name = f"n{len(self.around)}"
        inside = (*path, (name, loop.rounds))
        head = self.node(inside, Speaks())
        self.rounds[head] = loop.rounds
        self.graph.loop(head, max_rounds=loop.rounds, exit="now" if loop.exit_now else "round_end")
        lead = self._edge_from(head)
        for part in loop.body:
            lead = self._part(part, inside, lead)
        last = head
        if loop.closed_by_node:
            last = self.node(inside, Speaks())
            lead(last)
            lead = self._edge_from(last)
        lead(head)
        way: dict[str, Any] = {"label": "limit"} if loop.labelled else {"condition": False}
        source = head if loop.left_from_head else last
        return head, lambda target: self.graph.edge(source, target, **way)

    def _part(self, part: Loop | Fork | None, path: Any, lead: Any) -> Any:
        if part is None:
            node = self.node(path, Speaks())
            lead(node)
            return self._edge_from(node)
        if isinstance(part, Loop):
            head, leave = self.loop(part, path)
            lead(head)
            return leave
        fork = self.node(path, Picks(part.seed))
        lead(fork)
        branches = [self.node(path, Speaks(), sure=False) for _ in range(part.branches)]
        join = self.node(path, Speaks())
        for branch in branches:
            self.graph.edge(fork, branch)
            self.graph.edge(branch, join)
        return self._edge_from(join)

    def _edge_from(self, source: str) -> Any:
        return lambda target: self.graph.edge(source, target)

    def addresses(self, node: str) -> set[str]:
        """Every address the node can have."""
        path = self.around[node]
        counts = itertools.product(*(range(1, rounds + 1) for _, rounds in path))
        return {
            "/".join([*(f"{head}[{n}]" for (head, _), n in zip(path, count, strict=True)), node])
            for count in counts
        }


def nest_of(loop: Loop) -> Nest:
    nest = Nest(Graph("nest", end="end"))
    start = nest.node((), Speaks())
    head, leave = nest.loop(loop, ())
    nest.graph.edge(start, head)
    nest.graph.add("end", Speaks())
    leave("end")
    return nest


@settings(max_examples=70, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 4).flatmap(lambda depth: loops(depth, 216)))
def test_a_loop_runs_its_body_exactly_max_rounds_times(loop: Loop) -> None:
    nest = nest_of(loop)
    result, steps, events = asyncio.run(run(nest.graph))
    note(f"depth {max(len(path) for path in nest.around.values())}")
    assert (result.status, result.reason) == ("completed", "")
    ran: dict[str, list[str]] = defaultdict(list)
    for step in steps:
        ran[step.node_id].append(step.address)
    for node, path in nest.around.items():
        possible = nest.addresses(node)
        assert len(possible) == prod(rounds for _, rounds in path)
        assert len(ran[node]) == len(set(ran[node]))
        if node in nest.sure:
            assert set(ran[node]) == possible
        else:
            assert set(ran[node]) <= possible
    check_loop_events(events)
    check_step_events(steps, events)
    entries = Counter(e.data["loop"] for e in exits(events))
    for head, rounds in nest.rounds.items():
        outer = nest.around[head][:-1]
        assert entries[head] == prod(rounds for _, rounds in outer)
        ends = [e.data for e in exits(events) if e.data["loop"] == head]
        assert {(e["rounds"], e["exit_reason"], e["value"], e["threshold"]) for e in ends} == {
            (rounds, "max_rounds_reached", rounds, rounds)
        }
    told = {loop.loop: (loop.rounds, loop.entries) for loop in result.loops}
    assert told == {head: (rounds, entries[head]) for head, rounds in nest.rounds.items()}


@settings(max_examples=30, deadline=None)
@given(rounds=st.lists(st.integers(1, 6), min_size=1, max_size=4), by=st.sampled_from("cfe"))
def test_a_condition_that_never_ends_the_loop_leaves_it_to_the_contract(
    rounds: list[int], by: str
) -> None:
    """The only exit is taken by the contract, whatever its condition: constant, function, CEL."""
    never: Any = {"c": False, "f": lambda message: False, "e": "round > 1000"}[by]
    names = [f"loop{place}" for place in range(len(rounds))]
    graph = Graph("chain of self-loops", start=names[0])
    for name, count in zip(names, rounds, strict=True):
        graph.add(name, Speaks())
        graph.edge(name, name)
        graph.loop(name, max_rounds=count)
    graph.add("end", Speaks())
    for name, after in itertools.pairwise([*names, "end"]):
        graph.edge(name, after, when=never)
    result, steps, events = asyncio.run(run(graph))
    assert result.status == "completed"
    ran = Counter(step.node_id for step in steps)
    assert [ran[name] for name in names] == rounds
    check_loop_events(events)


# Any graph, any router


class Whims:
    """A router that takes any of its edges or none, and sometimes says nothing at all."""

    def __init__(self, seed: int, node: str) -> None:
        self._seed = f"{seed} {node}"

    async def process(self, ctx: Context) -> Outcome:
        count = (ctx.state or 0) + 1
        mood = random.Random(f"{self._seed} {count}")
        if mood.random() < 0.03:
            return Nothing(state=count)
        return Emit([Message(f"{ctx.node_id} {count}", {"mood": mood.random()})], state=count)

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        mood = random.Random(output.messages[0].data["mood"])
        likely = mood.choice([0.4, 0.8, 0.95, 1.0])
        return [edge for edge in edges if mood.random() < likely]


@st.composite
def whimsical(draw: st.DrawFn) -> Graph:
    """Any digraph at all, its nodes with whims, some of its possible loops with contracts."""
    size = draw(st.integers(1, 8))
    names = [f"n{number}" for number in range(size)]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names))
    back = draw(st.lists(pairs.map(lambda pair: (max(pair), min(pair))), min_size=1, max_size=5))
    more = draw(st.lists(pairs, max_size=4))
    edges = list(dict.fromkeys([*itertools.pairwise(names), *back, *more]))
    contracts = draw(st.dictionaries(st.sampled_from(names), st.integers(1, 4), max_size=size))
    seed = draw(st.integers(0, 2**16))
    limited = draw(st.booleans())

    def build(heads: dict[str, int]) -> Graph:
        graph = Graph("whims", start=names[0], end=draw_end)
        for name in names:
            graph.add(name, Whims(seed, name), **fields[name])
        for source, target in edges:
            graph.edge(source, target, trigger=triggers[source, target])
        if limited:
            graph.add("last", Whims(seed, "last"))
            for name in names:
                graph.edge(name, "last", label="limit")
        for head, rounds in heads.items():
            graph.loop(head, max_rounds=rounds, exit=rules[head])
        graph.limits(max_steps=250)
        return graph

    draw_end = draw(st.sampled_from(names))
    fields = {
        name: {
            "join": draw(st.sampled_from(["any", "any", "any", "all"])),
            "context_window": draw(st.sampled_from([0, 0, -1, 1])),
        }
        for name in names
    }
    triggers = {pair: draw(st.integers(0, 9)) > 0 for pair in edges}
    rules = {name: draw(st.sampled_from(["round_end", "now"])) for name in names}
    heads: dict[str, int] = {}
    for head, rounds in contracts.items():
        try:
            build({head: rounds}).plan()
        except GraphError:
            continue
        heads[head] = rounds
    return build(heads)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graph=whimsical())
def test_every_run_ends_and_every_loop_ends_with_one_typed_reason(graph: Graph) -> None:
    result, steps, events = asyncio.run(run(graph))
    note(result.reason or result.status)
    note(f"{min(len(exits(events)), 9)} loop entries")
    assert result.status in ("completed", "failed")
    assert result.reason in ("", "no_output", "two_entries", "max_steps_reached")
    assert len(steps) <= 251
    check_loop_events(events)
    check_step_events(steps, events)
    contracts = graph.document["graph"]["loops"]
    for ended in exits(events):
        contract = contracts.get(ended.data["loop"])
        assert ended.data["rounds"] <= (contract["max_rounds"] if contract else 100)
    addresses = [step.address for step in steps]
    assert len(addresses) == len(set(addresses))
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    entered = Counter(e.data["loop"] for e in exits(events))
    assert {loop.loop: loop.entries for loop in result.loops} == entered
