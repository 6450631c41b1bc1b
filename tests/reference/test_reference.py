"""The reference interpreter against the conformance cases and against hand-worked examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.observed import CASES as BUT_DEFECTS
from tests.reference.document import read_graph
from tests.reference.forest import possible_loops
from tests.reference.handmade import (
    AGAIN,
    DONE,
    Arrow,
    body,
    counter,
    counts,
    ends,
    every,
    human,
    judge,
    plain,
    run_graph,
    script,
    seen,
    texts_seen,
)
from tests.reference.interpreter import interpret
from tests.reference.run import Execution, Run

CASES = Path(__file__).parents[1] / "conformance" / "chatdev"

OTHER_EXIT_RULE = {"exit_with_pending", "natural_end_with_pending"}
NOT_COPIED = {"stale_inputs", "inner_self_edge"}

# There, a graph whose `end` nodes stay silent falls back to its sinks; here it has no output.
FALLS_BACK_TO_SINKS = {"cd-019", "cd-159", "cd-213"}

# There, counters in a subgraph start anew with each call, and data-only edges make loops.
DIFFERS_BY_CONTRACT = {
    *("cd-007", "cd-033", "cd-043", "cd-054", "cd-071"),
    *("cd-113", "cd-145", "cd-183", "cd-208"),
}


# There, a subgraph whose ends are silent emits an empty message.
SILENT_INSIDE = {"cd-027", "cd-162"}


def _cases(file_name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / file_name).read_text("utf-8").splitlines()]


def _is_tagged(case: dict[str, Any], tags: set[str]) -> bool:
    return any(case["tags"].get(tag) for tag in tags)


def _has_data_only_edges(case: dict[str, Any]) -> bool:
    return "trigger:false" in case["tags"]["features"]


ALL_CASES = _cases("cases.jsonl")
SAME_BY_DEFAULT = [
    case
    for case in ALL_CASES
    if not _is_tagged(case, OTHER_EXIT_RULE | NOT_COPIED)
    and not _has_data_only_edges(case)
    and case["id"] not in SILENT_INSIDE
]
SAME_WITH_EXIT_NOW = [
    case
    for case in ALL_CASES
    if case not in SAME_BY_DEFAULT
    and not _is_tagged(case, NOT_COPIED)
    and case["id"] not in DIFFERS_BY_CONTRACT | SILENT_INSIDE
]


@pytest.mark.parametrize("case", SAME_BY_DEFAULT, ids=lambda case: case["id"])
def test_a_conformance_case_runs_as_observed(case: dict[str, Any]) -> None:
    run = interpret(yaml.safe_load(case["yaml"]), case["prompt"], case["human"])
    assert_as_observed(case, run)


@pytest.mark.parametrize("case", SAME_WITH_EXIT_NOW, ids=lambda case: case["id"])
def test_a_case_with_pending_triggers_runs_as_observed_with_exit_now(case: dict[str, Any]) -> None:
    document = yaml.safe_load(case["yaml"])
    exit_now_everywhere(document["graph"])
    assert_as_observed(case, interpret(document, case["prompt"], case["human"]))


@pytest.mark.parametrize("case", BUT_DEFECTS, ids=lambda case: case["id"])
def test_every_case_but_defects_runs_as_observed_by_the_rules_of_chatdev(
    case: dict[str, Any],
) -> None:
    document = yaml.safe_load(case["yaml"])
    chatdev_everywhere(document["graph"])
    run = interpret(document, case["prompt"], case["human"])
    assert run.output == case["expected"]["final"]
    assert_executed_as_observed(case, run)


def chatdev_everywhere(body: dict[str, Any]) -> None:
    body["dialect"] = "chatdev"
    for node in body["nodes"]:
        if node["type"] == "subgraph":
            chatdev_everywhere(node["config"]["config"])


def exit_now_everywhere(body: dict[str, Any]) -> None:
    body["loops"] = {node["id"]: {"exit": "now"} for node in body["nodes"]}
    for node in body["nodes"]:
        if node["type"] == "subgraph":
            exit_now_everywhere(node["config"]["config"])


def assert_as_observed(case: dict[str, Any], run: Run) -> None:
    expected = case["expected"]
    if case["id"] in FALLS_BACK_TO_SINKS:
        assert run.reason == "no_output"
    else:
        assert run.output == expected["final"]
    assert_executed_as_observed(case, run)


def assert_executed_as_observed(case: dict[str, Any], run: Run) -> None:
    expected = case["expected"]
    assert {name for name, done in run.executions.items() if done} == {
        name for name, done in expected["nodes"].items() if done
    }
    for name, executions in expected["nodes"].items():
        assert len(run.executions.get(name, [])) == len(executions), name
        for wanted, got in zip(executions, run.executions.get(name, []), strict=True):
            assert_same_execution(name, wanted, got)


def assert_same_execution(name: str, wanted: dict[str, Any], got: Execution) -> None:
    in_order = sorted if wanted.get("in_unordered") else list
    out_order = sorted if wanted.get("out_unordered") else list
    inputs = [tuple(pair) for pair in wanted["in"]]
    assert in_order(got.inputs) == in_order(inputs), name
    assert out_order(got.outputs) == out_order(wanted["out"]), name


SEED_CASES = {case["id"]: case for case in _cases("seed_loop_counter.jsonl")}


@pytest.mark.parametrize("case", SEED_CASES.values(), ids=lambda case: case["id"])
def test_the_seed_review_loop_runs_as_observed_with_exit_now(case: dict[str, Any]) -> None:
    document = yaml.safe_load(case["yaml"])
    exit_now_everywhere(document["graph"])
    assert_as_observed(case, interpret(document, case["prompt"], case["human"]))


def test_after_the_third_revision_the_writer_applies_it_and_the_guard_ends_the_loop() -> None:
    case = SEED_CASES["seed-a-three-revisions"]
    run = interpret(yaml.safe_load(case["yaml"]), case["prompt"], case["human"])
    assert counts(run) == {"Writer": 4, "Reviewer": 3, "Guard": 3, "Final": 1}
    assert run.executions["Writer"][3].inputs == [
        ("Reviewer", "revise 3"),
        ("Guard", "no more than 3 revisions"),
    ]
    assert run.output == "no more than 3 revisions"
    assert ends(run) == [("Writer", 3, "exit_edge", False)]


# -- joins and dead paths ---------------------------------------------------------------------


def test_a_start_node_sees_the_task_and_the_sink_gives_the_result() -> None:
    run = run_graph({"a": plain(), "b": plain()}, [("a", "b")])
    assert seen(run, "a") == [[("TASK", "task")]]
    assert (run.status, run.output) == ("completed", "task")


def test_a_skipped_branch_is_dead_and_holds_up_nobody() -> None:
    nodes = {"a": plain(), "dead": plain(), "dead2": plain(), "b": plain(), "join": every()}
    edges: list[Arrow] = [
        ("a", "dead", {"condition": False}),
        ("dead", "dead2"),
        ("dead2", "join"),
        ("a", "b"),
        ("b", "join"),
    ]
    run = run_graph(nodes, edges)
    assert counts(run) == {"a": 1, "dead": 0, "dead2": 0, "b": 1, "join": 1}


def test_join_all_is_skipped_when_one_edge_is_dead() -> None:
    nodes = {"a": plain(), "b": plain(), "c": plain(), "join": plain(join="all")}
    edges: list[Arrow] = [("a", "b"), ("a", "c", {"condition": "false"})]
    run = run_graph(nodes, [*edges, ("b", "join"), ("c", "join")])
    assert counts(run)["join"] == 0
    assert (run.status, run.reason) == ("failed", "no_output")


def test_an_edge_from_a_node_that_nothing_reaches_never_fires_for_join_all() -> None:
    nodes = {"a": plain(), "lost": plain(), "join": plain(join="all")}
    run = run_graph(nodes, [("a", "join"), ("lost", "join")], start=["a"])
    assert counts(run) == {"a": 1, "lost": 0, "join": 0}


def test_a_start_node_waits_for_its_other_edges() -> None:
    run = run_graph({"b": every(), "a": plain()}, [("a", "b")], start=["b", "a"])
    assert seen(run, "b") == [[("TASK", "task"), ("a", "task")]]


def test_messages_come_by_level_and_then_by_the_edges_place_in_the_file() -> None:
    nodes = {n: plain() for n in ("a", "near", "far1", "far2")} | {"join": every()}
    edges: list[Arrow] = [("far2", "join"), ("near", "join"), ("a", "join")]
    edges += [("a", "near"), ("a", "far1"), ("far1", "far2")]
    run = run_graph(nodes, edges)
    assert [source for source, _ in seen(run, "join")[0]] == ["a", "near", "far2"]


def test_a_plain_node_comes_before_a_loop_at_the_same_level() -> None:
    nodes = {"a": plain(), "loop": script(["done"]), "b": plain(), "join": every()}
    edges: list[Arrow] = [("loop", "join"), ("b", "join"), ("a", "loop"), ("a", "b")]
    run = run_graph(nodes, [*edges, ("loop", "loop", {"condition": AGAIN})])
    assert [source for source, _ in seen(run, "join")[0]] == ["b", "loop"]


# -- loops ------------------------------------------------------------------------------------


def test_a_self_loop_runs_until_it_says_done() -> None:
    nodes = {"a": script(["again"], ["again"], ["done"]), "end": plain()}
    run = run_graph(
        nodes,
        [("a", "a", {"condition": AGAIN}), ("a", "end", {"condition": DONE})],
        start="a",
    )
    assert counts(run) == {"a": 3, "end": 1}
    assert ends(run) == [("a", 3, "exit_edge", False)]


def test_a_self_loop_inside_a_loop_is_a_loop_of_its_own() -> None:
    nodes = {
        "head": plain(),
        "inner": script(["again"], ["done"], ["again"], ["again"], ["stop"]),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("head", "inner"),
        ("inner", "inner", {"condition": AGAIN}),
        ("inner", "head", {"condition": DONE}),
        ("inner", "end", {"condition": {"type": "keyword", "config": {"any": ["stop"]}}}),
    ]
    run = run_graph(nodes, edges, start="head")
    assert counts(run) == {"head": 2, "inner": 5, "end": 1}
    assert [(loop.head, loop.rounds) for loop in run.loops] == [
        ("inner", 2),
        ("inner", 3),
        ("head", 2),
    ]


def nested_loops(**contracts: dict[str, Any]) -> Run:
    """Outer head A, inner head B; C ends the inner loop, D the outer one."""
    nodes = {
        "A": plain(),
        "B": plain(),
        "C": script(["again"], ["done"]),
        "D": script(["again"], ["again"], ["done"]),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("A", "B"),
        ("B", "C"),
        ("C", "B", {"condition": AGAIN}),
        ("C", "D", {"condition": DONE}),
        ("D", "A", {"condition": AGAIN}),
        ("D", "end", {"condition": DONE}),
    ]
    return run_graph(nodes, edges, start="A", loops=contracts)


def test_loops_nest_and_rounds_restart_on_each_entry() -> None:
    run = nested_loops()
    assert counts(run) == {"A": 3, "B": 4, "C": 4, "D": 3, "end": 1}
    assert [(loop.head, loop.rounds) for loop in run.loops] == [
        ("B", 2),
        ("B", 1),
        ("B", 1),
        ("A", 3),
    ]


def test_a_diamond_in_a_loop_with_join_all_joins_in_every_round() -> None:
    nodes = {
        "head": plain(),
        "left": plain(),
        "right": plain(),
        "join": script(["again"], ["again"], ["done"], join="all"),
        "end": plain(),
    }
    edges: list[Arrow] = [("head", "right"), ("head", "left"), ("right", "join"), ("left", "join")]
    edges += [("join", "head", {"condition": AGAIN}), ("join", "end", {"condition": DONE})]
    run = run_graph(nodes, edges, start="head")
    assert counts(run) == {"head": 3, "left": 3, "right": 3, "join": 3, "end": 1}
    assert seen(run, "join")[0] == [("right", "task"), ("left", "task")]


def test_edges_back_to_the_head_never_count_in_its_join() -> None:
    nodes = {
        "a": plain(),
        "b": plain(),
        "head": plain(join="all"),
        "tail": script(["again"], ["done"]),
        "end": plain(),
    }
    edges: list[Arrow] = [("a", "head"), ("b", "head"), ("head", "tail")]
    edges += [("tail", "head", {"condition": AGAIN}), ("tail", "end", {"condition": DONE})]
    assert counts(run_graph(nodes, edges))["head"] == 2


def test_two_entries_at_once_fail() -> None:
    nodes = {"a": plain(), "x": plain(), "y": plain()}
    run = run_graph(nodes, [("a", "x"), ("a", "y"), ("x", "y"), ("y", "x")])
    assert (run.status, run.reason) == ("failed", "two_entries")
    assert counts(run) == {"a": 1, "x": 0, "y": 0}


def test_two_starts_in_one_loop_fail() -> None:
    run = run_graph({"x": plain(), "y": plain()}, [("x", "y"), ("y", "x")], start=["x", "y"])
    assert run.reason == "two_entries"


def test_the_head_is_the_node_that_was_triggered_and_shapes_what_is_inside() -> None:
    nodes = {"a": plain(), "b": plain(), "c": plain()}
    edges: list[Arrow] = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    from_a = possible_loops(read_graph(body(nodes, edges, start="a")))
    from_b = possible_loops(read_graph(body(nodes, edges, start="b")))
    assert [(loop.head, loop.depth, sorted(loop.nodes)) for loop in from_a] == [
        ("a", 1, ["a", "b", "c"]),
        ("b", 2, ["b", "c"]),
    ]
    assert [(loop.head, loop.depth) for loop in from_b] == [("b", 1)]


def test_a_loop_ends_when_the_head_is_not_triggered_again() -> None:
    nodes = {"a": plain(), "b": script(["again"], []), "end": plain()}
    run = run_graph(nodes, [("a", "b"), ("b", "a"), ("b", "end", {"condition": DONE})], start="a")
    assert ends(run) == [("a", 2, "no_retrigger", False)]
    assert run.reason == "no_output"


# -- how a loop is left -----------------------------------------------------------------------


def exit_with_pending_head(**contract: Any) -> Run:
    """In round 1 `b` both leaves the loop and triggers the head again; `c` comes later."""
    nodes = {"a": plain(), "b": script(["done again"]), "c": plain(), "end": every()}
    edges: list[Arrow] = [("a", "end", {"trigger": False}), ("b", "end"), ("a", "b"), ("b", "c")]
    return run_graph(nodes, [*edges, ("c", "a")], start="a", loops={"a": contract})


def test_at_the_end_of_the_round_the_head_runs_once_more_and_starts_nothing() -> None:
    run = exit_with_pending_head()
    assert counts(run) == {"a": 2, "b": 1, "c": 1, "end": 1}
    assert seen(run, "end") == [[("a", "task"), ("b", "done again"), ("a", "done again")]]


def test_with_exit_now_later_levels_are_skipped_and_the_head_does_not_run_again() -> None:
    run = exit_with_pending_head(exit="now")
    assert counts(run) == {"a": 1, "b": 1, "c": 0, "end": 1}
    assert ends(run) == [("a", 1, "exit_edge", False)]


def test_exit_now_lets_the_level_finish() -> None:
    nodes = {"a": plain(), "leaves": plain(), "stays": plain(), "end": plain()}
    edges: list[Arrow] = [("a", "leaves"), ("a", "stays"), ("leaves", "end")]
    edges += [("leaves", "a"), ("stays", "a")]
    run = run_graph(nodes, edges, start="a", loops={"a": {"exit": "now"}})
    assert counts(run) == {"a": 1, "leaves": 1, "stays": 1, "end": 1}


def test_an_edge_that_leaves_two_loops_ends_both() -> None:
    nodes = {"A": plain(), "B": plain(), "C": plain(), "D": plain(), "end": plain()}
    edges: list[Arrow] = [("A", "B"), ("B", "C"), ("C", "B"), ("C", "D"), ("D", "A")]
    run = run_graph(nodes, [*edges, ("C", "end")], start="A")
    assert [(loop.head, loop.rounds, loop.reason) for loop in run.loops] == [
        ("B", 1, "exit_edge"),
        ("A", 1, "exit_edge"),
    ]
    assert counts(run) == {"A": 2, "B": 2, "C": 1, "D": 1, "end": 1}


def endless(exits: list[Arrow], **contract: Any) -> Run:
    nodes = {"a": plain(), "b": script(["one"], ["two"], ["three", "3"])}
    nodes |= {"end": every(), "other": every()}
    edges: list[Arrow] = [("a", "b"), ("b", "a"), *exits]
    return run_graph(nodes, edges, start="a", end=["end", "other"], loops={"a": contract})


def test_max_rounds_leaves_by_the_only_exit_whatever_its_condition() -> None:
    run = endless([("b", "end", {"condition": False})], max_rounds=3)
    assert counts(run) == {"a": 3, "b": 3, "end": 1, "other": 0}
    assert seen(run, "end") == [[("b", "three"), ("b", "3")]]
    assert ends(run) == [("a", 3, "max_rounds_reached", False)]


def test_the_edge_labelled_limit_is_taken_by_the_contract_only() -> None:
    exits: list[Arrow] = [("b", "other", {"condition": False}), ("b", "end", {"label": "limit"})]
    run = endless(exits, max_rounds=2)
    assert counts(run) == {"a": 2, "b": 2, "end": 1, "other": 0}


def test_two_unlabelled_exits_are_no_way_out() -> None:
    exits: list[Arrow] = [("b", "end", {"condition": False}), ("b", "other", {"condition": False})]
    run = endless(exits, max_rounds=2)
    assert (run.status, run.reason) == ("failed", "no_output")


def test_a_way_out_that_drops_its_messages_triggers_nobody() -> None:
    drop = {"type": "regex_extract", "config": {"pattern": "x", "on_no_match": "drop"}}
    run = endless([("b", "end", {"label": "limit", "process": drop})], max_rounds=2)
    assert counts(run)["end"] == 0


def test_a_way_out_from_a_silent_node_triggers_without_a_message() -> None:
    nodes = {"a": plain(), "b": plain(), "mute": script([]), "end": plain()}
    edges: list[Arrow] = [("a", "b"), ("b", "a"), ("b", "mute"), ("mute", "a"), ("mute", "end")]
    run = run_graph(nodes, edges, start="a", loops={"a": {"max_rounds": 2}})
    assert seen(run, "end") == [[]]


def test_a_loop_without_contract_ends_after_a_hundred_rounds() -> None:
    run = run_graph(
        {"a": plain(), "end": plain()}, [("a", "a"), ("a", "end", {"label": "limit"})], start="a"
    )
    assert counts(run) == {"a": 100, "end": 1}


# -- data-only edges --------------------------------------------------------------------------


def test_a_data_only_edge_orders_its_target_after_its_source() -> None:
    nodes = {"a": plain(), "b": plain(), "slow": plain(), "slower": plain()}
    edges: list[Arrow] = [("a", "b"), ("a", "slow"), ("slow", "slower")]
    run = run_graph(nodes | {"b": every()}, [*edges, ("slower", "b", {"trigger": False})])
    assert seen(run, "b") == [[("a", "task"), ("slower", "task")]]


def test_a_data_only_edge_that_would_close_a_cycle_delivers_for_the_next_execution() -> None:
    nodes = {
        "head": plain(),
        "early": every(),
        "late": script(["again"], ["done"]),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("late", "early", {"trigger": False}),
        ("head", "early"),
        ("early", "late"),
        ("late", "head", {"condition": AGAIN}),
        ("late", "end", {"condition": DONE}),
    ]
    run = run_graph(nodes, edges, start="head")
    assert seen(run, "early") == [[("head", "task")], [("late", "again"), ("head", "again")]]


def test_a_data_only_edge_triggers_nobody_and_makes_no_loop() -> None:
    run = run_graph(
        {"a": plain(), "b": plain()},
        [("a", "b"), ("b", "a", {"trigger": False})],
        start="a",
        end="b",
    )
    assert counts(run) == {"a": 1, "b": 1}
    assert run.loops == []


def test_a_node_skipped_in_one_round_sees_those_messages_in_the_next() -> None:
    nodes = {
        "head": script(["odd"], ["even"]),
        "sometimes": every(),
        "tail": script(["again"], ["done"]),
        "end": plain(),
    }
    even = {"condition": {"type": "keyword", "config": {"any": ["even"]}}}
    edges: list[Arrow] = [
        ("head", "sometimes", {"trigger": False}),
        ("head", "sometimes", even),
        ("head", "tail"),
        ("sometimes", "tail"),
        ("tail", "head", {"condition": AGAIN}),
        ("tail", "end", {"condition": DONE}),
    ]
    run = run_graph(nodes, edges, start="head")
    assert texts_seen(run, "sometimes") == [["odd", "even", "even"]]


# -- re-entry ---------------------------------------------------------------------------------


def test_what_a_loop_left_undelivered_is_gone_when_it_is_entered_again() -> None:
    nodes = {
        "outer": plain(),
        "inner": every(),
        "tail": script(["again done"], ["done"]),
        "turn": script(["again"], ["done"]),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("outer", "inner"),
        ("inner", "tail"),
        ("tail", "inner", {"condition": AGAIN}),
        ("tail", "turn", {"condition": DONE}),
        ("turn", "outer", {"condition": AGAIN}),
        ("turn", "end", {"condition": DONE}),
    ]
    run = run_graph(nodes, edges, start="outer", loops={"inner": {"exit": "now"}})
    assert seen(run, "inner") == [[("outer", "task")], [("outer", "again")]]


def test_counters_count_on_over_the_entries_of_a_loop() -> None:
    nodes = {
        "outer": plain(),
        "inner": plain(),
        "guard": counter(3),
        "turn": counter(2, "over"),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("outer", "inner"),
        ("inner", "inner", {"condition": False}),
        ("inner", "guard"),
        ("inner", "outer"),
        ("guard", "turn"),
        ("turn", "outer"),
        ("turn", "end"),
    ]
    run = run_graph(nodes, edges, start="outer")
    assert counts(run) == {"outer": 7, "inner": 6, "guard": 6, "turn": 2, "end": 1}


# -- contexts ---------------------------------------------------------------------------------


def three_times(node: dict[str, Any], **edge: Any) -> Run:
    """A loop of three rounds in which the clock says 1, 2, 3 to node `x`."""
    nodes = {
        "clock": script(["1"], ["2"], ["3"]),
        "x": node,
        "tail": script(["again"], ["again"], ["done"]),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("clock", "x", edge),
        ("x", "tail"),
        ("tail", "clock", {"condition": AGAIN}),
        ("tail", "end", {"condition": DONE}),
    ]
    return run_graph(nodes, edges, start="clock")


def test_window_0_forgets_all() -> None:
    assert texts_seen(three_times(script(["x"])), "x") == [["1"], ["2"], ["3"]]


def test_window_1_retains_the_newest_input_and_the_output_beyond_it() -> None:
    run = three_times(script(["x"], context_window=1))
    assert texts_seen(run, "x") == [["1"], ["1", "x", "2"], ["2", "x", "3"]]


def test_window_minus_1_retains_inputs_and_outputs() -> None:
    run = three_times(script(["x"], context_window=-1))
    assert texts_seen(run, "x") == [["1"], ["1", "x", "2"], ["1", "x", "2", "x", "3"]]


def test_kept_messages_stay_though_the_window_is_0() -> None:
    run = three_times(script(["x"]), keep_message=True)
    assert texts_seen(run, "x") == [["1"], ["1", "2"], ["1", "2", "3"]]


def test_kept_messages_use_up_the_places_of_the_window() -> None:
    run = three_times(script(["x"], context_window=2), keep_message=True)
    assert texts_seen(run, "x") == [["1"], ["1", "x", "2"], ["1", "2", "x", "3"]]


def test_clear_context_spares_the_kept_and_clear_kept_context_the_others() -> None:
    all_kept = three_times(script(["x"], context_window=-1), keep_message=True, clear_context=True)
    assert texts_seen(all_kept, "x") == [["1"], ["1", "2"], ["1", "2", "3"]]
    none_kept = three_times(
        script(["x"], context_window=-1), keep_message=True, clear_kept_context=True
    )
    assert texts_seen(none_kept, "x") == [["1"], ["x", "2"], ["x", "x", "3"]]


def test_clearing_also_drops_what_the_same_batch_brought_before() -> None:
    nodes = {"a": plain(), "b": plain(), "join": every()}
    run = run_graph(nodes, [("a", "join"), ("a", "b"), ("b", "join", {"clear_context": True})])
    assert seen(run, "join") == [[("b", "task")]]


def test_a_dropped_message_clears_but_does_not_trigger() -> None:
    drop = {"type": "regex_extract", "config": {"pattern": "x", "on_no_match": "drop"}}
    nodes = {"a": plain(), "b": plain(), "join": every()}
    edges: list[Arrow] = [
        ("a", "join"),
        ("a", "b"),
        ("b", "join", {"clear_context": True, "process": drop}),
    ]
    assert seen(run_graph(nodes, edges), "join") == [[]]
    assert counts(run_graph({**nodes, "join": every(join="all")}, edges))["join"] == 0


def test_a_kept_message_stays_kept_when_a_passthrough_hands_it_on() -> None:
    nodes = {
        "clock": script(["1"], ["2"]),
        "pass": plain(),
        "x": every(),
        "tail": script(["again"], ["done"]),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("clock", "pass", {"keep_message": True}),
        ("pass", "x"),
        ("x", "tail"),
        ("tail", "clock", {"condition": AGAIN}),
        ("tail", "end", {"condition": DONE}),
    ]
    assert texts_seen(run_graph(nodes, edges, start="clock"), "x") == [["1"], ["1", "2"]]


# -- loop nodes and goals ---------------------------------------------------------------------


def judged(*scores: Any, **config: Any) -> Run:
    lines = [[{"content": f"draft {n}", "data": {"score": s}}] for n, s in enumerate(scores, 1)]
    nodes = {"write": script(*lines), "judge": judge(**config), "end": plain()}
    edges: list[Arrow] = [("write", "judge"), ("judge", "write"), ("judge", "end")]
    return run_graph(nodes, edges, start="write")


def test_a_loop_node_ends_the_loop_with_its_own_reason() -> None:
    run = judged(60, "92", exit_on_score=90)
    assert (run.status, run.output) == ("completed", "draft 2")
    assert ends(run) == [("write", 2, "score_threshold_reached", False)]


def test_a_missed_goal_is_bounded() -> None:
    run = judged(60, 70, 80, exit_on_score=90)
    assert run.status == "bounded"
    assert ends(run) == [("write", 3, "max_rounds_reached", True)]


def test_without_a_goal_the_last_round_is_simply_done() -> None:
    run = judged(60, max_rounds=2)
    assert run.status == "completed"
    assert ends(run) == [("write", 2, "max_rounds_reached", False)]


def test_a_loop_node_routes_by_label_before_it_routes_by_place() -> None:
    nodes = {"a": plain(), "judge": judge(max_rounds=2), "end": plain(), "other": plain()}
    edges: list[Arrow] = [
        ("a", "judge"),
        ("judge", "other"),
        ("judge", "end", {"label": "exit"}),
        ("judge", "a", {"label": "continue"}),
    ]
    assert counts(run_graph(nodes, edges, start="a")) == {"a": 2, "judge": 2, "end": 1, "other": 0}


def test_an_inner_loop_that_missed_its_goal_is_made_good_by_the_loop_around_it() -> None:
    line = [{"content": "draft", "data": {"score": 60}}]
    best = [{"content": "best", "data": {"score": 95}}]
    nodes = {
        "outer": plain(),
        "write": script(line),
        "inner judge": judge(max_rounds=1, exit_on_score=90),
        "polish": script(best),
        "outer judge": judge(exit_on_score=90),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("outer", "write"),
        ("write", "inner judge"),
        ("inner judge", "write"),
        ("inner judge", "polish"),
        ("polish", "outer judge"),
        ("outer judge", "outer"),
        ("outer judge", "end"),
    ]
    run = run_graph(nodes, edges, start="outer")
    assert [(loop.head, loop.bounded) for loop in run.loops] == [("write", True), ("outer", False)]
    assert run.status == "completed"


# -- humans, subgraphs, limits ----------------------------------------------------------------


def test_answers_are_used_in_order_and_a_missing_one_is_waited_for() -> None:
    nodes = {"ask": human(), "ask again": human()}
    edges: list[Arrow] = [("ask", "ask again")]
    assert run_graph(nodes, edges, ["x", "y"]).output == "y"
    waiting = run_graph(nodes, edges, ["x"])
    assert waiting.status == "waiting"
    assert counts(waiting) == {"ask": 1, "ask again": 0}


def called_twice(inner: dict[str, Any]) -> Run:
    nodes = {
        "head": plain(),
        "S": {"type": "subgraph", "config": {"graph": inner}},
        "tail": script(["again"], ["done"]),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("head", "S"),
        ("S", "tail"),
        ("tail", "head", {"condition": AGAIN}),
        ("tail", "end", {"condition": DONE}),
    ]
    return run_graph(nodes, edges, start="head")


def test_counters_in_a_subgraph_count_over_its_calls() -> None:
    inner = body({"p": plain(), "c": counter(2), "q": plain()}, [("p", "c"), ("p", "q")])
    run = called_twice({**inner, "end": ["c", "q"]})
    assert [e.outputs for e in run.executions["S/c"]] == [[], ["enough"]]
    assert [e.outputs for e in run.executions["S"]] == [["task"], ["enough"]]
    assert seen(run, "S/p") == [[("head", "task")], [("head", "again")]]
    assert seen(run, "S/c")[0] == [("p", "task")]


def test_a_subgraph_whose_ends_are_silent_emits_nothing() -> None:
    run = called_twice(body({"p": plain(), "c": counter(2)}, [("p", "c")]))
    assert [e.outputs for e in run.executions["S"]] == [[]]
    assert counts(run)["tail"] == 0
    assert run.reason == "no_output"


def test_contexts_in_a_subgraph_start_empty_with_each_call() -> None:
    run = called_twice(body({"p": every(context_window=-1)}, []))
    assert texts_seen(run, "S/p") == [["task"], ["again"]]


def test_a_loop_in_a_subgraph_is_named_by_its_path() -> None:
    inner = body(
        {"h": script(["again"], ["done"]), "q": plain()},
        [("h", "h", {"condition": AGAIN}), ("h", "q", {"condition": DONE})],
        start="h",
    )
    run = called_twice(inner)
    assert [(loop.head, loop.rounds) for loop in run.loops] == [
        ("S/h", 2),
        ("S/h", 1),
        ("head", 2),
    ]


def test_more_than_max_steps_fail_the_session() -> None:
    nodes, edges = {"a": plain(), "b": plain()}, [("a", "b")]
    assert run_graph(nodes, edges, limits={"max_steps": 2}).status == "completed"
    run = run_graph(nodes, edges, limits={"max_steps": 1})
    assert (run.status, run.reason) == ("failed", "max_steps_reached")


def test_the_result_is_that_of_the_first_end_node_with_output() -> None:
    nodes = {"a": plain(), "mute": script([]), "b": script(["b"])}
    run = run_graph(nodes, [("a", "mute"), ("a", "b")], end=["mute", "b", "a"])
    assert run.output == "b"
