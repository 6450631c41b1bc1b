"""What a loop hands on when its contract ends it, whom it asks, and what it carries."""

from __future__ import annotations

from typing import Any

import pytest

from rondel import NOTHING, Engine, Graph, GraphError, Message
from rondel.engine import ticks
from rondel.errors import CallError
from tests.unit.engine.refining import (
    Scripted,
    end_of,
    inner_and_outer,
    reason,
    refine,
    remembering,
    scores,
    tokens,
    with_breaker,
)
from tests.unit.sessions.playing import Played, play

# Where it goes, and with what


def two_ways(*, goal: str = "goal", limit: str = "limit", **contract: Any) -> Graph:
    """A loop with one way out for the goal and one for everything else."""
    graph = refine([10, 90], **contract)
    graph.document["graph"]["edges"].pop()
    graph.node(id="gave up")(lambda inp: f"gave up with {inp.text}")
    graph.edge("critic", "done", label=goal)
    graph.edge("critic", "gave up", label=limit)
    return graph


def test_a_goal_takes_its_way_and_a_limit_takes_the_other() -> None:
    reached = play(two_ways(exit_on_score=90))
    assert reached.result.output == "review 2"
    assert "gave up" not in reached.times
    missed = play(two_ways(max_rounds=1, exit_on_score=90))
    assert missed.result.output == "gave up with review 1"
    assert missed.result.status == "bounded"
    assert "done" not in missed.times


@pytest.mark.parametrize(
    "contract",
    [
        {"patience": {"rounds": 1}, "score": {"node": "writer"}, "max_rounds": 3},
        {"regression": {"drop": 1, "action": "exit"}, "max_rounds": 2},
    ],
)
def test_every_limit_takes_the_way_of_limits(contract: dict[str, Any]) -> None:
    played = play(two_ways(**contract))
    assert played.times["gave up"] == 1
    assert "done" not in played.times


def test_an_edge_of_the_contract_is_not_taken_by_its_condition() -> None:
    played = play(two_ways(max_rounds=4, exit_on_score=95))
    assert played.times["critic"] == 4
    assert played.result.output == "gave up with review 2"


def test_a_goal_without_a_label_takes_the_only_edge_that_is_not_the_limits() -> None:
    played = play(two_ways(goal="well done", exit_on_score=90))
    assert reason(played) == "exit_edge", "an edge without a contract's label goes by its condition"
    graph = two_ways(goal="well done", exit_on_score=90)
    graph.document["graph"]["edges"][2]["condition"] = False
    assert play(graph).result.output == "review 2"


def test_several_exits_without_a_label_are_an_error_that_names_it() -> None:
    with pytest.raises(GraphError) as error:
        two_ways(goal="x", limit="y", max_rounds=3).plan()
    assert "several exits (critic -> done, critic -> gave up)" in str(error.value)
    assert "set `label: limit` on the edge" in str(error.value)
    with pytest.raises(GraphError) as error:
        two_ways(goal="x", limit="y", until="round > 2").plan()
    assert "set `label: goal` on the edge" in str(error.value)


def test_several_exits_are_fine_where_the_contract_ends_nothing() -> None:
    graph = two_ways(goal="x", limit="y", carry="last", exit="now", on_limit="best")
    assert reason(play(graph)) == "exit_edge"


def late_source(**contract: Any) -> Graph:
    """The way out leaves a node that speaks only in the second round."""
    graph = refine([50, 80, 60], **contract)
    graph.document["graph"]["edges"].pop()
    graph.node(id="herald")(lambda inp: f"herald {inp.round}" if inp.round == 2 else NOTHING)
    graph.edge("critic", "herald")
    graph.edge("herald", "done", when=False)
    graph.edge("herald", "writer", when=False)
    return graph


def test_the_messages_are_those_of_the_round_that_is_handed_on() -> None:
    assert play(late_source(max_rounds=3, on_limit="best")).result.output == "herald 2"
    assert play(late_source(max_rounds=2)).result.output == "herald 2"


def test_a_source_that_was_silent_then_sends_an_empty_trigger() -> None:
    played = play(late_source(max_rounds=3, on_limit="last"))
    assert played.times["done"] == 1
    assert played.inputs("done") == [[]]


def extracting(pattern: str, **contract: Any) -> Graph:
    """The way out makes something of what it carries."""
    graph = refine([50, 80, 60], **contract)
    edge = graph.document["graph"]["edges"][-1]
    edge["process"] = {
        "type": "regex_extract",
        "config": {"pattern": pattern, "group": 1, "on_no_match": "drop"},
    }
    return graph


@pytest.mark.parametrize(
    ("contract", "number"),
    [
        ({"max_rounds": 3, "on_limit": "last"}, "3"),
        ({"max_rounds": 3}, "2"),
        ({"max_rounds": 3, "on_limit": "best"}, "2"),
        ({"until": "round > 0"}, "1"),
    ],
)
def test_the_way_out_processes_what_it_carries(contract: dict[str, Any], number: str) -> None:
    assert play(extracting(r"review (\d)", **contract)).result.output == number


def test_a_way_out_that_drops_everything_triggers_nobody() -> None:
    played = play(extracting(r"(nothing like it)", max_rounds=1))
    assert "done" not in played.times
    assert played.exits == [("writer", 1, "max_rounds_reached")]


def test_a_loop_that_may_not_miss_its_goal_fails_the_session() -> None:
    played = play(refine([10], max_rounds=2, exit_on_score=90, on_limit="fail"))
    assert (played.result.status, played.result.reason) == ("failed", "max_rounds_reached")
    assert "'writer'" in played.result.message
    assert played.exits == [("writer", 2, "max_rounds_reached")]
    reached = play(refine([90], max_rounds=2, exit_on_score=90, on_limit="fail"))
    assert reached.result.status == "completed"


def test_a_failing_inner_loop_ends_the_outer_one_as_failed() -> None:
    outer, inner = {"max_rounds": 2}, {"max_rounds": 1, "on_limit": "fail"}
    played = play(inner_and_outer(outer, inner))
    assert played.exits == [("inner", 1, "max_rounds_reached"), ("outer", 1, "failed")]


# Asking


def asked(*answers: str, scores: list[Any] | None = None, **contract: Any) -> Played:
    graph = refine(scores or [50, 80, 60], **{"on_limit": "human", "max_rounds": 2, **contract})
    return play(graph, answers=answers)


async def test_at_its_limit_a_loop_asks_as_its_head_with_its_round() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(refine([50], on_limit="human", max_rounds=2))
        result = await session.settled()
        assert (result.status, result.reason) == ("waiting", "question_open")
        (question,) = session.asking
        assert (question.node_id, question.address) == ("writer", "writer[2]")
        assert question.actions == ["continue", "best", "stop"]
        await session.answer("best", node="writer")
        assert (await session.settled()).status == "completed"
        told = [e async for e in session.events()]
        required = next(e for e in told if e.event == "human_input_required")
        assert (required.node_id, required.address) == ("writer", "writer[2]")
        assert [m["content"] for m in required.data["messages"]] == ["review 1"]


def test_a_loop_with_its_goal_reached_asks_nobody() -> None:
    assert asked(scores=[10, 90], exit_on_score=90).result.status == "completed"


@pytest.mark.parametrize(
    ("answers", "rounds"),
    [
        (["continue", "best"], 4),
        (["continue", "continue", "best"], 6),
        (["continue 1", "best"], 3),
        (["Continue: 5", "best"], 7),
        ([" CONTINUE  3 ", "best"], 5),
        (["best"], 2),
    ],
)
def test_continue_gives_so_many_rounds_again(answers: list[str], rounds: int) -> None:
    played = asked(*answers)
    assert played.result.status == "completed"
    assert played.times["critic"] == rounds
    assert played.result.loops[0].rounds == rounds


@pytest.mark.parametrize("answer", ["maybe", "", "continue 0", "continue -1", "best 2", "no"])
def test_anything_else_is_asked_again(answer: str) -> None:
    played = asked(answer, answer, "best")
    assert played.times["critic"] == 2
    questions = played.of("human_input_required")
    assert len(questions) == 3
    assert repr(answer) in questions[1].data["description"] or not answer


async def test_an_answer_that_is_no_text_is_asked_again() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(refine([50], on_limit="human", max_rounds=1))
        await session.settled()
        await session.answer({"continue": 3})
        assert (await session.settled()).status == "waiting"


def test_best_goes_on_with_the_best_round() -> None:
    played = asked("continue", "best", scores=[50, 80, 60, 70])
    assert played.result.output == "review 2"
    assert end_of(played) == ("max_rounds_reached", 4, 4, 4)


def test_stop_cancels_the_session_and_keeps_the_reason() -> None:
    played = asked("stop")
    assert played.result.status == "cancelled"
    assert played.exits == [("writer", 2, "max_rounds_reached")]
    assert "done" not in played.times


def test_continue_starts_the_patience_anew() -> None:
    contract = {"patience": {"rounds": 2}, "max_rounds": 10}
    played = asked("continue", "best", scores=[50], **contract)
    assert played.times["critic"] == 5
    assert reason(played) == "stagnated"


def test_a_regression_asks_and_goes_on() -> None:
    contract = {"regression": {"drop": 10, "action": "exit"}, "max_rounds": 10}
    played = asked("continue", "best", scores=[50, 30, 60, 45], **contract)
    assert end_of(played) == ("regressed", 4, 15, 10)
    assert played.result.output == "review 3"


def test_an_inner_loop_that_asks_holds_up_the_outer_one_only() -> None:
    inner = {"max_rounds": 1, "on_limit": "human"}
    graph = inner_and_outer({"max_rounds": 2}, inner)
    played = play(graph, answers=["continue 2", "best", "best"])
    assert played.result.status == "completed"
    assert [e[1] for e in played.exits if e[0] == "inner"] == [3, 1]


# Goals


def test_a_loop_without_a_goal_is_never_bounded() -> None:
    assert play(refine([10], max_rounds=1)).result.status == "completed"
    assert play(refine([10], max_rounds=1, patience={"rounds": 1})).result.status == "completed"


def test_an_inner_loop_that_missed_its_goal_bounds_the_session() -> None:
    inner = {"max_rounds": 2, "exit_on_score": 90}
    assert play(inner_and_outer({"max_rounds": 1}, inner)).result.status == "bounded"
    reached = {"max_rounds": 1, "until": "true"}
    assert play(inner_and_outer(reached, inner)).result.status == "completed"
    missed = {"max_rounds": 1, "until": "false"}
    assert play(inner_and_outer(missed, inner)).result.status == "bounded"


def test_the_last_entry_of_a_loop_counts() -> None:
    graph = Graph("late")
    graph.add("outer", Scripted([Message("", {"late": False}), Message("", {"late": True})]))
    graph.node(id="inner")(lambda inp: {"late": inp.data.get("late", False)})
    graph.node(id="gate")(lambda inp: inp.text)
    graph.node(id="done")(lambda inp: inp.text)
    graph.edge("outer", "inner")
    graph.edge("inner", "inner")
    graph.edge("inner", "gate", when=False)
    graph.edge("gate", "outer")
    graph.edge("gate", "done", when=False)
    graph.loop("outer", max_rounds=2)
    graph.loop("inner", max_rounds=2, until="data.late")
    played = play(graph)
    assert [e.data["bounded"] for e in played.of("loop:exited", "inner")] == [True, False]
    assert played.result.status == "completed"


# Carry


@pytest.mark.parametrize(
    ("carry", "seen"),
    [
        ("all", [1, 3, 5, 7, 9]),
        ("last", [1, 3, 3, 3, 3]),
        ({"window": 1}, [1, 3, 3, 3, 3]),
        ({"window": 2}, [1, 3, 5, 5, 5]),
        ({"window": 3}, [1, 3, 5, 7, 7]),
        ({"window": 9}, [1, 3, 5, 7, 9]),
    ],
)
def test_carry_says_how_many_rounds_are_remembered(carry: Any, seen: list[int]) -> None:
    played = play(remembering([50], max_rounds=5, carry=carry))
    assert [len(inputs) for inputs in played.inputs("writer")] == seen


def test_carry_last_keeps_the_newest_round() -> None:
    played = play(remembering([1, 2, 3], max_rounds=3, carry="last"))
    assert played.inputs("writer")[2] == ["review 1", "draft 2", "review 2"]


def test_kept_messages_are_carried_whatever_carry_says() -> None:
    graph = remembering([50], max_rounds=4, carry="last")
    graph.node(id="brief")(lambda _inp: "keep this")
    graph.edge("brief", "writer", keep_message=True)
    seen = play(graph).inputs("writer")
    assert [inputs[0] for inputs in seen] == ["keep this"] * 4
    assert [len(inputs) for inputs in seen] == [1, 3, 4, 4]


def test_a_new_entry_of_a_loop_does_not_carry_rounds_of_the_last_one() -> None:
    graph = inner_and_outer({"max_rounds": 2}, {"max_rounds": 3, "carry": "last"})
    graph.document["graph"]["nodes"][1]["context_window"] = -1
    seen = [len(inputs) for inputs in play(graph).inputs("inner")]
    assert seen[:3] == [1, 3, 3]
    assert seen[4:] == [3, 3]


# until


@pytest.mark.parametrize(
    ("until", "round"),
    [
        ("round >= 2", 2),
        ("score > 60.0", 2),
        ("score == null", 3),
        ("data.score == 80", 2),
        ('text == "review 2"', 2),
        ('text.contains("3")', 3),
        ("false", 4),
    ],
)
def test_until_sees_data_text_round_and_score(until: str, round: int) -> None:
    played = play(refine([50, 80, None, 70], max_rounds=4, until=until))
    assert played.times["critic"] == round
    expected = "max_rounds_reached" if until == "false" else "condition_met"
    assert reason(played) == expected


def test_the_data_of_a_round_is_merged_in_logical_order() -> None:
    graph = refine([Message("c", {"b": 2, "c": 3})], max_rounds=2)
    graph.document["graph"]["nodes"].pop(0)
    graph.add("writer", Scripted([Message("w", {"a": 1, "b": 1})]))
    graph.document["graph"]["start"] = "writer"
    graph.loop("writer", until='data.a == 1 && data.b == 2 && data.c == 3 && text == "c"')
    assert end_of(play(graph))[:2] == ("condition_met", 1)


def test_until_does_not_see_the_round_before() -> None:
    graph = refine([Message("a", {"ok": True}), Message("b", {})], max_rounds=3)
    graph.loop("writer", max_rounds=3, until='round > 1 && "ok" in data')
    assert reason(play(graph)) == "max_rounds_reached"


def test_until_that_raises_fails_the_session() -> None:
    played = play(refine([None], max_rounds=3, until="data.nothing > 3"))
    assert (played.result.status, played.result.reason) == ("failed", "contract_failed")
    assert "'writer'" in played.result.message
    assert played.times["critic"] == 1


async def test_until_is_recorded_after_every_round() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(refine([50], max_rounds=9, until="round >= 3"))
        await session.result()
        judged = [t.met for t in session.journal() if isinstance(t, ticks.UntilChecked)]
        assert judged == [False, False, True]


def test_an_inner_loop_says_what_was_said_in_its_last_round() -> None:
    outer = {"max_rounds": 5, "until": "data.score == 30"}
    assert reason(play(inner_and_outer(outer, {"max_rounds": 3})), "outer") == "condition_met"
    assert reason(play(inner_and_outer(outer, {"max_rounds": 4})), "outer") == "max_rounds_reached"


# exit: now


def test_with_exit_now_the_contract_still_decides_at_the_end_of_the_round() -> None:
    played = play(refine([10, 90], exit="now", exit_on_score=90, max_rounds=5))
    assert end_of(played) == ("score_threshold_reached", 2, 90, 90)
    missed = play(refine([10, 89], exit="now", exit_on_score=90, max_rounds=5))
    assert end_of(missed) == ("max_rounds_reached", 5, 5, 5)


def test_with_exit_now_an_early_exit_leaves_the_critic_out() -> None:
    graph = refine([90], exit="now", exit_on_score=90, max_rounds=5)
    graph.edge("writer", "done", when="round >= 1")
    graph.document["graph"]["edges"][2]["label"] = "goal"
    graph.document["graph"]["edges"][3]["label"] = "limit?"
    played = play(graph)
    assert reason(played) == "exit_edge"
    assert "critic" not in played.times
    assert played.result.status == "bounded"


# Inside a subgraph


def inside(contract: dict[str, Any], rounds: int = 2) -> Graph:
    """A loop with a contract in a subgraph that is itself in a loop."""
    words = ["one", "two", "three", "four", "five", "six"]
    answers = [f'{word} times {{"score": {10 * n}}}' for n, word in enumerate(words, 1)]
    agent = {"provider": "scripted", "answers": answers}
    inner = {
        "id": "inner",
        "start": "writer",
        "nodes": [
            {"id": "writer", "type": "agent", "config": agent},
            {"id": "out", "type": "passthrough"},
        ],
        "edges": [
            {"from": "writer", "to": "writer"},
            {"from": "writer", "to": "out", "condition": False},
        ],
        "loops": {"writer": contract},
    }
    return Graph.from_document(
        {
            "graph": {
                "id": "around",
                "start": "S",
                "nodes": [
                    {"id": "S", "type": "subgraph", "config": {"graph": inner}},
                    {"id": "done", "type": "passthrough"},
                ],
                "edges": [
                    {"from": "S", "to": "S"},
                    {"from": "S", "to": "done", "condition": False},
                ],
                "loops": {"S": {"max_rounds": rounds}},
            }
        }
    )


def test_a_contract_in_a_subgraph_applies_at_every_call() -> None:
    played = play(inside({"max_rounds": 3, "on_limit": "best"}))
    assert played.exits == [
        ("S/writer", 3, "max_rounds_reached"),
        ("S/writer", 3, "max_rounds_reached"),
        ("S", 2, "max_rounds_reached"),
    ]
    assert scores(played, "S/writer") == [10, 20, 30, 40, 50, 60]
    assert [out[0].split()[0] for out in played.outputs("S/out")] == ["three", "six"]


def test_a_goal_in_a_subgraph_bounds_the_session() -> None:
    assert (
        play(inside({"max_rounds": 3, "exit_on_score": 20}, rounds=1)).result.status == "completed"
    )
    missed = play(inside({"max_rounds": 3, "exit_on_score": 90}, rounds=1))
    assert missed.result.status == "bounded"


async def test_a_loop_in_a_subgraph_asks_with_its_whole_name() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(inside({"max_rounds": 1, "on_limit": "human"}, rounds=1))
        await session.settled()
        (question,) = session.asking
        assert (question.node_id, question.address) == ("S/writer", "S[1]/S/writer[1]")
        await session.answer("continue 1")
        await session.settled()
        await session.answer("best", node="S/writer")
        assert (await session.settled()).status == "completed"


# Together


async def test_a_refused_answer_leaves_the_loop_waiting() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(refine([50], on_limit="human", max_rounds=1))
        await session.settled()
        with pytest.raises(CallError):
            await session.answer("best", node="nobody")
        assert session.status == "waiting"


async def test_a_loop_judges_its_rounds_while_somebody_else_is_asked() -> None:
    rounds: list[int] = []

    graph = Graph("beside", start=["ask", "worker"], end=["done"])
    graph.add("ask", "human", {"description": "?"})
    graph.node(id="worker")(lambda inp: (rounds.append(inp.round), "x")[1])
    graph.node(id="done")(lambda _inp: "done")
    graph.edge("worker", "worker")
    graph.edge("worker", "done", when=False)
    graph.edge("ask", "done")
    graph.loop("worker", until="round >= 3")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        assert (await session.settled()).status == "waiting"
        assert rounds == [1, 2, 3]


async def test_a_way_out_is_processed_while_another_loop_asks() -> None:
    graph = extracting(r"review (\d)", max_rounds=2)
    graph.document["graph"]["start"] = ["writer", "asker"]
    graph.node(id="asker")(lambda _inp: "asking")
    graph.edge("asker", "asker")
    graph.edge("asker", "done", when=False)
    graph.node(id="then")(lambda inp: inp.text)
    graph.document["graph"]["edges"][2]["to"] = "then"
    graph.document["graph"]["end"] = ["then"]
    graph.loop("asker", max_rounds=1, on_limit="human")
    async with Engine(db=None) as engine:
        session = await engine.start(with_breaker(graph, "off"))
        assert (await session.settled()).status == "waiting"
        assert [s.status for s in session.steps() if s.node_id == "then"] == ["completed"]


# Goal before limit


def spender(scores: list[Any], **contract: Any) -> Graph:
    """A loop with two ways out, whose critic takes 60 tokens a round."""
    graph = Graph("spender")
    graph.node(id="writer")(lambda inp: f"draft {inp.round}")

    async def critic(inp: Any) -> Any:
        await inp.reserve(lambda: tokens(60))
        inp.charge(tokens(60))
        score = scores[min(inp.round, len(scores)) - 1]
        return Message(f"review {inp.round}", {} if score is None else {"score": score})

    graph.node(id="critic")(critic)
    graph.node(id="done")(lambda inp: f"done with {inp.text}")
    graph.node(id="gave up")(lambda inp: f"gave up with {inp.text}")
    graph.edge("writer", "critic")
    graph.edge("critic", "writer")
    graph.edge("critic", "done", label="goal")
    graph.edge("critic", "gave up", label="limit")
    graph.loop("writer", **contract)
    return graph


@pytest.mark.parametrize("on_limit", ["fail", "human", "last", "best"])
def test_a_goal_reached_in_the_round_that_used_up_the_budget_is_reached(on_limit: str) -> None:
    goal = {"exit_on_score": 90, "budget": {"tokens": 100}}
    played = play(spender([50, 95], **goal, on_limit=on_limit))
    assert (played.result.status, played.result.output) == ("completed", "done with review 2")
    end = played.result.loops[0]
    assert (end.exit_reason, end.value, end.threshold) == ("budget_exhausted", 120, 100)
    assert (end.score, end.target, end.bounded) == (95, 90, False)


def test_an_until_that_held_in_the_round_that_used_up_the_budget_is_reached() -> None:
    goal = {"until": "score == 95", "budget": {"tokens": 100}, "on_limit": "fail"}
    played = play(spender([50, 95], **goal))
    assert (played.result.status, played.result.output) == ("completed", "done with review 2")


def test_a_round_that_was_cut_short_after_its_score_goes_out_by_the_goal() -> None:
    async def late(inp: Any) -> str:
        await inp.reserve(lambda: tokens(60))
        inp.charge(tokens(60))
        return "never"

    goal = {"exit_on_score": 90, "budget": {"tokens": 60}, "on_limit": "human"}
    graph = spender([95], **goal)
    graph.node(id="late")(late)
    graph.edge("critic", "late")
    graph.edge("late", "writer")
    played = play(graph)
    assert (played.result.status, played.result.output) == ("completed", "done with review 1")
    assert reason(played) == "budget_exhausted"


def test_how_far_the_goal_was_is_told_beside_what_the_reason_compares() -> None:
    played = play(spender([50, 70], exit_on_score=90, max_rounds=2))
    end = next(event.data for event in played.events if event.event == "loop:exited")
    assert (end["exit_reason"], end["value"], end["threshold"]) == ("max_rounds_reached", 2, 2)
    assert (end["score"], end["target"], end["note"]) == (70, 90, "")


def test_a_score_that_no_round_had_is_told_at_the_end() -> None:
    played = play(spender([None], exit_on_score=90, max_rounds=3, score={"node": "critic"}))
    text = (
        "no score found in 3 rounds; looked at data.score and for 'Score: N' or JSON in the text "
        "of critic"
    )
    assert played.result.loops[0].note == text
    anyone = play(spender([None], exit_on_score=90, max_rounds=1)).result.loops[0]
    assert anyone.note.startswith("no score found in 1 round; ")
    assert anyone.note.endswith("the text of writer, critic")


@pytest.mark.parametrize("contract", [{}, {"until": "round > 1"}, {"patience": {"rounds": 2}}])
def test_a_loop_that_is_not_after_a_score_misses_none(contract: dict[str, Any]) -> None:
    assert play(spender([None], max_rounds=2, **contract)).result.loops[0].note == ""


def test_a_score_in_some_round_is_not_missing() -> None:
    assert play(spender([50, None], exit_on_score=90, max_rounds=2)).result.loops[0].note == ""


def test_plain_words_count_where_no_step_has_stated_a_score() -> None:
    graph = spender([None], exit_on_score=90, max_rounds=3)
    graph.node(id="judge")(lambda inp: f"Good.\n**Score:** {80 + 5 * inp.round}/100")
    graph.edge("critic", "judge")
    graph.edge("judge", "writer")
    assert scores(play(graph)) == [85, 90]
    stated = spender([40], exit_on_score=90, max_rounds=2)
    stated.node(id="judge")(lambda _inp: "Score: 95")
    stated.edge("critic", "judge")
    stated.edge("judge", "writer")
    assert scores(play(stated)) == [40, 40]
