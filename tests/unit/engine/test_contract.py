"""Every rule of the loop contract (decision 0006), where it applies and where it just does not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rondel import NOTHING, Context, Graph, Message
from tests.unit.engine.refining import (
    Scripted,
    end_of,
    inner_and_outer,
    reason,
    refine,
    remembering,
    scored,
    scores,
    setbacks,
    tokens,
)
from tests.unit.sessions.playing import Played, play

# The order of the decision


def test_a_budget_that_is_spent_comes_before_an_edge_out() -> None:
    def graph(budget: int) -> Graph:
        graph = refine([1], max_rounds=5)
        graph.node(id="spender")(lambda inp: (inp.charge(tokens(10)), "spent")[1])
        graph.edge("writer", "spender")
        graph.edge("spender", "writer", when=False)
        graph.edge("spender", "done")
        graph.loop("writer", max_rounds=5, budget={"tokens": budget})
        labelled = graph.document["graph"]["edges"][2]
        labelled["label"] = "limit"
        return graph

    spent = play(graph(10))
    assert end_of(spent) == ("budget_exhausted", 1, 10, 10)
    assert spent.result.output == "spent"
    assert reason(play(graph(11))) == "exit_edge"


def test_a_budget_comes_before_a_goal_and_the_goal_is_still_reached() -> None:
    def graph(score: int) -> Graph:
        graph = refine([], max_rounds=5, exit_on_score=90, budget={"tokens": 10})
        graph.node(id="judge")(lambda inp: (inp.charge(tokens(10)), {"score": score})[1])
        graph.document["graph"]["edges"].clear()
        graph.edge("writer", "judge")
        graph.edge("judge", "writer")
        graph.edge("judge", "done", when=False)
        graph.document["graph"]["nodes"] = [
            node for node in graph.document["graph"]["nodes"] if node["id"] != "critic"
        ]
        return graph

    reached, missed = play(graph(90)), play(graph(89))
    assert reason(reached) == reason(missed) == "budget_exhausted"
    assert (reached.result.status, missed.result.status) == ("completed", "bounded")


def test_an_edge_out_comes_before_a_score_and_does_not_make_it_bounded() -> None:
    def graph(score: int) -> Graph:
        graph = refine([score], exit_on_score=90)
        graph.document["graph"]["edges"][2]["condition"] = True
        return graph

    reached, missed = play(graph(95)), play(graph(50))
    assert reason(reached) == reason(missed) == "exit_edge"
    assert (reached.result.status, missed.result.status) == ("completed", "bounded")


def test_a_score_comes_before_until() -> None:
    contract = {"exit_on_score": 90, "until": "round >= 2"}
    assert end_of(play(refine([10, 95], **contract))) == ("score_threshold_reached", 2, 95, 90)
    assert end_of(play(refine([10, 89], **contract))) == ("condition_met", 2, None, None)


def test_until_comes_before_a_regression_and_nothing_is_told_of_that() -> None:
    contract = {"regression": {"drop": 10, "action": "exit"}}
    both = play(refine([50, 10], until="round == 2", **contract))
    assert reason(both) == "condition_met"
    assert setbacks(both, "regression") == []
    later = play(refine([50, 10], until="round == 3", **contract))
    assert end_of(later) == ("regressed", 2, 40, 10)


def test_a_regression_comes_before_a_stagnation_and_both_are_told() -> None:
    contract = {"patience": {"rounds": 1}, "regression": {"drop": 10, "action": "exit"}}
    played = play(refine([50, 40], **contract))
    assert end_of(played) == ("regressed", 2, 10, 10)
    assert setbacks(played, "regression") == [(2, -10, "exit")]
    assert setbacks(played, "stagnation") == [(2, -10, "exit")]
    assert reason(play(refine([50, 41], **contract))) == "stagnated"


def test_a_stagnation_comes_before_the_last_round() -> None:
    contract: dict[str, Any] = {"max_rounds": 3, "patience": {"rounds": 2}}
    assert reason(play(refine([50], **contract))) == "stagnated"
    assert reason(play(refine([50, 50, 51], **contract))) == "max_rounds_reached"


@pytest.mark.parametrize("goal", [{"exit_on_score": 90}, {"until": "score == 90"}])
def test_a_goal_reached_in_the_last_round_is_reached(goal: dict[str, Any]) -> None:
    reached = play(refine([1, 90], max_rounds=2, **goal))
    assert reached.result.status == "completed"
    assert reason(reached) in ("score_threshold_reached", "condition_met")
    missed = play(refine([1, 89, 90], max_rounds=2, **goal))
    assert (missed.result.status, reason(missed)) == ("bounded", "max_rounds_reached")


def test_the_last_round_is_no_more_rolled_back_but_told() -> None:
    contract = {"max_rounds": 2, "regression": {"drop": 10, "action": "rollback"}}
    played = play(refine([50, 10], **contract))
    assert end_of(played) == ("max_rounds_reached", 2, 2, 2)
    assert setbacks(played, "regression") == [(2, -40, "rollback")]


def silent(**contract: Any) -> Graph:
    """A critic who triggers nobody in the second round."""
    graph = Graph("silent", end=["critic"])
    graph.node(id="writer")(lambda inp: f"draft {inp.round}")
    graph.add("critic", Scripted([scored("a", 50), scored("b", 10), scored("c", 60)]))
    graph.node(id="done")(lambda inp: inp.text)
    graph.edge("writer", "critic")
    graph.edge("critic", "writer", when=lambda message: message.content != "b")
    graph.edge("critic", "done", when=False)
    graph.loop("writer", **contract)
    return graph


def test_a_rollback_starts_the_head_that_nobody_triggered() -> None:
    contract = {"max_rounds": 4, "regression": {"drop": 10, "action": "rollback"}}
    assert play(silent(**contract)).times["critic"] == 4
    contract["regression"] = {"drop": 41, "action": "rollback"}
    assert end_of(play(silent(**contract))) == ("no_retrigger", 2, None, None)


def test_a_loop_that_nobody_triggers_again_hands_nothing_on() -> None:
    played = play(silent(max_rounds=5))
    assert reason(played) == "no_retrigger"
    assert played.times == {"writer": 2, "critic": 2}
    assert reason(play(silent(max_rounds=2))) == "max_rounds_reached"


# The value of a round


JSON = '{"score": 5}'
VALUES: list[tuple[Any, float | None]] = [
    (Message("", {"score": 7}), 7),
    (Message("", {"score": 0}), 0),
    (Message("", {"score": -3.5}), -3.5),
    (Message("", {"score": "7.5"}), 7.5),
    (Message("", {"score": " 12 "}), 12),
    (Message("", {"score": "1e2"}), 100),
    (Message("", {"score": True}), None),
    (Message("", {"score": "true"}), None),
    (Message("", {"score": [7]}), None),
    (Message("", {"score": {"value": 7}}), None),
    (Message("", {"score": "nan"}), None),
    (Message("", {"score": "inf"}), None),
    (Message("", {"score": "1e999"}), None),
    (Message("", {"score": 10**400}), None),
    (Message("", {"score": ""}), None),
    (Message("", {"score": None}), None),
    (Message("", {"points": 7}), None),
    (Message("", {"structured_score": {"weighted_score": 3}}), 3),
    (Message("", {"score": {"weighted_total": 91, "logic": 4}}), 91),
    (Message("", {"score": {"logic": 4}}), None),
    (Message('{"score": {"weighted_total": 8}}'), 8),
    (Message("", {"structured_score": {"weighted_total": "4"}}), 4),
    (Message("", {"structured_score": {"weighted_total": 4, "weighted_score": 3}}), 3),
    (Message("", {"structured_score": {"weighted_total": 4, "weighted_score": "?"}}), 4),
    (Message("", {"structured_score": 3}), None),
    (Message("", {"weighted_score": 3}), None),
    (Message("", {"score": 7, "structured_score": {"weighted_score": 3}}), 7),
    (Message("", {"score": "?", "structured_score": {"weighted_score": 3}}), 3),
    (Message(JSON), 5),
    (Message(f"I think {JSON}, on the whole."), 5),
    (Message(f"Well:\n```json\n{JSON}\n```\nSo be it."), 5),
    (Message(f"Well:\n```\n{JSON}\n```"), 5),
    (Message(f'{JSON} or rather {{"score": "6"}}'), 6),
    (Message(f'{JSON} and {{"note": 6}}'), 5),
    (Message(f'{JSON} and {{"score": true}}'), 5),
    (Message(f"{{broken {JSON}"), 5),
    (Message('{"structured_score": {"weighted_total": 8}}'), 8),
    (Message('{"review": {"score": 9}}'), None),
    (Message("score: 90"), 90),
    (Message("**Score:** 85/100"), 85),
    (Message("评分：85/100"), 85),
    (Message("Score: 90", {"score": 7}), 7),
    (Message(f"Score: 90, {JSON}"), 5),
    (Message("90"), None),
    (Message(JSON, {"score": 7}), 7),
    (Message(JSON, {"score": "?"}), 5),
    (Message(JSON, {"structured_score": {"weighted_score": 3}}), 3),
]


@pytest.mark.parametrize(("message", "value"), VALUES, ids=lambda v: str(v)[:60])
def test_a_score_is_found_where_it_may_be(message: Message, value: float | None) -> None:
    assert scores(play(refine([message], max_rounds=1))) == [value]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("data.review.quality", 8),
        ("review.quality", 8),
        ({"path": "data.review.quality"}, 8),
        ({"node": "critic", "path": "data.review.quality"}, 8),
        ({"node": "critic"}, 7),
        ({"node": "writer"}, None),
        ("data.review", None),
        ("data.review.taste", None),
        ("data.score.quality", None),
    ],
)
def test_a_score_is_where_the_contract_says(place: Any, value: float | None) -> None:
    message = Message("", {"score": 7, "review": {"quality": 8}})
    assert scores(play(refine([message], max_rounds=1, score=place))) == [value]


def test_a_score_in_text_is_at_the_path_of_the_contract() -> None:
    message = Message('so {"score": 1, "review": {"quality": 8}}')
    assert scores(play(refine([message], max_rounds=1, score="data.review.quality"))) == [8]


def test_the_score_is_in_the_last_message_of_a_step() -> None:
    def graph(*messages: Message) -> Graph:
        graph = refine([], max_rounds=1)
        graph.node(id="twice")(lambda _inp: list(messages))
        graph.edge("writer", "twice")
        graph.edge("twice", "writer")
        edges = graph.document["graph"]["edges"]
        graph.document["graph"]["edges"] = edges[2:]
        graph.document["graph"]["edges"][0]["from"] = "twice"
        nodes = graph.document["graph"]["nodes"]
        graph.document["graph"]["nodes"] = [node for node in nodes if node["id"] != "critic"]
        return graph

    assert scores(play(graph(scored("a", 1), scored("b", 2)))) == [2]
    assert scores(play(graph(scored("a", 1), scored("b", None)))) == [None]


@pytest.mark.parametrize("slow", ["first", "second"])
def test_of_two_critics_the_logically_last_counts_whoever_is_faster(slow: str) -> None:
    graph = Graph("two")
    graph.node(id="writer")(lambda inp: f"draft {inp.round}")
    for place, name in enumerate(("first", "second")):

        async def judge(inp: Context, score: int = place) -> dict[str, Any]:
            await asyncio.sleep(0.02 if inp.node_id == slow else 0)
            return {"score": score}

        graph.node(id=name)(judge)
        graph.edge("writer", name)
    graph.node(id="done")(lambda _inp: "done")
    graph.edge("second", "writer")
    graph.edge("second", "done", when=False)
    graph.edge("first", "done", when=False, label="limit")
    graph.edge("first", "writer")
    graph.loop("writer", max_rounds=1)
    assert scores(play(graph)) == [1]
    graph.loop("writer", max_rounds=1, score={"node": "first"})
    assert scores(play(graph)) == [0]


def test_an_inner_loop_counts_with_the_value_of_its_last_round() -> None:
    played = play(inner_and_outer({"max_rounds": 2}, {"max_rounds": 3}))
    assert scores(played, "inner") == [10, 20, 30] * 2
    assert scores(played, "outer") == [30, 30]


def test_an_inner_loop_is_measured_at_the_path_of_the_outer_one() -> None:
    outer = {"max_rounds": 2, "score": "data.depth.score", "exit_on_score": 3}
    played = play(inner_and_outer(outer, {"max_rounds": 3}))
    assert scores(played, "outer") == [3]
    assert end_of(played, "outer") == ("score_threshold_reached", 1, 3, 3)
    assert reason(play(inner_and_outer(outer, {"max_rounds": 2})), "outer") == "max_rounds_reached"


def test_a_score_reached_by_the_inner_loop_ends_only_that_one() -> None:
    played = play(inner_and_outer({"max_rounds": 2}, {"max_rounds": 9, "exit_on_score": 20}))
    assert played.exits == [
        ("inner", 2, "score_threshold_reached"),
        ("inner", 2, "score_threshold_reached"),
        ("outer", 2, "max_rounds_reached"),
    ]


def test_the_best_round_is_the_first_of_the_highest_value() -> None:
    played = play(refine([50, 80, None, 80, 20], max_rounds=5, on_limit="best"))
    assert played.result.loops[0].best_round == 2
    assert played.result.output == "review 2"


def test_without_a_value_there_is_no_best_round() -> None:
    played = play(refine([None], max_rounds=2, on_limit="best"))
    assert played.result.loops[0].best_round is None
    assert played.result.output == "review 1"
    assert played.times["critic"] == 2


def test_a_missing_score_is_not_zero() -> None:
    assert reason(play(refine([None, 0], max_rounds=3, exit_on_score=0))) == (
        "score_threshold_reached"
    )
    assert play(refine([None, 0], max_rounds=3, exit_on_score=0)).times["critic"] == 2
    assert scores(play(refine([None, -5], max_rounds=2, on_limit="best"))) == [None, -5]
    assert play(refine([None, -5], max_rounds=2, on_limit="best")).result.loops[0].best_round == 2


# Patience


PATIENCE: list[tuple[list[Any], dict[str, Any], int | None]] = [
    ([50], {"rounds": 2}, 3),
    ([50, 50, 51, 51], {"rounds": 2}, 5),
    ([50, 49, 49.5], {"rounds": 2}, 3),
    ([50, 51, 51.9], {"rounds": 2, "min_delta": 2}, 3),
    ([50, 51, 52, 53, 53.5], {"rounds": 2, "min_delta": 2}, 5),
    ([50, 52, 54, 56, 58, 60], {"rounds": 2, "min_delta": 2}, None),
    ([50, None, 50, None, 50], {"rounds": 2}, 5),
    ([None, None, None, None], {"rounds": 1}, None),
    ([None, 50, None, 50], {"rounds": 1}, 4),
    ([50, 40, 45, 51], {"rounds": 3}, None),
]


@pytest.mark.parametrize(("values", "patience", "round"), PATIENCE)
def test_patience_runs_out_when_nothing_is_gained(
    values: list[Any], patience: dict[str, Any], round: int | None
) -> None:
    played = play(refine(values, max_rounds=6 if round else len(values), patience=patience))
    expected = "max_rounds_reached" if round is None else "stagnated"
    assert end_of(played)[:2] == (expected, round or len(values))


def test_stagnation_says_what_was_gained_and_what_was_wanted() -> None:
    played = play(refine([50, 51, 51.5], patience={"rounds": 2, "min_delta": 2}))
    assert end_of(played) == ("stagnated", 3, 1.5, 2)
    assert setbacks(played, "stagnation") == [(3, 1.5, "exit")]
    assert played.result.output == "review 3"


def nudges(played: Played) -> list[int]:
    """The executions of the writer that were told to try something else, as the last message."""
    told = []
    for place, step in enumerate([s for s in played.steps if s.node_id == "writer"], 1):
        loop = [message for message in step.inputs if message["source"] == "LOOP"]
        if loop:
            assert loop == [step.inputs[-1]]
            assert loop[0]["role"] == "user"
            assert loop[0]["content"]
            told.append(place)
    return told


def test_a_nudge_is_the_last_thing_the_head_is_told_and_starts_the_count_anew() -> None:
    contract = {"patience": {"rounds": 2}, "on_stagnation": "nudge"}
    played = play(refine([50], max_rounds=8, **contract))
    assert nudges(played) == [4, 6, 8]
    assert setbacks(played, "stagnation") == [(3, 0, "nudge"), (5, 0, "nudge"), (7, 0, "nudge")]
    assert reason(played) == "max_rounds_reached"


def test_after_a_nudge_the_reference_stays() -> None:
    contract = {"patience": {"rounds": 2}, "on_stagnation": "nudge"}
    played = play(refine([50, 40, 40, 45, 46], max_rounds=6, **contract))
    assert setbacks(played, "stagnation") == [(3, -10, "nudge"), (5, -4, "nudge")]


def test_nobody_is_nudged_for_a_round_that_does_not_start() -> None:
    contract = {"patience": {"rounds": 1}, "on_stagnation": "nudge"}
    played = play(refine([50, 50], max_rounds=2, **contract))
    assert nudges(played) == []
    assert setbacks(played, "stagnation") == [(2, 0, "nudge")]


# Regression


def test_a_regression_is_warned_of_from_the_drop_on() -> None:
    regression = {"drop": 10, "action": "warn"}
    assert (
        setbacks(play(refine([50, 40.5], max_rounds=2, regression=regression)), "regression") == []
    )
    played = play(refine([50, 60, 50, 45], max_rounds=4, regression=regression))
    assert setbacks(played, "regression") == [(3, -10, "warn"), (4, -15, "warn")]
    assert reason(played) == "max_rounds_reached"


def test_a_regression_can_end_the_loop() -> None:
    regression = {"drop": 10, "action": "exit"}
    played = play(refine([50, 70, 60], regression=regression, on_limit="best"))
    assert end_of(played) == ("regressed", 3, 10, 10)
    assert played.result.output == "review 2"


def test_a_round_without_a_value_does_not_regress() -> None:
    regression = {"drop": 10, "action": "exit"}
    played = play(refine([50, None, None], max_rounds=3, regression=regression))
    assert reason(played) == "max_rounds_reached"


def test_a_rollback_starts_from_the_end_of_the_best_round() -> None:
    regression = {"drop": 10, "action": "rollback"}
    played = play(remembering([50, 80, 20, 85], max_rounds=4, regression=regression))
    seen = played.inputs("writer")
    assert seen[1] == ["", "draft 1", "review 1"]
    assert seen[2] == ["", "draft 1", "review 1", "draft 2", "review 2"]
    assert seen[3] == seen[2]
    assert setbacks(played, "regression") == [(3, -60, "rollback")]
    deltas = [e.data["delta"] for e in played.of("loop:round_completed")]
    assert deltas == [None, 30, -60, 5]


def test_without_a_drop_nothing_is_rolled_back() -> None:
    regression = {"drop": 61, "action": "rollback"}
    seen = play(remembering([50, 80, 20, 85], max_rounds=4, regression=regression)).inputs("writer")
    assert seen[3] == [*seen[2], "draft 3", "review 3"]


def test_a_round_can_be_rolled_back_again_and_again() -> None:
    regression = {"drop": 10, "action": "rollback"}
    values = [50, 80, 20, 30, 90, 10, 95]
    seen = play(remembering(values, max_rounds=7, regression=regression)).inputs("writer")
    assert seen[4] == seen[3] == seen[2]
    assert seen[5] == [*seen[2], "draft 5", "review 5"]
    assert seen[6] == seen[5]


def test_a_rollback_leaves_private_state_as_it_is() -> None:
    graph = refine([50, 20, 50, 20], max_rounds=4, regression={"drop": 10, "action": "rollback"})
    graph.add("counter", "loop_counter", {"max_iterations": 4})
    graph.edge("critic", "counter")
    graph.edge("counter", "writer", when=False)
    graph.edge("counter", "done")
    graph.document["graph"]["edges"][2]["label"] = "limit"
    played = play(graph)
    assert played.times["counter"] == 4
    assert played.outputs("counter")[-1] == ["Loop limit reached (4)"]


def test_a_rollback_puts_back_what_waited_for_the_next_round() -> None:
    """A data-only edge against the order delivers for the next round; that too is rolled back."""
    graph = remembering(
        [50, 80, 20, 85], max_rounds=4, regression={"drop": 10, "action": "rollback"}
    )
    graph.node(id="reader")(lambda _inp: NOTHING)
    graph.edge("writer", "reader")
    graph.edge("reader", "critic")
    graph.edge("critic", "reader", trigger=False)
    seen = play(graph).inputs("reader")
    assert seen[1] == ["review 1", "draft 2"]
    assert seen[2] == ["review 2", "draft 3"]
    assert seen[3] == ["review 2", "draft 4"]
