"""The scenarios of the requirement documents, to the letter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, Message
from tests.unit.sessions.playing import Played, play

REVIEW_LOOP = """
graph:
  id: review_loop
  description: 带迭代上限的审稿循环

  nodes:
    - id: Writer
      type: agent
      config:
        {WRITER}
        role: 根据用户反馈改进文章

    - id: Reviewer
      type: human
      config:
        description: |
          审阅文章，输入 ACCEPT 接受或提供修改意见。

    - id: Loop Guard
      type: loop_counter
      config:
        max_iterations: 3{RESET}
        message: 已达到最大修改次数（3次），流程自动结束。

    - id: Final Output
      type: passthrough
      config: {}

  edges:
    # 主循环：Writer -> Reviewer
    - from: Writer
      to: Reviewer

    # 条件1：用户输入 ACCEPT -> 结束
    - from: Reviewer
      to: Final Output
      condition:
        type: keyword
        config:
          any: [ACCEPT]

    # 条件2：用户输入修改意见 -> 同时触发 Writer 继续循环 AND Loop Guard 计数
    - from: Reviewer
      to: Writer
      condition:
        type: keyword
        config:
          none: [ACCEPT]

    - from: Reviewer
      to: Loop Guard
      condition:
        type: keyword
        config:
          none: [ACCEPT]

    # Loop Guard 连接到 Writer（使其保持在环内）
    - from: Loop Guard
      to: Writer

    # Loop Guard 达到上限时：触发 Final Output 结束流程
    - from: Loop Guard
      to: Final Output

  start: [Writer]
  end: [Final Output]
"""
SIMULATED = "provider: simulated"
AS_WRITTEN = "provider: openai\n        name: gpt-4o"
GUARD = "已达到最大修改次数（3次），流程自动结束。"


def review_loop(reset: bool | None = None) -> Graph:
    setting = "" if reset is None else f"\n        reset_on_emit: {str(reset).lower()}"
    return Graph.loads(REVIEW_LOOP.replace("{WRITER}", SIMULATED).replace("{RESET}", setting))


def counts(played: Played) -> tuple[int, int, int, int]:
    times = played.times
    return times["Writer"], times["Reviewer"], times["Loop Guard"], times["Final Output"]


# Seed 004


def test_the_review_loop_loads_as_it_is_written() -> None:
    graph = Graph.loads(REVIEW_LOOP.replace("{WRITER}", AS_WRITTEN).replace("{RESET}", ""))
    assert graph.warnings == ()
    assert graph.id == "review_loop"


@pytest.mark.parametrize("reset", [None, True, False])
def test_three_revisions_give_4_3_3_1_executions_and_the_guards_message(
    reset: bool | None,
) -> None:
    played = play(review_loop(reset), "write", ["more", "shorter", "warmer"])
    assert counts(played) == (4, 3, 3, 1)
    assert (played.result.status, played.result.output) == ("completed", GUARD)
    assert played.exits == [("Writer", 3, "exit_edge")]
    assert played.outputs("Loop Guard") == [[], [], [GUARD]]
    figures = {"count": 3, "max": 3, "reset_on_emit": reset is not False}
    assert played.result.data["loop_counter"] == figures


def test_the_last_writer_applies_the_third_revision() -> None:
    played = play(review_loop(), "write", ["more", "shorter", "warmer"])
    seen = played.inputs("Writer")
    assert seen[0] == ["write"]
    assert seen[1] == ["more"]
    assert seen[2] == ["shorter"]
    assert seen[3] == ["warmer", GUARD]
    addresses = [step.address for step in played.steps if step.node_id == "Writer"]
    assert addresses == [
        "Writer[1]/Writer",
        "Writer[2]/Writer",
        "Writer[3]/Writer",
        "Writer[3]/Writer#2",
    ]
    assert played.inputs("Final Output") == [[GUARD]]


def test_accept_at_once_gives_1_1_0_1() -> None:
    played = play(review_loop(), "write", ["ACCEPT"])
    assert counts(played) == (1, 1, 0, 1)
    assert (played.result.status, played.result.output) == ("completed", "ACCEPT")
    assert played.exits == [("Writer", 1, "exit_edge")]


@pytest.mark.parametrize("revisions", [1, 2])
def test_accept_later_ends_the_loop_in_that_round(revisions: int) -> None:
    played = play(review_loop(), "write", [*["more"] * revisions, "ACCEPT, thank you"])
    assert counts(played) == (revisions + 1, revisions + 1, revisions, 1)
    assert played.result.output == "ACCEPT, thank you"
    assert played.outputs("Loop Guard") == [[]] * revisions


def twice(reset: bool) -> Graph:
    """The guarded loop, entered twice: the counter's state lives for the whole session."""
    graph = Graph("twice", start="again", end="out")
    graph.node(id="again")(lambda inp: f"pass {inp.round}")
    graph.node(id="head")(lambda inp: "draft")
    graph.add("guard", "loop_counter", {"max_iterations": 3, "reset_on_emit": reset})
    graph.node(id="after")(lambda inp: inp.text)
    graph.node(id="out")(lambda inp: "out")
    graph.edge("again", "head")
    graph.edge("head", "guard")
    graph.edge("head", "head")
    graph.edge("guard", "head")
    graph.edge("guard", "after")
    graph.edge("after", "again")
    graph.edge("again", "out", label="limit")
    graph.loop("again", max_rounds=2)
    return graph


def test_a_counter_that_resets_counts_anew_on_the_second_entry() -> None:
    played = play(twice(reset=True))
    assert [rounds for head, rounds, _ in played.exits if head == "head"] == [3, 3]
    assert played.times["guard"] == 6


def test_a_counter_that_does_not_reset_speaks_at_once_from_then_on() -> None:
    played = play(twice(reset=False))
    assert [rounds for head, rounds, _ in played.exits if head == "head"] == [3, 1]
    assert played.times["guard"] == 4
    counted = [
        step.outputs[0]["data"]["loop_counter"]["count"]
        for step in played.steps
        if step.node_id == "guard" and step.outputs
    ]
    assert counted == [3, 4]


# Seed 002


def copy_optimisation(*scores: int) -> Graph:
    """Three rounds or 90 points."""
    answers: list[dict[str, Any]] = [
        {"content": f"rated {score}", "data": {"score": score}} for score in scores
    ]
    graph = Graph("copy", start="Copywriter", end="Published")
    lines = [f"line {number}" for number in (1, 2, 3)]
    graph.add("Copywriter", "agent", {"provider": "scripted", "answers": lines})
    graph.add("Scorer", "agent", {"provider": "scripted", "answers": answers})
    graph.add("Loop", "loop", {"max_rounds": 3, "exit_on_score": 90})
    graph.add("Published", "passthrough")
    graph.edge("Copywriter", "Scorer")
    graph.edge("Scorer", "Loop")
    graph.edge("Loop", "Copywriter", label="continue")
    graph.edge("Loop", "Published", label="exit")
    return graph


def decisions(played: Played) -> list[dict[str, Any]]:
    return [step.outputs[0]["data"] for step in played.steps if step.node_id == "Loop"]


def test_copy_that_never_gets_90_points_ends_bounded_after_three_rounds() -> None:
    played = play(copy_optimisation(60, 70, 80))
    assert played.result.status == "bounded"
    assert played.exits == [("Copywriter", 3, "max_rounds_reached")]
    (loop,) = played.result.loops
    assert (loop.exit_reason, loop.bounded, loop.value, loop.threshold) == (
        "max_rounds_reached",
        True,
        3,
        3,
    )
    assert loop.best_round == 3
    told = [(d["should_exit"], d["exit_reason"], d["current_round"]) for d in decisions(played)]
    assert told == [(False, "", 1), (False, "", 2), (True, "max_rounds_reached", 3)]
    assert [d["goal_met"] for d in decisions(played)] == [False, False, False]
    assert played.times == {"Copywriter": 3, "Scorer": 3, "Loop": 3, "Published": 1}


def test_copy_with_90_points_in_round_two_is_done() -> None:
    played = play(copy_optimisation(70, 90))
    assert played.result.status == "completed"
    assert played.exits == [("Copywriter", 2, "score_threshold_reached")]
    (loop,) = played.result.loops
    assert (loop.bounded, loop.value, loop.threshold, loop.best_round) == (False, 90, 90, 2)
    told = [(d["should_exit"], d["exit_reason"], d["current_round"]) for d in decisions(played)]
    assert told == [(False, "", 1), (True, "score_threshold_reached", 2)]
    assert played.times == {"Copywriter": 2, "Scorer": 2, "Loop": 2, "Published": 1}
    assert set(decisions(played)[-1]) == {
        "should_exit",
        "exit_reason",
        "current_round",
        "timestamp",
        "goal_met",
    }


def test_90_points_in_the_last_round_is_the_limit_by_order_and_no_miss() -> None:
    """The flow chart tests the rounds first; the goal was met all the same."""
    played = play(copy_optimisation(70, 80, 95))
    assert played.exits == [("Copywriter", 3, "max_rounds_reached")]
    assert played.result.status == "completed"
    assert decisions(played)[-1]["goal_met"] is True


@pytest.mark.parametrize("scores", [(60, 70, 80), (70, 90)])
def test_each_execution_of_the_loop_node_has_both_events(scores: tuple[int, ...]) -> None:
    played = play(copy_optimisation(*scores))
    changes = [e.data for e in played.of("node_state_change", "Loop")]
    assert [d["status"] for d in changes] == ["running", "completed"] * len(scores)
    for change, decision in zip(changes[1::2], decisions(played), strict=True):
        for field in ("should_exit", "exit_reason", "current_round"):
            assert change[field] == decision[field]


def test_a_loop_node_without_a_goal_is_simply_done() -> None:
    graph = Graph("g", start="w", end="out")
    graph.node(id="w")(lambda inp: {"score": 1})
    graph.add("gate", "loop", {"max_rounds": 2})
    graph.add("out", "passthrough")
    graph.edge("w", "gate")
    graph.edge("gate", "w", label="continue")
    graph.edge("gate", "out", label="exit")
    played = play(graph)
    assert played.result.status == "completed"
    assert played.exits == [("w", 2, "max_rounds_reached")]


# The Python example of PRODUCT.md, section 12


async def test_the_example_of_the_product_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    graph = Graph("refine")

    @graph.node
    async def writer(inp: Any) -> str:
        return f"draft {inp.round}"

    @graph.node
    def critic(inp: Any) -> dict[str, int]:
        return {"score": 30 * inp.round}

    @graph.node
    def done(inp: Any) -> str:
        return inp.text

    graph.edge("writer", "critic")
    graph.edge("critic", "writer", when=lambda m: m.data["score"] < 90)
    graph.edge("critic", "done", when="data.score >= 90")
    graph.loop("writer", max_rounds=5)

    result = await Engine(db=None).run(graph, "topic")
    assert result.status == "completed"
    assert result.output == '{"score":90}'
    (loop,) = result.loops
    assert (loop.loop, loop.rounds, loop.exit_reason) == ("writer", 3, "exit_edge")
    assert loop.best_round == 3
    async with Engine() as engine:
        session = await engine.start(graph, inputs={"topic": "loops"})
        names = [event.event async for event in session.events()]
        result = await session.result()
        steps = session.steps()
    assert names[0] == names[-1] == "session_state_change"
    assert names.count("loop:round_started") == names.count("loop:round_completed") == 3
    assert (result.status, result.data, result.usage.tokens) == ("completed", {}, 0)
    assert [step.address for step in steps] == [
        "writer[1]/writer",
        "writer[1]/critic",
        "writer[2]/writer",
        "writer[2]/critic",
        "writer[3]/writer",
        "writer[3]/critic",
        "done",
    ]


@pytest.mark.parametrize(
    ("returned", "content", "data"),
    [
        ("text", "text", {}),
        ({"score": 1}, "", {"score": 1}),
        (Message("m", {"a": 1}), "m", {"a": 1}),
        (None, "", {}),
    ],
)
def test_what_a_function_returns_is_what_the_next_node_gets(
    returned: Any, content: str, data: dict[str, Any]
) -> None:
    graph = Graph("g", end="b")
    graph.node(id="a")(lambda inp: returned)
    seen = []

    @graph.node
    def b(inp: Any) -> str:
        (message,) = inp.messages
        seen.append((message.text, dict(message.data), message.source))
        return "end"

    graph.edge("a", "b")
    play(graph)
    assert seen == [(content, data, "a")]


def test_a_list_is_several_messages_and_nothing_is_none() -> None:
    graph = Graph("g", end="b")
    graph.node(id="a")(lambda inp: ["one", {"n": 2}, Message("three")])
    graph.node(id="b")(lambda inp: f"{len(inp.messages)}")
    graph.edge("a", "b")
    assert play(graph).result.output == "3"
