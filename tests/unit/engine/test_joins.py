"""Joins: they wait for every edge to settle, and for nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import NOTHING, Context, Graph
from tests.unit.sessions.playing import chain, play, saying


def diamond(join: str, left: Any = None, right: Any = None, **fields: Any) -> Graph:
    """s -> left, right -> e; `left` and `right` are the functions of those nodes."""
    graph = saying(Graph("diamond", end="e"), "s")
    graph.node(id="left", **fields)(left or (lambda inp: "left"))
    graph.node(id="right", **fields)(right or (lambda inp: "right"))
    graph.node(id="e", join=join)(lambda inp: inp.text or "empty")
    for branch in ("left", "right"):
        chain(graph, "s", branch, "e")
    return graph


def fails(inp: Context) -> str:
    raise RuntimeError("broken branch")


def silent(inp: Context) -> Any:
    return NOTHING


@pytest.mark.parametrize("join", ["any", "all"])
def test_a_join_sees_both_branches_in_file_order(join: str) -> None:
    assert play(diamond(join)).inputs("e") == [["left", "right"]]


@pytest.mark.parametrize("branch", ["left", "right"])
@pytest.mark.parametrize("dead", [fails, silent])
def test_a_dead_branch_never_starves_a_join_of_any(branch: str, dead: Any) -> None:
    played = play(diamond("any", **{branch: dead}, on_error="continue"))
    other = "right" if branch == "left" else "left"
    assert played.result.status == "completed"
    assert played.inputs("e") == [[other]]


@pytest.mark.parametrize("dead", [fails, silent])
def test_a_join_of_all_with_a_dead_branch_is_skipped_and_says_so(dead: Any) -> None:
    played = play(diamond("all", left=dead, on_error="continue"))
    assert (played.result.status, played.result.reason) == ("failed", "no_output")
    assert played.times["e"] == 0
    (skipped,) = [e for e in played.events if e.data.get("status") == "skipped"]
    assert (skipped.node_id, skipped.address) == ("e", "e")


def test_what_follows_a_skipped_join_is_skipped_too_and_the_rest_runs() -> None:
    graph = diamond("all", left=silent)
    saying(graph, "after", "beside")
    graph.edge("e", "after")
    graph.edge("s", "beside")
    graph.node(id="last")(lambda inp: inp.text)
    graph.edge("after", "last")
    graph.edge("beside", "last")
    played = play(graph)
    skipped = [e.node_id for e in played.events if e.data.get("status") == "skipped"]
    assert skipped == ["e", "after"]
    assert played.inputs("last") == [["beside"]]


def test_all_branches_dead_means_that_the_join_does_not_run() -> None:
    played = play(diamond("any", left=silent, right=silent))
    assert played.result.reason == "no_output"
    assert played.times["e"] == 0


def test_a_condition_that_holds_for_nobody_kills_only_its_edge() -> None:
    graph = saying(Graph("g", end="e"), "s", "a", "b", "e")
    graph.edge("s", "a", when=lambda message: False)
    graph.edge("s", "b")
    chain(graph, "a", "e")
    chain(graph, "b", "e")
    assert play(graph).inputs("e") == [["b"]]


def test_two_edges_between_the_same_nodes_are_two_branches() -> None:
    graph = saying(Graph("g", end="e"), "s")
    graph.node(id="e", join="all")(lambda inp: inp.text)
    graph.edge("s", "e", when=lambda m: True)
    graph.edge("s", "e", when=lambda m: False)
    assert play(graph).result.reason == "no_output"
    graph = saying(Graph("g", end="e"), "s")
    graph.node(id="e", join="all")(lambda inp: inp.text)
    graph.edge("s", "e", label="one")
    graph.edge("s", "e", label="two")
    assert play(graph).inputs("e") == [["s", "s"]]


def test_a_data_only_edge_delays_its_target_and_starts_nothing() -> None:
    graph = saying(Graph("g", end="e"), "s", "slow1", "slow2", "notes", "e")
    chain(graph, "s", "slow1", "slow2", "notes")
    graph.edge("s", "e")
    graph.edge("notes", "e", trigger=False)
    played = play(graph)
    assert played.inputs("e") == [["s", "notes"]]
    order = [
        e.node_id
        for e in played.events
        if e.event == "node_state_change" and e.data["status"] == "running"
    ]
    assert order == ["s", "slow1", "slow2", "notes", "e"]


def test_a_skipped_source_of_a_data_only_edge_starves_nobody() -> None:
    graph = saying(Graph("g", end="e"), "s", "notes", "e")
    graph.edge("s", "notes", condition=False)
    graph.edge("s", "e")
    graph.edge("notes", "e", trigger=False)
    assert play(graph).inputs("e") == [["s"]]


def test_a_join_of_all_does_not_count_data_only_edges_and_back_edges() -> None:
    graph = saying(Graph("g", end="out"), "s", "a", "b")
    graph.node(id="head", join="all")(lambda inp: f"head {inp.round}")
    graph.node(id="tail")(lambda inp: inp.text)
    graph.node(id="out")(lambda inp: inp.text)
    chain(graph, "s", "a", "head")
    chain(graph, "s", "b", "head")
    graph.edge("s", "head", trigger=False)
    graph.edge("head", "tail")
    graph.edge("tail", "head", when="round < 3")
    graph.edge("tail", "out", when="round >= 3")
    played = play(graph)
    assert played.result.output == "head 3"
    assert played.inputs("head") == [["s", "a", "b"], ["head 1"], ["head 2"]]


def looped_diamond(join: str, branches: list[list[bool]]) -> Graph:
    """head -> a, b -> join -> head: in round k the branch speaks if `branches[k-1]` says so."""
    graph = Graph("looped", start="head", end="out")

    def branch(place: int) -> Any:
        def speak(inp: Context) -> Any:
            return "said" if branches[inp.round - 1][place] else NOTHING

        return speak

    graph.node(id="head")(lambda inp: f"round {inp.round}")
    graph.node(id="a")(branch(0))
    graph.node(id="b")(branch(1))
    graph.node(id="meet", join=join)(lambda inp: "met")
    graph.node(id="out")(lambda inp: "out")
    chain(graph, "head", "a", "meet")
    chain(graph, "head", "b", "meet")
    graph.edge("meet", "head")
    graph.edge("head", "head", label="again")
    graph.edge("head", "out", label="limit")
    graph.loop("head", max_rounds=len(branches))
    return graph


@settings(max_examples=60, deadline=None)
@given(
    join=st.sampled_from(["any", "all"]),
    branches=st.lists(st.lists(st.booleans(), min_size=2, max_size=2), min_size=1, max_size=5),
)
def test_a_join_in_a_loop_never_dead_locks(join: str, branches: list[list[bool]]) -> None:
    played = play(looped_diamond(join, branches))
    assert played.result.output == "out"
    quorum = any if join == "any" else all
    assert played.times["meet"] == sum(map(quorum, branches))
    assert played.times["head"] == len(branches)
    met = [step.address for step in played.steps if step.node_id == "meet"]
    assert met == [f"head[{k}]/meet" for k, pair in enumerate(branches, 1) if quorum(pair)]


@pytest.mark.parametrize("depth", [1, 2, 5, 8])
def test_nested_diamonds_run_every_node_once(depth: int) -> None:
    graph = Graph("nested")
    saying(graph, "s")

    def nest(source: str, level: int) -> str:
        """Two branches, each a diamond itself down to the last level; the join's name."""
        if level == 0:
            return source
        ends = []
        for side in "lr":
            node = f"{source}{side}"
            saying(graph, node)
            graph.edge(source, node)
            ends.append(nest(node, level - 1))
        join = f"{source}j"
        graph.node(id=join, join="all")(lambda inp: f"{len(inp.messages)}")
        for end in ends:
            graph.edge(end, join)
        return join

    last = nest("s", depth)
    played = play(graph)
    assert played.result.output == "2"
    assert set(played.times.values()) == {1}
    assert last in played.times


def test_a_long_chain_of_skipped_nodes_needs_no_recursion() -> None:
    size = 10_000
    graph = saying(Graph("skips", start="s", end="e"), "s", "e", *map(str, range(size)))
    graph.edge("s", "0", condition=False)
    graph.edge("s", "e")
    chain(graph, *map(str, range(size)), "e")
    played = play(graph, seconds=60)
    assert played.result.status == "completed"
    assert played.times == {"s": 1, "e": 1}
    assert len([e for e in played.events if e.data.get("status") == "skipped"]) == size


def test_a_failed_loop_body_ends_a_join_behind_the_loop() -> None:
    """A loop whose body dies is `no_retrigger`; a join behind it gets its other branch."""
    graph = saying(Graph("g", start="s", end="e"), "s", "head", "beside", "e")
    graph.node(id="body", on_error="continue")(fails)
    chain(graph, "s", "head", "body", "head")
    graph.edge("body", "e")
    chain(graph, "s", "beside", "e")
    played = play(graph)
    assert played.result.status == "completed"
    assert played.exits == [("head", 1, "no_retrigger")]
    assert played.inputs("e") == [["beside"]]


def test_a_failure_that_goes_on_is_in_the_steps_with_its_error() -> None:
    played = play(diamond("any", left=fails, on_error="continue"))
    assert played.status_of == {
        "s": "completed",
        "left": "failed",
        "right": "completed",
        "e": "completed",
    }
    (failed,) = [step for step in played.steps if step.status == "failed"]
    assert failed.error == "RuntimeError: broken branch"
    assert failed.outputs == []
