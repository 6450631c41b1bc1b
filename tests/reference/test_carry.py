"""What the contexts of a loop's nodes bring into its next round."""

from __future__ import annotations

from typing import Any

from tests.reference.handmade import (
    NEVER,
    Arrow,
    drafts,
    every,
    plain,
    run_graph,
    scored,
    script,
    texts_seen,
)
from tests.reference.run import Run

ROLLBACK = {"drop": 10, "action": "rollback"}


def carried(carry: Any, **fields: Any) -> list[list[str]]:
    """What `x`, which retains all, sees in five rounds; it emits `x n` in round n."""
    nodes = {
        "write": script(*[[str(n)] for n in range(1, 6)]),
        "critic": script(*[[f"x {n}"] for n in range(1, 6)], context_window=-1),
    }
    contract = {"max_rounds": 4, **({} if carry is None else {"carry": carry}), **fields}
    return texts_seen(scored(nodes=nodes, **contract), "critic")


def test_everything_retained_is_carried_by_default() -> None:
    assert carried(None) == carried("all")
    assert carried("all")[2] == ["1", "x 1", "2", "x 2", "3"]


def test_the_last_round_is_carried_alone() -> None:
    assert carried("last") == [["1"], ["1", "x 1", "2"], ["2", "x 2", "3"], ["3", "x 3", "4"]]
    assert carried({"window": 1}) == carried("last")


def test_a_window_carries_the_newest_rounds() -> None:
    assert carried({"window": 2})[3] == ["2", "x 2", "3", "x 3", "4"]


def kept_run(carry: str) -> Run:
    nodes = {
        "write": script(["1"], ["2"], ["3"]),
        "critic": script(["x"], context_window=-1),
        "end": plain(),
    }
    edges: list[Arrow] = [
        ("write", "critic", {"keep_message": True}),
        ("critic", "write"),
        ("critic", "end", NEVER),
    ]
    loops = {"write": {"max_rounds": 3, "carry": carry}}
    return run_graph(nodes, edges, start="write", loops=loops)


def test_kept_messages_stay() -> None:
    assert texts_seen(kept_run("last"), "critic")[2] == ["1", "2", "x", "3"]


def test_a_message_belongs_to_the_round_in_which_it_was_first_retained() -> None:
    nodes = {
        "write": script(["odd"], ["even"], ["odd"], ["even"], ["odd"]),
        "critic": script(["go"]),
        "x": plain(context_window=-1),
    }
    odd = {"condition": {"type": "keyword", "config": {"any": ["odd"]}}}
    exits: list[Arrow] = [("critic", "end", NEVER), ("write", "x", odd), ("x", "critic")]
    two = scored(nodes=nodes, exits=exits, max_rounds=5, carry={"window": 2})
    assert texts_seen(two, "x") == [["odd"], ["odd", "odd", "odd"], ["odd", "odd", "odd"]]
    last = scored(nodes=nodes, exits=exits, max_rounds=5, carry="last")
    assert texts_seen(last, "x") == [["odd"], ["odd"], ["odd"]]


def test_what_waits_in_an_inbox_is_not_touched() -> None:
    nodes = {"write": plain(), "x": every(), "critic": drafts(1, 2, 3)}
    second = {"condition": {"type": "keyword", "config": {"any": ["draft 2"]}}}
    exits: list[Arrow] = [
        ("critic", "end", NEVER),
        ("critic", "x", {"trigger": False}),
        ("write", "x", second),
        ("x", "critic"),
    ]
    run = scored(nodes=nodes, exits=exits, max_rounds=3, carry="last")
    assert texts_seen(run, "x") == [["draft 1", "draft 2", "draft 2"]]


def test_after_a_rollback_the_rounds_that_led_to_the_best_one_are_carried() -> None:
    nodes = {"write": plain(), "x": script(*[[f"x {n}"] for n in range(1, 6)], context_window=-1)}
    edges: list[Arrow] = [("critic", "end", NEVER), ("write", "x"), ("x", "critic")]

    def x_sees(carry: Any) -> list[list[str]]:
        contract = {"max_rounds": 5, "carry": carry, "regression": ROLLBACK}
        return texts_seen(scored(70, 80, 60, 85, 80, exits=edges, nodes=nodes, **contract), "x")

    assert x_sees("last")[3] == ["draft 1", "x 2", "draft 2"]
    assert x_sees({"window": 2})[4] == ["draft 1", "x 2", "draft 2", "x 4", "draft 4"]
