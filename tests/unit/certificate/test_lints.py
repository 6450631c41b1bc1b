"""Every lint: one graph that has it, and one that nearly has."""

from __future__ import annotations

from typing import Any

import pytest

from rondel.certificate import certify, lints_of
from tests.unit.certificate.graphs import (
    ACCEPT,
    REVISE,
    body,
    codes,
    edge,
    load,
    node,
    review,
    says,
)

ANY = {"type": "keyword", "config": {"any": ["more"]}}


def speaker(name: str) -> dict[str, Any]:
    """An agent of which nobody knows what it will say."""
    return node(name, "agent", role="You write.")


def pair(*edges: dict[str, Any], end: str = "Final", **more: Any) -> dict[str, Any]:
    nodes = [speaker("Writer"), speaker("Critic"), node("Final")]
    return {**body(nodes, [edge("Writer", "Critic"), *edges], **more), "end": end}


def forgetful(**more: Any) -> dict[str, Any]:
    """Its writer recalls nothing."""
    off = {"task": False, "own": 0}
    nodes = [
        {**node("Writer", "agent", role="You write.", recall=off), **more},
        speaker("Critic"),
        node("Final"),
    ]
    edges = [
        edge("Writer", "Critic"),
        edge("Critic", "Writer", REVISE),
        edge("Critic", "Final", ACCEPT),
    ]
    return body(nodes, edges)


HAS: dict[str, list[dict[str, Any]]] = {
    "forgets": [
        forgetful(),
    ],
    "no_exit": [
        pair(edge("Critic", "Writer")),
    ],
    "dead_exit": [
        pair(
            edge("Critic", "Writer", REVISE),
            edge("Critic", "Final", ACCEPT),
            edge("Writer", "Final", False),
        ),
        pair(
            edge("Critic", "Writer", REVISE),
            edge("Critic", "Final", ACCEPT),
            edge("Writer", "Final", {"type": "keyword", "config": {"any": ["AB"], "none": ["B"]}}),
        ),
        pair(
            edge("Critic", "Writer", REVISE),
            edge("Critic", "Final", ACCEPT),
            edge("Writer", "Final", label="goal"),
        ),
        body(
            [speaker("Writer"), node("Gate", "loop"), node("Side"), node("Final")],
            [
                edge("Writer", "Gate"),
                edge("Gate", "Writer", label="continue"),
                edge("Gate", "Final", label="exit"),
                edge("Gate", "Side"),
                edge("Side", "Final"),
            ],
        ),
    ],
    "fires_together": [
        pair(edge("Critic", "Writer"), edge("Critic", "Final")),
        pair(edge("Critic", "Writer", REVISE), edge("Critic", "Final")),
    ],
    "near_label": [
        pair(
            edge("Critic", "Writer", REVISE),
            edge("Critic", "Final", ACCEPT, label=label),
            loops={"Writer": {"max_rounds": 3}},
        )
        for label in ("limt", "Limit", "limits", "gaol", "goal ")
    ],
    "guard_outside": [
        review(
            edges=[
                edge("Writer", "Reviewer"),
                edge("Reviewer", "Final", ACCEPT),
                edge("Reviewer", "Writer", REVISE),
                edge("Reviewer", "Guard", REVISE),
                edge("Guard", "Final"),
            ]
        ),
    ],
    "guard_in_the_way": [
        body(
            [speaker("Writer"), node("Guard", "loop_counter", max_iterations=3), node("Final")],
            [edge("Writer", "Guard"), edge("Guard", "Writer"), edge("Guard", "Final")],
        ),
    ],
    "left_to_nobody": [
        pair(edge("Critic", "Writer", ANY), edge("Critic", "Final", ACCEPT)),
        pair(
            edge("Critic", "Writer", {"type": "keyword", "config": {"none": ["ACCEPT", "X"]}}),
            edge("Critic", "Final", ACCEPT),
        ),
    ],
    "unfed_score": [
        pair(
            edge("Critic", "Writer", REVISE),
            edge("Critic", "Final", ACCEPT),
            loops={"Writer": {"exit_on_score": 90}},
        ),
        body(
            [speaker("Writer"), node("Gate", "loop", exit_on_score=90), node("Final")],
            [
                edge("Writer", "Gate"),
                edge("Gate", "Writer", label="continue"),
                edge("Gate", "Final", label="exit"),
            ],
        ),
    ],
    "two_entries": [
        body(
            [speaker("Start"), speaker("Writer"), speaker("Critic"), node("Final")],
            [
                edge("Start", "Writer", ACCEPT),
                edge("Start", "Critic", REVISE),
                edge("Writer", "Critic"),
                edge("Critic", "Writer", REVISE),
                edge("Critic", "Final", ACCEPT),
            ],
        ),
    ],
    "out_of_reach": [
        review(
            edges=[
                edge("Writer", "Reviewer"),
                edge("Reviewer", "Writer"),
                edge("Reviewer", "Guard"),
                edge("Guard", "Writer"),
                edge("Guard", "Final"),
            ],
            loops={"Writer": {"max_rounds": 2}},
        ),
        body(
            [speaker("Writer"), node("Gate", "loop", max_rounds=5), node("Final")],
            [
                edge("Writer", "Gate"),
                edge("Gate", "Writer", label="continue"),
                edge("Gate", "Final", label="exit"),
            ],
            loops={"Writer": {"max_rounds": 4}},
        ),
    ],
    "unproven_guard": [
        review(
            edges=[
                edge("Writer", "Reviewer"),
                edge("Reviewer", "Writer", REVISE),
                edge("Reviewer", "Guard", ANY),
                edge("Reviewer", "Final", ACCEPT),
                edge("Guard", "Writer"),
                edge("Guard", "Final"),
            ]
        ),
    ],
}

HAS_NOT: dict[str, list[dict[str, Any]]] = {
    "forgets": [
        pair(edge("Critic", "Writer", REVISE), edge("Critic", "Final", ACCEPT)),
        forgetful(context_window=2),
        {**forgetful(), "dialect": "chatdev"},
    ],
    "no_exit": [
        pair(edge("Critic", "Writer"), end="Critic"),
        pair(edge("Critic", "Writer"), edge("Critic", "Final", False)),
    ],
    "dead_exit": [
        pair(edge("Critic", "Writer"), edge("Critic", "Final", False)),
        pair(
            edge("Critic", "Writer", REVISE),
            edge("Critic", "Final", ACCEPT),
            edge("Writer", "Final", {"type": "keyword", "config": {"any": ["B"], "none": ["AB"]}}),
        ),
        pair(
            edge("Critic", "Writer"),
            edge("Critic", "Final", label="limit"),
            edge("Writer", "Final", label="goal"),
            loops={"Writer": {"until": "round > 2"}},
        ),
    ],
    "fires_together": [
        pair(edge("Critic", "Writer", REVISE), edge("Critic", "Final", ACCEPT)),
        pair(edge("Critic", "Writer"), edge("Critic", "Final", ACCEPT)),
        pair(edge("Critic", "Writer"), edge("Critic", "Final", label="limit")),
        review(),
    ],
    "near_label": [
        *[
            pair(
                edge("Critic", "Writer", REVISE),
                edge("Critic", "Final", ACCEPT, label=label),
                loops={"Writer": {"max_rounds": 3}},
            )
            for label in ("limit", "goal", "exit", "done", "final", "fail", "")
        ],
        pair(edge("Critic", "Writer", REVISE), edge("Critic", "Final", ACCEPT, label="limt")),
    ],
    "guard_outside": [
        review(),
        review(
            node("Guard", "loop_counter", max_iterations=1),
            [
                edge("Writer", "Reviewer"),
                edge("Reviewer", "Writer", REVISE),
                edge("Reviewer", "Guard", ACCEPT),
                edge("Guard", "Final"),
            ],
        ),
    ],
    "guard_in_the_way": [review()],
    "left_to_nobody": [
        pair(edge("Critic", "Writer", REVISE), edge("Critic", "Final", ACCEPT)),
        {
            **pair(edge("Critic", "Writer", ANY), edge("Critic", "Final", ACCEPT)),
            "nodes": [speaker("Writer"), says("Critic", "more", "ACCEPT"), node("Final")],
        },
        {
            **pair(edge("Critic", "Writer", ANY), edge("Critic", "Final", ACCEPT)),
            "nodes": [
                speaker("Writer"),
                node("Critic", "human", actions=["more", "ACCEPT"]),
                node("Final"),
            ],
        },
        pair(
            edge("Critic", "Writer", ANY),
            edge("Critic", "Final", ACCEPT),
            edge("Writer", "Final", REVISE),
        ),
    ],
    "unfed_score": [
        {
            **pair(
                edge("Critic", "Writer", REVISE),
                edge("Critic", "Final", ACCEPT),
                loops={"Writer": {"exit_on_score": 90}},
            ),
            "nodes": [
                speaker("Writer"),
                node("Critic", "agent", score={"start": 60}),
                node("Final"),
            ],
        },
        body(
            [
                says("Writer", {"content": "draft", "data": {"score": 50}}),
                node("Gate", "loop", exit_on_score=90),
                node("Final"),
            ],
            [
                edge("Writer", "Gate"),
                edge("Gate", "Writer", label="continue"),
                edge("Gate", "Final", label="exit"),
            ],
        ),
    ],
    "two_entries": [
        body(
            [speaker("Start"), speaker("Writer"), speaker("Critic"), node("Final")],
            [
                edge("Start", "Writer", ACCEPT),
                edge("Start", "Critic", REVISE, trigger=False),
                edge("Writer", "Critic"),
                edge("Critic", "Writer", REVISE),
                edge("Critic", "Final", ACCEPT),
            ],
        ),
    ],
    "out_of_reach": [
        review(
            edges=[
                edge("Writer", "Reviewer"),
                edge("Reviewer", "Writer"),
                edge("Reviewer", "Guard"),
                edge("Guard", "Writer"),
                edge("Guard", "Final"),
            ],
            loops={"Writer": {"max_rounds": 3}},
        ),
    ],
    "unproven_guard": [review()],
}


def cases(which: dict[str, list[dict[str, Any]]]) -> list[Any]:
    return [
        pytest.param(code, graph, id=f"{code} {number}")
        for code, graphs in which.items()
        for number, graph in enumerate(graphs)
    ]


@pytest.mark.parametrize(("code", "graph"), cases(HAS))
def test_a_lint_is_found(code: str, graph: dict[str, Any]) -> None:
    assert code in codes(graph)


@pytest.mark.parametrize(("code", "graph"), cases(HAS_NOT))
def test_a_near_miss_is_not(code: str, graph: dict[str, Any]) -> None:
    assert code not in codes(graph)


def test_every_lint_has_its_graphs() -> None:
    assert HAS.keys() == HAS_NOT.keys()


def test_the_graph_of_the_seed_is_clean() -> None:
    assert codes(review()) == []


def test_a_lint_says_what_where_and_what_to_do() -> None:
    graph = load(HAS["guard_outside"][0])
    found = lints_of(graph.plan(), certify(graph.plan()), graph.registry)
    (lint,) = [each for each in found if each.code == "guard_outside"]
    problem = lint.warning
    assert problem.line is not None
    assert problem.path == "graph.nodes[2]"
    assert problem.message == (
        "'Guard' is outside the loop 'Writer': the edge Reviewer -> Guard ends the loop instead "
        "of counting a round [guard_outside]"
    )
    assert problem.hint == "lead an edge from it back to 'Writer', so that it is in the loop"


def test_a_lint_in_an_inner_graph_has_its_path() -> None:
    inner = pair(edge("Critic", "Writer"), edge("Critic", "Final"))
    inner.pop("breaker")
    nodes = [node("S", "subgraph", graph=inner), node("End")]
    graph = load(body(nodes, [edge("S", "End")]))
    (lint,) = lints_of(graph.plan(), certify(graph.plan()), graph.registry)
    assert lint.problem.path == "graph.nodes[0].config.graph.edges[2]"
    assert lint.problem.line is not None


def test_every_lint_names_the_words_that_nobody_hears() -> None:
    graph = load(HAS["left_to_nobody"][1])
    (lint,) = lints_of(graph.plan(), certify(graph.plan()), graph.registry)
    assert lint.problem.message == ("no edge out of 'Critic' fires for 'X'; the run may end there")


def test_a_label_that_is_nearly_one_of_the_contract_is_told_with_the_nearest() -> None:
    graph = pair(
        edge("Critic", "Writer"),
        edge("Critic", "Final", label="limt"),
        loops={"Writer": {"max_rounds": 3}},
    )
    plan = load(graph).plan()
    registry = load(graph).registry
    found = {lint.code: lint.problem for lint in lints_of(plan, certify(plan), registry)}
    assert found["near_label"].hint == "did you mean 'limit'?"
    assert "label the one out 'goal' or 'limit'" in found["fires_together"].hint
