"""What bounds a loop: proven where it does, told why not where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from rondel.certificate import Cost
from tests.unit.certificate.graphs import (
    ACCEPT,
    body,
    certificate,
    edge,
    node,
    only_loop,
    review,
    rounds_of,
    says,
)

GUARD = "loop_counter 'Guard'"


def test_the_guard_of_the_seed_bounds_its_loop() -> None:
    loop = only_loop(review())
    assert (loop.head, loop.bound.rounds, loop.bound.source) == ("Writer", 3, GUARD)
    assert rounds_of(review()) == {"Writer": [3]}


def test_the_contract_bounds_where_it_is_lower_and_the_guard_where_that_is() -> None:
    edges = [
        edge("Writer", "Reviewer"),
        edge("Reviewer", "Writer"),
        edge("Reviewer", "Guard"),
        edge("Guard", "Writer"),
        edge("Guard", "Final"),
    ]
    lower = only_loop(review(edges=edges, loops={"Writer": {"max_rounds": 2}}))
    assert (lower.bound.rounds, lower.bound.source) == (2, "contract")
    equal = only_loop(review(edges=edges, loops={"Writer": {"max_rounds": 3}}))
    assert (equal.bound.rounds, equal.bound.source) == (3, "contract")
    higher = only_loop(review(edges=edges, loops={"Writer": {"max_rounds": 9}}))
    assert (higher.bound.rounds, higher.bound.source) == (3, GUARD)


def test_a_guard_past_the_default_cap_does_not_bound() -> None:
    loop = only_loop(review(node("Guard", "loop_counter", max_iterations=101)))
    assert (loop.bound.rounds, loop.bound.source) == (100, "default")


def with_edges(changes: dict[tuple[str, str], dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The review loop with some edges changed."""
    graph = review(**more)
    for each in graph["edges"]:
        each.update(changes.get((each["from"], each["to"]), {}))
    return graph


def unguarded(graph: dict[str, Any]) -> str:
    """Why the guard does not bound the loop."""
    loop = only_loop(graph)
    assert loop.bound.source == "default"
    (told,) = loop.bound.unproven
    assert told.startswith(f"{GUARD} is not proven to bound it: ")
    return told.partition("bound it: ")[2]


def test_a_guard_whose_edge_has_a_stricter_condition_may_miss_rounds() -> None:
    stricter = {"type": "keyword", "config": {"none": ["ACCEPT", "more"]}}
    graph = with_edges({("Reviewer", "Guard"): {"condition": stricter}})
    assert unguarded(graph) == "the way Writer -> Reviewer -> Writer does not pass it"
    assert rounds_of(graph) == {"Writer": [100]}


def test_a_guard_whose_edge_has_a_looser_condition_misses_none() -> None:
    looser = {"type": "keyword", "config": {"none": ["ACCEPTED"]}}
    graph = with_edges({("Reviewer", "Guard"): {"condition": looser}})
    assert only_loop(graph).bound.source == GUARD


def test_a_node_before_the_guard_may_be_on_the_way_to_it() -> None:
    graph = with_edges({("Reviewer", "Guard"): {"to": "Log"}})
    graph["nodes"].insert(0, node("Log"))
    graph["start"] = "Writer"
    graph["edges"].append(edge("Log", "Guard"))
    assert only_loop(graph).bound.source == GUARD
    graph["edges"][-1]["condition"] = ACCEPT
    assert "does not pass it" in unguarded(graph)
    assert rounds_of(graph) == {"Writer": [100]}


def test_a_guard_without_a_sure_exit_does_not_bound() -> None:
    graph = with_edges({("Guard", "Final"): {"condition": ACCEPT}})
    assert "has a condition" in unguarded(graph)
    assert rounds_of(graph) == {"Writer": [100]}


def test_an_exit_that_may_drop_the_message_is_not_sure() -> None:
    drop = {"type": "regex_extract", "config": {"pattern": "never", "on_no_match": "drop"}}
    graph = with_edges({("Guard", "Final"): {"process": drop}})
    assert "may drop the message" in unguarded(graph)
    assert rounds_of(graph) == {"Writer": [100]}
    kept = {"type": "regex_extract", "config": {"pattern": "never", "on_no_match": "pass"}}
    graph = with_edges({("Guard", "Final"): {"process": kept}})
    assert only_loop(graph).bound.source == GUARD


def test_a_guard_whose_way_out_only_the_contract_takes_does_not_bound() -> None:
    graph = with_edges({("Guard", "Final"): {"label": "limit"}})
    assert unguarded(graph) == "only the contract takes its edge out of the loop"
    assert rounds_of(graph) == {"Writer": [100]}


def test_a_guard_that_waits_for_several_edges_may_not_run() -> None:
    graph = review()
    graph["nodes"][2]["join"] = "all"
    graph["edges"].append(edge("Writer", "Guard", ACCEPT))
    assert "join: all" in unguarded(graph)
    assert rounds_of(graph) == {"Writer": [100]}


def test_a_guard_whose_errors_are_swallowed_may_fail_to_count() -> None:
    raises = {"type": "expr", "config": {"expr": "data.missing == 1"}}
    graph = review()
    graph["nodes"][2]["on_error"] = "continue"
    assert "its errors do not end the run" in unguarded(graph)
    graph["edges"].append(edge("Guard", "Reviewer", raises, trigger=False))
    assert rounds_of(graph) == {"Writer": [100]}


def test_a_rollback_starts_rounds_that_no_guard_sees() -> None:
    regression = {"drop": 10, "action": "rollback"}
    graph = review(loops={"Writer": {"regression": regression, "max_rounds": 7}})
    graph["edges"][1]["label"] = "limit"
    scores = [{"content": "ACCEPT", "data": {"score": score}} for score in (90, 10)]
    graph["nodes"][1] = says("Reviewer", *scores)
    graph["edges"][1]["condition"] = False
    loop = only_loop(graph)
    assert (loop.bound.rounds, loop.bound.source) == (7, "contract")
    assert "rollback" in loop.bound.unproven[0]


def test_the_contract_of_an_inner_loop_may_lead_past_a_guard() -> None:
    """The inner loop's way out leaves from a node behind the guard that never ran."""
    nodes = [node("A"), node("B"), node("Guard", "loop_counter", max_iterations=2), node("C")]
    edges = [
        edge("A", "B"),
        edge("B", "B"),
        edge("B", "C", {"type": "keyword", "config": {"any": ["never"]}}, label="limit"),
        edge("C", "A"),
        edge("C", "Guard", ACCEPT),
        edge("Guard", "A"),
        edge("Guard", "End"),
    ]
    graph = body([*nodes, node("End")], edges, loops={"B": {"max_rounds": 2}})
    outer = certificate(graph).loops[0]
    assert (outer.head, outer.bound.source) == ("A", "default")
    assert set(rounds_of(graph)["A"]) == {100}


# loop


def gate(**more: Any) -> dict[str, Any]:
    nodes = [says("Writer", "draft"), node("Gate", "loop", max_rounds=4), node("Final")]
    edges = [
        edge("Writer", "Gate"),
        edge("Gate", "Writer", label="continue"),
        edge("Gate", "Final", label="exit"),
    ]
    return body(nodes, edges, **more)


def test_a_loop_node_bounds_its_loop() -> None:
    loop = only_loop(gate())
    assert (loop.bound.rounds, loop.bound.source) == (4, "loop node 'Gate'")
    assert rounds_of(gate()) == {"Writer": [4]}


def test_a_loop_node_bounds_also_where_its_way_out_stays_in_the_loop() -> None:
    graph = gate()
    graph["nodes"].insert(2, node("Rest"))
    graph["edges"][2]["to"] = "Rest"
    graph["edges"] += [edge("Rest", "Final"), edge("Rest", "Writer", False)]
    assert only_loop(graph).bound.source == "loop node 'Gate'"
    assert rounds_of(graph) == {"Writer": [4]}


def test_a_loop_node_that_hears_an_iteration_goes_by_it() -> None:
    graph = gate()
    graph["nodes"][0] = says("Writer", {"content": "draft", "data": {"iteration": 1}})
    loop = only_loop(graph)
    assert loop.bound.source == "default"
    assert loop.bound.unproven == (
        "loop node 'Gate' is not proven to bound it: it goes by data.iteration, which may come "
        "from 'Writer'",
    )
    assert rounds_of(graph) == {"Writer": [100]}


def test_the_inputs_of_a_session_may_hold_an_iteration_too() -> None:
    graph = gate()
    graph["nodes"][0] = node("Writer")
    graph["nodes"][1]["config"]["passthrough_keys"] = ["iteration"]
    assert "the session's inputs" in only_loop(graph).bound.unproven[0]
    assert rounds_of(graph, iteration=1) == {"Writer": [100]}


def test_a_way_past_a_loop_node_is_named() -> None:
    graph = gate()
    graph["edges"].append(edge("Writer", "Writer"))
    assert only_loop(graph).bound.source == "loop node 'Gate'"  # which runs beside it
    graph["edges"][0]["condition"] = ACCEPT
    (told,) = only_loop(graph).bound.unproven
    assert told.endswith("the way Writer -> Writer does not pass it")
    assert rounds_of(graph) == {"Writer": [100]}


# human, time, asking


def asking(condition: Any) -> dict[str, Any]:
    config = {"actions": ["approve", "revise"], "max_revisions": 2}
    nodes = [node("Writer"), node("Editor", "human", **config), node("Final")]
    edges = [
        edge("Writer", "Editor"),
        edge("Editor", "Writer", condition),
        edge("Editor", "Final", {"type": "expr", "config": {"expr": 'data.action == "approve"'}}),
    ]
    return body(nodes, edges)


def test_a_person_who_may_revise_twice_makes_three_rounds() -> None:
    graph = asking({"type": "expr", "config": {"expr": 'data.action == "revise"'}})
    loop = only_loop(graph)
    assert (loop.bound.rounds, loop.bound.source) == (3, "human 'Editor' max_revisions")
    assert rounds_of(graph, *["revise"] * 5, "approve") == {"Writer": [3]}


def test_a_condition_on_the_text_does_not_prove_that_a_person_may_not_revise() -> None:
    """The comment on an approval may say `revise`, too."""
    graph = asking({"type": "keyword", "config": {"any": ["revise"]}})
    graph["edges"][2]["condition"] = {"type": "keyword", "config": {"none": ["revise"]}}
    assert only_loop(graph).bound.source == "default"
    assert rounds_of(graph, *["approve: revise"] * 4, "approve") == {"Writer": [5]}


def test_a_timer_is_a_bound_of_time() -> None:
    graph = review(node("Guard", "loop_timer", max_duration=2, duration_unit="minutes"))
    bound = only_loop(graph).bound
    assert (bound.rounds, bound.source) == (100, "loop_timer 'Guard'")
    assert (bound.seconds, bound.timed_by) == (120, "loop_timer 'Guard'")


def test_a_loop_that_asks_at_its_limit_counts_up_to_the_question() -> None:
    contract = {"max_rounds": 2, "on_limit": "human"}
    edges = [edge("Writer", "Writer"), edge("Writer", "Final", False)]
    graph = body([says("Writer", "draft"), node("Final")], edges, loops={"Writer": contract})
    loop = only_loop(graph)
    assert loop.each_continue == Cost(2, 2)
    assert loop.bound.rounds == 2
    assert rounds_of(graph, "continue 3", "best") == {"Writer": [5]}
    assert rounds_of(graph, "best") == {"Writer": [2]}


@pytest.mark.parametrize("reset", [True, False])
def test_a_counter_that_was_used_before_ends_its_loop_earlier(reset: bool) -> None:
    """Private state lives for the session, so that later entries may be shorter, never longer."""
    guard = node("Guard", "loop_counter", max_iterations=3, reset_on_emit=reset)
    nodes = [node("Outer"), node("Writer"), guard, node("Back"), node("Final")]
    edges = [
        edge("Outer", "Writer"),
        edge("Writer", "Writer"),
        edge("Writer", "Guard"),
        edge("Guard", "Writer"),
        edge("Guard", "Back"),
        edge("Back", "Outer"),
        edge("Back", "Final", False),
    ]
    graph = body(nodes, edges, loops={"Outer": {"max_rounds": 3}})
    outer, inner = certificate(graph).loops
    assert (outer.bound.rounds, inner.bound.rounds) == (3, 3)
    assert (inner.parent, inner.rounds) == ("Outer", 9)
    assert rounds_of(graph)["Writer"] == ([3, 3, 3] if reset else [3, 1, 1])
