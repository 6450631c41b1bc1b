"""Contracts of loops in loops: whose score counts, what starts anew, who makes good."""

from __future__ import annotations

from typing import Any

from tests.reference.handmade import (
    NEVER,
    Arrow,
    drafts,
    ends,
    plain,
    run_graph,
    said,
    script,
    texts_seen,
)
from tests.reference.run import Run


def nested(inner: dict[str, Any], outer: dict[str, Any], **nodes: dict[str, Any]) -> Run:
    """`top` > (`head`, `body`) > `tail` > `top`; every loop ends by its contract."""
    known = {"top": plain(), "head": plain(), "body": plain(), "tail": plain(), "end": plain()}
    edges: list[Arrow] = [
        ("top", "head"),
        ("head", "body"),
        ("body", "head"),
        ("body", "tail", NEVER),
        ("tail", "top"),
        ("tail", "end", NEVER),
    ]
    loops = {"head": inner, "top": outer}
    return run_graph(known | nodes, edges, start="top", loops=loops)


def rounds_of(run: Run, loop: str) -> list[float | None]:
    return [round.value for round in run.rounds if round.loop == loop]


def test_an_inner_loop_counts_with_the_value_of_its_last_round() -> None:
    silent = {name: script(["no score"]) for name in ("top", "head", "tail")}
    run = nested({"max_rounds": 2}, {"max_rounds": 2}, body=drafts(1, 2, 3, None), **silent)
    assert rounds_of(run, "head") == [1, 2, 3, None]
    assert rounds_of(run, "top") == [2, None]


def test_an_inner_loop_is_looked_at_with_the_outer_path() -> None:
    both = {"content": "x", "data": {"score": 1, "review": {"quality": 2}}}
    run = nested(
        {"max_rounds": 1},
        {"max_rounds": 1, "score": {"node": "body", "path": "data.review.quality"}},
        body=script([both]),
        tail=script([said("no", 9)]),
    )
    assert (rounds_of(run, "head"), rounds_of(run, "top")) == ([1], [2])


def test_until_of_an_outer_loop_sees_the_data_of_the_inner_ones_last_round() -> None:
    nodes = {
        "head": script(["no data"]),
        "body": script([{"content": "x", "data": {"ok": True}}], [said("y")]),
    }
    until = {"until": '"ok" in data', "max_rounds": 1}
    assert nested({"max_rounds": 1}, until, **nodes).loops[-1].reason == "condition_met"
    missed = nested({"max_rounds": 2}, until, **nodes)
    assert missed.loops[-1].reason == "max_rounds_reached"


def test_the_last_run_of_an_inner_head_counts_for_the_outer_loop_only() -> None:
    nodes = {
        "top": plain(),
        "head": drafts(1, 9),
        "body": script(["x"]),
        "tail": script(["no score"]),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("top", "head"),
        ("head", "body"),
        ("body", "head"),
        ("body", "tail"),
        ("tail", "top"),
        ("tail", "end", NEVER),
    ]
    run = run_graph(nodes, edges, start="top", loops={"top": {"max_rounds": 1}})
    assert (rounds_of(run, "head"), rounds_of(run, "top")) == ([1], [9])


def test_a_new_entry_starts_with_no_best_round_no_patience_and_full_rounds() -> None:
    contract = {"max_rounds": 3, "patience": {"rounds": 2, "min_delta": 1}}
    run = nested(contract, {"max_rounds": 2}, body=drafts(9, 8, 8, 5, 6, 7))
    assert [(loop.reason, loop.best_round) for loop in run.loops if loop.head == "head"] == [
        ("stagnated", 1),
        ("max_rounds_reached", 3),
    ]


def test_what_an_earlier_entry_retained_is_dropped_before_the_second_round() -> None:
    nodes = {"body": script(*[[f"b {n}"] for n in range(1, 5)], context_window=-1)}
    run = nested({"max_rounds": 2, "carry": {"window": 9}}, {"max_rounds": 2}, **nodes)
    assert texts_seen(run, "body")[2:] == [
        ["task", "b 1", "b 1", "b 2", "b 2"],
        ["b 2", "b 3", "b 3"],
    ]


def test_a_loop_that_missed_its_goal_is_made_good_by_a_goal_around_it() -> None:
    inner = {"max_rounds": 1, "exit_on_score": 90}
    assert nested(inner, {"max_rounds": 1}, body=drafts(50)).status == "bounded"
    made_good = nested(inner, {"until": "score == 50"}, body=drafts(50))
    assert ends(made_good) == [
        ("head", 1, "max_rounds_reached", True),
        ("top", 1, "condition_met", False),
    ]
    assert made_good.status == "completed"
