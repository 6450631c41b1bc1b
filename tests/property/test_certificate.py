"""No run exceeds its certificate, and runs that are made to reach it do.

`RONDEL_CERTIFIED_CASES=10000` runs more random graphs than CI does.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Graph
from rondel.certificate import Certificate, LoopCertificate, certify
from tests.property.certified import KNOWN, TOKENS, Ran, random_graph, run

CASES = int(os.environ.get("RONDEL_CERTIFIED_CASES", "1500"))
SHARE = 100


def exceeded(certificate: Certificate, ran: Ran) -> list[str]:
    """What the run took too much of."""
    per_entry: dict[str, int] = {}
    in_all: Counter[str] = Counter()
    for loop in certificate.loops:
        per_entry[loop.head] = max(per_entry.get(loop.head, 0), loop.bound.rounds)
        in_all[loop.head] += loop.rounds
    found = [f"{head}: {r}" for head, r in ran.rounds.items() if max(r) > per_entry[head]]
    found += [f"{head}: {r} in all" for head, r in ran.rounds.items() if sum(r) > in_all[head]]
    cost = certificate.cost
    assert cost.calls is not None
    assert cost.tokens is not None
    if len(ran.steps) > cost.steps:
        found.append(f"{len(ran.steps)} steps of {cost.steps}")
    if ran.calls > cost.calls:
        found.append(f"{ran.calls} calls of {cost.calls}")
    if ran.tokens > cost.tokens:
        found.append(f"{ran.tokens} tokens of {cost.tokens}")
    executions = Counter(step.node_id for step in ran.steps)
    return found + _exceeded_in_loops(certificate, executions)


def _exceeded_in_loops(certificate: Certificate, executions: Counter[str]) -> list[str]:
    """Loops that are alone with their nodes cannot have had more steps than these had."""
    nodes: Counter[str] = Counter(node for loop in certificate.loops for node in loop.nodes)
    return [
        f"{steps} steps in {loop.head}, of {loop.cost.steps}"
        for loop in certificate.loops
        if all(nodes[node] == 1 for node in loop.nodes)
        and (steps := sum(executions[node] for node in loop.nodes)) > loop.cost.steps
    ]


@pytest.mark.parametrize("share", range((CASES + SHARE - 1) // SHARE))
def test_no_run_exceeds_its_certificate(share: int) -> None:
    sources: Counter[str] = Counter()
    for seed in range(share * SHARE, min((share + 1) * SHARE, CASES)):
        graph = random_graph(seed)
        assert graph is not None
        certificate = certify(graph.plan())
        ran = asyncio.run(run(graph, seed))
        assert not exceeded(certificate, ran), seed
        sources.update(loop.bound.source.split(" ")[0] for loop in certificate.loops)
    assert {"default", "contract", "loop", "loop_counter", "human"} <= set(sources)


# Graphs built to be tight


def voice(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "voice", "config": {"seed": name, "calls": 0}, **more}


def caller(name: str) -> dict[str, Any]:
    """A node that makes one call each time, of the same size."""
    answer = {"content": name, "usage": {"input_tokens": TOKENS - 2, "output_tokens": 2}}
    config = {"provider": "scripted", "answers": [answer]}
    return {"id": name, "type": "agent", "config": config}


def certified(body: dict[str, Any]) -> tuple[Certificate, Ran]:
    graph = Graph.from_document({"version": 1, "graph": body}, registry=KNOWN)
    return certify(graph.plan()), asyncio.run(run(graph))


def check_tight(certificate: Certificate, ran: Ran) -> None:
    """Everything is reached exactly."""
    assert not exceeded(certificate, ran)
    in_all = {loop.head: loop.rounds for loop in certificate.loops}
    assert {head: sum(rounds) for head, rounds in ran.rounds.items()} == in_all
    per_entry = {loop.head: {loop.bound.rounds} for loop in certificate.loops}
    assert {head: set(rounds) for head, rounds in ran.rounds.items()} == per_entry
    assert len(ran.steps) == certificate.cost.steps
    assert (ran.calls, ran.tokens) == (certificate.cost.calls, certificate.cost.tokens)


@settings(max_examples=40, deadline=None)
@given(rounds=st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_nested_contracts_are_reached_exactly(rounds: list[int]) -> None:
    """Loop in loop in loop: each one is entered once in every round of the one around it."""
    depth = len(rounds)
    nodes = [caller(f"head{level}") for level in range(depth)]
    nodes += [voice(f"tail{level}") for level in range(depth)]
    nodes.append({"id": "end", "type": "passthrough"})
    edges = [{"from": f"head{level}", "to": f"head{level + 1}"} for level in range(depth - 1)]
    edges.append({"from": f"head{depth - 1}", "to": f"tail{depth - 1}"})
    for level in range(depth):
        after = f"tail{level - 1}" if level else "end"
        edges.append({"from": f"tail{level}", "to": f"head{level}"})
        edges.append({"from": f"tail{level}", "to": after, "label": "limit"})
    loops = {f"head{level}": {"max_rounds": most} for level, most in enumerate(rounds)}
    body = {"id": "nest", "start": "head0", "end": "end", "loops": loops, "breaker": "off"}
    certificate, ran = certified({**body, "nodes": nodes, "edges": edges})
    assert [loop.bound.source for loop in certificate.loops] == ["contract"] * depth
    check_tight(certificate, ran)


@settings(max_examples=20, deadline=None)
@given(most=st.integers(1, 9))
def test_a_counter_beside_the_way_back_is_reached_exactly(most: int) -> None:
    """The review loop of the seed: the head runs once more after the last round."""
    nodes = [
        caller("Writer"),
        {"id": "Reviewer", "type": "literal", "config": {"content": "more"}},
        {"id": "Guard", "type": "loop_counter", "config": {"max_iterations": most}},
        {"id": "Final", "type": "passthrough"},
    ]
    accept = {"type": "keyword", "config": {"any": ["ACCEPT"]}}
    revise = {"type": "keyword", "config": {"none": ["ACCEPT"]}}
    edges = [
        {"from": "Writer", "to": "Reviewer"},
        {"from": "Reviewer", "to": "Final", "condition": accept},
        {"from": "Reviewer", "to": "Writer", "condition": revise},
        {"from": "Reviewer", "to": "Guard", "condition": revise},
        {"from": "Guard", "to": "Writer"},
        {"from": "Guard", "to": "Final"},
    ]
    body = {"id": "review", "start": "Writer", "end": "Final", "breaker": "off"}
    certificate, ran = certified({**body, "nodes": nodes, "edges": edges})
    (loop,) = certificate.loops
    assert (loop.bound.rounds, loop.bound.source) == (most, "loop_counter 'Guard'")
    check_tight(certificate, ran)


@settings(max_examples=20, deadline=None)
@given(most=st.integers(1, 6), inner=st.integers(1, 4))
def test_a_loop_node_around_a_subgraph_is_reached_exactly(most: int, inner: int) -> None:
    inside = {
        "id": "inner",
        "start": "x",
        "end": "y",
        "loops": {"x": {"max_rounds": inner}},
        "nodes": [caller("x"), {"id": "y", "type": "passthrough"}],
        "edges": [{"from": "x", "to": "x"}, {"from": "x", "to": "y", "label": "limit"}],
    }
    nodes = [
        caller("Writer"),
        {"id": "Work", "type": "subgraph", "config": {"graph": inside}},
        {"id": "Gate", "type": "loop", "config": {"max_rounds": most}},
        {"id": "Final", "type": "passthrough"},
    ]
    edges = [
        {"from": "Writer", "to": "Work", "carry_data": False},
        {"from": "Work", "to": "Gate"},
        {"from": "Gate", "to": "Writer", "label": "continue"},
        {"from": "Gate", "to": "Final", "label": "exit"},
    ]
    body = {"id": "g", "start": "Writer", "end": "Final", "breaker": "off"}
    certificate, ran = certified({**body, "nodes": nodes, "edges": edges})
    heads: list[LoopCertificate] = list(certificate.loops)
    assert [(loop.head, loop.parent) for loop in heads] == [("Writer", None), ("Work/x", "Writer")]
    assert heads[0].bound.source == "loop node 'Gate'"
    assert heads[1].rounds == most * inner
    check_tight(certificate, ran)
