"""The end of a round, by the rules of decision 6: hand-worked cases, hits and near misses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference.handmade import (
    AGAIN,
    DONE,
    NEVER,
    Arrow,
    counts,
    ends,
    every,
    plain,
    said,
    scored,
    script,
    seen,
    texts_seen,
)
from tests.reference.interpreter import NUDGE
from tests.reference.run import LoopRun, Notice, Run


def only_loop(run: Run) -> LoopRun:
    (loop,) = run.loops
    return loop


def figures(run: Run) -> tuple[str, int, float | None, float | None]:
    loop = only_loop(run)
    return loop.reason, loop.rounds, loop.value, loop.threshold


# -- goals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reached", [90, 95, "90"])
def test_a_score_at_or_above_the_goal_ends_the_loop(reached: Any) -> None:
    run = scored(60, 89.5, reached, 99, exit_on_score=90)
    assert figures(run) == ("score_threshold_reached", 3, float(reached), 90)
    assert (run.status, run.output) == ("completed", "draft 3")


def test_a_missing_score_is_not_zero() -> None:
    assert figures(scored(None, exit_on_score=0, max_rounds=2))[0] == "max_rounds_reached"
    assert figures(scored(None, 0, exit_on_score=0))[:2] == ("score_threshold_reached", 2)


def test_a_goal_that_is_reached_in_the_last_round_is_reached() -> None:
    assert figures(scored(60, 90, exit_on_score=90, max_rounds=2))[0] == "score_threshold_reached"


def test_a_goal_that_is_missed_makes_loop_and_session_bounded() -> None:
    run = scored(60, 70, exit_on_score=90, max_rounds=2)
    assert figures(run) == ("max_rounds_reached", 2, 2, 2)
    assert (run.status, only_loop(run).bounded, only_loop(run).best_round) == ("bounded", True, 2)


def test_until_ends_the_loop_when_it_holds() -> None:
    run = scored(60, 70, until="round >= 2 && has(data.score)")
    assert figures(run) == ("condition_met", 2, None, None)
    assert run.status == "completed"


def test_until_sees_text_data_and_score_of_the_round() -> None:
    assert figures(scored(60, 70, until='text == "draft 2" && score > 60'))[1] == 2
    never = scored(60, 70, until='text == "text"', max_rounds=3)
    assert (figures(never)[0], never.status) == ("max_rounds_reached", "bounded")


def test_the_score_comes_before_until() -> None:
    assert figures(scored(90, exit_on_score=90, until="true"))[0] == "score_threshold_reached"


def left_by_an_edge(score: int) -> Run:
    return scored(score, exits=[("critic", "end")], exit_on_score=90, until="score > 90")


def test_an_exit_edge_comes_before_the_goal_and_a_reached_goal_is_not_bounded() -> None:
    reached = left_by_an_edge(91)
    assert ends(reached) == [("write", 1, "exit_edge", False)]
    assert counts(reached)["write"] == 2
    assert (ends(left_by_an_edge(89)), left_by_an_edge(89).status) == (
        [("write", 1, "exit_edge", True)],
        "bounded",
    )


# -- the best round ---------------------------------------------------------------------------


def test_the_best_round_is_the_first_of_the_highest_value() -> None:
    assert only_loop(scored(60, 70, 70, 50, max_rounds=4)).best_round == 2
    assert only_loop(scored(None, None, max_rounds=2)).best_round is None
    assert only_loop(scored(None, 1, None, max_rounds=3)).best_round == 2


def test_at_a_limit_the_best_round_is_handed_on_by_default_and_the_last_if_it_says_so() -> None:
    assert scored(60, 70, 50, max_rounds=3).output == "draft 2"
    assert scored(60, 70, 50, max_rounds=3, on_limit="best").output == "draft 2"
    assert scored(60, 70, 50, max_rounds=3, on_limit="last").output == "draft 3"
    assert scored(None, None, max_rounds=2).output == "draft 2"


def test_the_best_of_no_values_is_the_last_round() -> None:
    assert scored(None, None, max_rounds=2, on_limit="best").output == "draft 2"


def test_a_goal_hands_on_its_own_round() -> None:
    assert scored(95, 60, 90, until="round == 3", on_limit="best").output == "draft 3"


def test_a_source_that_was_silent_in_the_best_round_hands_on_an_empty_trigger() -> None:
    nodes = {"shy": script([], ["spoke"])}
    exits: list[Arrow] = [("write", "shy"), ("shy", "critic"), ("shy", "end", {"label": "limit"})]
    run = scored(70, 60, exits=exits, nodes=nodes, max_rounds=2, on_limit="best")
    assert seen(run, "end") == [[]]


# -- ways out ---------------------------------------------------------------------------------

BOTH_WAYS: list[Arrow] = [
    ("critic", "end", {"label": "goal"}),
    ("critic", "other", {"label": "limit"}),
]


def test_a_goal_leaves_by_goal_and_a_limit_by_limit() -> None:
    reached = scored(90, exits=BOTH_WAYS, exit_on_score=90)
    missed = scored(80, exits=BOTH_WAYS, exit_on_score=90, max_rounds=1)
    assert (counts(reached)["end"], counts(reached)["other"]) == (1, 0)
    assert (counts(missed)["end"], counts(missed)["other"]) == (0, 1)


@pytest.mark.parametrize(
    "contract",
    [
        {"regression": {"drop": 10, "action": "exit"}},
        {"patience": {"rounds": 1, "min_delta": 1}},
        {"max_rounds": 2},
    ],
)
def test_every_limit_leaves_by_limit(contract: dict[str, Any]) -> None:
    run = scored(80, 70, exits=BOTH_WAYS, **contract)
    assert (only_loop(run).rounds, counts(run)["other"]) == (2, 1)


def test_without_its_label_a_goal_leaves_by_the_only_exit() -> None:
    run = scored(90, exits=[("critic", "end", {"label": "limit"})], exit_on_score=90)
    assert run.output == "draft 1"


def test_no_retrigger_takes_no_way_out() -> None:
    run = scored(60, 70, back={"condition": AGAIN}, on_limit="best")
    assert figures(run) == ("no_retrigger", 1, None, None)
    assert run.reason == "no_output"


# -- patience ---------------------------------------------------------------------------------


def test_rounds_without_enough_gain_stagnate() -> None:
    run = scored(60, 61, 61.5, 99, patience={"rounds": 2, "min_delta": 2})
    assert figures(run) == ("stagnated", 3, 1.5, 2)
    assert run.notices == [Notice("stagnation", "write", 3, 1.5, "exit")]


def test_a_gain_counts_from_the_last_gain_and_starts_the_count_anew() -> None:
    run = scored(60, 61, 62, 63, 63.5, patience={"rounds": 2, "min_delta": 2})
    assert figures(run) == ("stagnated", 5, 1.5, 2)


def test_without_a_least_gain_the_same_value_is_none() -> None:
    assert figures(scored(60, 61, 61, patience={"rounds": 1, "min_delta": 0}))[:2] == (
        "stagnated",
        3,
    )


def test_a_round_without_a_value_neither_feeds_nor_resets_patience() -> None:
    run = scored(None, 60, 60, None, 60, patience={"rounds": 2, "min_delta": 1})
    assert figures(run)[:2] == ("stagnated", 5)


def test_a_nudge_is_the_last_message_to_the_head_of_the_next_round() -> None:
    nudging: dict[str, Any] = {"patience": {"rounds": 2, "min_delta": 1}, "on_stagnation": "nudge"}
    run = scored(60, 60, 60, 60, 60, 60, max_rounds=6, nodes={"write": every()}, **nudging)
    nudge = ("LOOP", NUDGE[0])
    assert [nudge in inputs for inputs in seen(run, "write")] == [
        *(False, False, False, True),
        *(False, True),
    ]
    assert seen(run, "write")[3] == [("critic", "draft 3"), nudge]
    assert [notice.round for notice in run.notices] == [3, 5]


def test_a_stagnation_in_the_last_round_is_told_and_nobody_is_nudged() -> None:
    nudging: dict[str, Any] = {"patience": {"rounds": 1, "min_delta": 1}, "on_stagnation": "nudge"}
    run = scored(60, 60, max_rounds=2, **nudging)
    assert figures(run)[0] == "max_rounds_reached"
    assert run.notices == [Notice("stagnation", "write", 2, 0, "nudge")]
    assert run.happened["nudged"] == 0


# -- regression -------------------------------------------------------------------------------


def test_a_drop_from_the_best_round_is_a_regression() -> None:
    run = scored(70, 60.5, 80, 70, 75, max_rounds=5, regression={"drop": 10, "action": "warn"})
    assert run.notices == [Notice("regression", "write", 4, -10, "warn")]
    assert only_loop(run).rounds == 5


def test_a_regression_may_end_the_loop() -> None:
    run = scored(70, None, 55, 90, regression={"drop": 10, "action": "exit"})
    assert figures(run) == ("regressed", 3, 15, 10)
    assert only_loop(run).best_round == 1


def test_regressed_comes_before_stagnated_and_that_before_max_rounds() -> None:
    patience = {"rounds": 1, "min_delta": 1}
    regression = {"drop": 10, "action": "exit"}
    both = scored(70, 60, max_rounds=2, patience=patience, regression=regression)
    assert figures(both)[0] == "regressed"
    assert [notice.kind for notice in both.notices] == ["regression", "stagnation"]
    one = scored(70, 69, max_rounds=2, patience=patience, regression=regression)
    assert figures(one)[0] == "stagnated"


def test_the_goals_come_before_regression_and_patience_are_looked_at() -> None:
    regression = {"drop": 10, "action": "exit"}
    run = scored(99, 80, until="round == 2", regression=regression)
    assert (figures(run)[0], run.notices) == ("condition_met", [])


ROLLBACK = {"drop": 10, "action": "rollback"}


def test_a_rollback_starts_the_next_round_with_what_the_best_one_handed_back() -> None:
    run = scored(70, 80, 60, 75, max_rounds=4, regression=ROLLBACK)
    assert texts_seen(run, "write") == [["task"], ["draft 1"], ["draft 2"], ["draft 2"]]
    assert [round.gain for round in run.rounds] == [None, 10, -20, -5]


def test_a_rollback_may_happen_again_and_never_after_the_last_round() -> None:
    run = scored(80, 60, 60, 60, max_rounds=4, regression=ROLLBACK)
    assert texts_seen(run, "write") == [["task"], ["draft 1"], ["draft 1"], ["draft 1"]]
    assert (run.happened["rolled back"], len(run.notices)) == (2, 3)


def test_a_rollback_starts_a_round_though_nobody_triggered_the_head() -> None:
    nodes = {"critic": script([said("again", 80)], [said("lost", 50)], [said("done", 80)])}
    run = scored(
        nodes=nodes,
        back={"condition": AGAIN},
        exits=[("critic", "end", {"condition": DONE})],
        regression=ROLLBACK,
    )
    assert ends(run) == [("write", 3, "exit_edge", False)]
    assert texts_seen(run, "write")[2] == ["again"]


def test_a_rollback_puts_back_contexts_and_data_only_deliveries_but_no_private_state() -> None:
    nodes = {
        "write": every(context_window=-1),
        "note": script(["note 1"], ["note 2"], ["note 3"]),
        "end": plain(),
    }
    exits: list[Arrow] = [
        ("critic", "end", NEVER),
        ("write", "note"),
        ("note", "critic"),
        ("note", "write", {"trigger": False}),
    ]
    run = scored(80, 60, 85, exits=exits, nodes=nodes, max_rounds=3, regression=ROLLBACK)
    at_best = ["task", "task", "note 1", "draft 1"]
    assert texts_seen(run, "write") == [["task"], at_best, at_best]
    assert [execution.outputs for execution in run.executions["note"]] == [
        ["note 1"],
        ["note 2"],
        ["note 3"],
    ]


def test_a_nudge_comes_after_what_a_rollback_puts_back() -> None:
    nudging: dict[str, Any] = {"patience": {"rounds": 1, "min_delta": 1}, "on_stagnation": "nudge"}
    run = scored(80, 60, 85, max_rounds=3, regression=ROLLBACK, nodes={"write": every()}, **nudging)
    assert texts_seen(run, "write")[2] == ["draft 1", NUDGE[0]]


# -- fail and human ---------------------------------------------------------------------------


def test_a_loop_may_fail_the_session_with_its_own_reason() -> None:
    run = scored(60, 60, on_limit="fail", patience={"rounds": 1, "min_delta": 1})
    assert (run.status, run.reason) == ("failed", "stagnated")
    assert scored(90, on_limit="fail", exit_on_score=90).status == "completed"


def asked(*answers: str, **contract: Any) -> Run:
    contract = {"max_rounds": 2, "on_limit": "human", **contract}
    return scored(60, 70, 50, 40, 30, 20, 10, decisions=list(answers), **contract)


def test_a_loop_without_an_answer_waits() -> None:
    run = asked()
    assert (run.status, counts(run)["critic"]) == ("waiting", 2)


def test_continue_gives_as_many_rounds_again_and_continue_n_so_many() -> None:
    assert figures(asked("continue", "best")) == ("max_rounds_reached", 4, 4, 4)
    assert figures(asked("continue 1", "continue 3", "best")) == ("max_rounds_reached", 6, 6, 6)


def test_best_hands_on_the_best_round_and_stop_cancels() -> None:
    assert asked("continue", "best").output == "draft 2"
    stopped = asked("continue 1", "stop")
    assert (stopped.status, counts(stopped)["critic"]) == ("cancelled", 3)


def test_anything_else_is_asked_again() -> None:
    assert asked("maybe", "continue please", "best").output == "draft 2"
    assert asked("maybe").status == "waiting"


def test_rounds_are_added_to_the_round_in_which_the_loop_asked() -> None:
    regression = {"drop": 15, "action": "exit"}
    run = asked("continue 1", "best", max_rounds=6, regression=regression)
    assert figures(run) == ("regressed", 4, 30, 15)
    assert [notice.round for notice in run.notices] == [3, 4]
    patience = {"rounds": 1, "min_delta": 1}
    run = asked("continue 1", "best", max_rounds=6, patience=patience)
    assert figures(run)[:2] == ("stagnated", 4)


def test_continue_starts_the_patience_count_anew_and_keeps_its_reference() -> None:
    run = asked("continue", "best", max_rounds=9, patience={"rounds": 2, "min_delta": 1})
    assert [(notice.round, notice.delta) for notice in run.notices] == [(4, -30), (6, -50)]


def test_continue_does_not_trigger_a_head_that_nobody_triggered() -> None:
    run = scored(60, back={"condition": AGAIN}, max_rounds=1, on_limit="human")
    assert run.status == "waiting"
    going = scored(
        60, back={"condition": AGAIN}, max_rounds=1, on_limit="human", decisions=["continue"]
    )
    assert figures(going)[0] == "no_retrigger"


def test_a_nudge_of_the_last_round_is_told_after_continue() -> None:
    nudging: dict[str, Any] = {"patience": {"rounds": 1, "min_delta": 20}, "on_stagnation": "nudge"}
    run = asked("continue 1", "best", nodes={"write": every()}, **nudging)
    assert texts_seen(run, "write")[2] == ["draft 2", NUDGE[0]]


# -- budgets ----------------------------------------------------------------------------------


def spending(*exits: Arrow, decisions: list[str] | None = None, **contract: Any) -> Run:
    nodes = {"critic": script(*[[said(f"draft {n}", 50, tokens=40)] for n in range(1, 9)])}
    return scored(
        nodes=nodes,
        exits=list(exits) or None,
        decisions=decisions,
        budget={"tokens": 80},
        **contract,
    )


def test_a_spent_budget_ends_the_loop() -> None:
    assert figures(spending()) == ("budget_exhausted", 2, 80, 80)


def test_the_budget_comes_before_all_else_and_a_fired_exit_is_the_way_out() -> None:
    run = spending(("critic", "end"), exit="now", until="true", max_rounds=1)
    assert figures(run)[0] == "exit_edge"
    nodes_left_by = {"condition": {"type": "keyword", "config": {"any": ["draft 2"]}}}
    run = spending(("critic", "end", nodes_left_by), max_rounds=2, exit_on_score=51)
    assert (figures(run)[:2], run.output) == (("budget_exhausted", 2), "draft 2")
    assert counts(run)["write"] == 2


def test_a_goal_in_the_round_that_uses_up_the_budget_goes_out_by_the_goal() -> None:
    ways: list[Arrow] = [
        ("critic", "end", {"label": "goal"}),
        ("write", "end", {"label": "limit"}),
    ]
    run = spending(*ways, until="round == 2", on_limit="fail")
    assert figures(run) == ("budget_exhausted", 2, 80, 80)
    assert (run.status, run.output, only_loop(run).bounded) == ("completed", "draft 2", False)


def test_continue_gives_the_same_budget_again() -> None:
    run = spending(on_limit="human", decisions=["continue", "best"])
    assert figures(run) == ("budget_exhausted", 4, 160, 160)
