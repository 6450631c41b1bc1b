"""Humans: a question suspends its branch, costs nothing, and is answered once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rondel import Context, Emit, Engine, Graph, Message, Outcome, Question, Session, Suspend
from rondel.errors import CallError, WrongState
from tests.unit.sessions.playing import chain, others, play, saying, until


def asking(*humans: str) -> Graph:
    """s -> each human -> e; e says all it got."""
    graph = saying(Graph("asking", end="e"), "s")
    for human in humans:
        graph.add(human, "human", {"description": f"{human}?"})
        graph.edge("s", human)
    graph.node(id="e")(lambda inp: " ".join(message.text for message in inp.messages))
    for human in humans:
        graph.edge(human, "e")
    return graph


async def test_a_question_suspends_and_its_answer_goes_on() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("h"))
        result = await session.settled()
        assert result.status == "waiting"
        assert {asked.node_id: asked.description for asked in session.questions()} == {"h": "h?"}
        await session.answer("fine")
        result = await session.settled()
        assert (result.status, result.output) == ("completed", "fine")
        assert session.questions() == []


def test_the_events_of_a_question_tell_what_was_asked_and_answered() -> None:
    graph = saying(Graph("g"), "s")
    graph.add("h", "human", {"description": "Good?", "actions": ["approve", "reject"]})
    graph.edge("s", "h")
    played = play(graph, "task", ["approve: nice"])
    (asked,) = played.of("human_input_required")
    assert asked.data == {
        "description": "Good?",
        "messages": [{"source": "s", "role": "assistant", "content": "s", "data": {}}],
        "actions": ["approve", "reject"],
        "deadline": None,
    }
    assert (asked.node_id, asked.address) == ("h", "h")
    (received,) = played.of("human_input_received")
    assert received.data == {"answer": "approve: nice", "by": ""}
    states = [e.data["status"] for e in played.of("node_state_change", "h")]
    assert states == ["running", "suspended", "completed"]
    sessions = [e.data["status"] for e in played.of("session_state_change")]
    assert sessions == ["running", "waiting", "running", "completed"]
    (step,) = [step for step in played.steps if step.node_id == "h"]
    assert step.status == "completed"
    assert step.outputs[0]["data"] == {"action": "approve", "comment": "nice"}


async def test_who_answered_is_in_the_event() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("h"))
        await session.settled()
        await session.answer("yes", by="Grace")
        await session.result()
        (got,) = [e.data async for e in session.events() if e.event == "human_input_received"]
        assert got == {"answer": "yes", "by": "Grace"}


@pytest.mark.parametrize("order", [["h1", "h2"], ["h2", "h1"]])
async def test_two_open_questions_are_answered_in_any_order_by_name(order: list[str]) -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("h1", "h2"))
        await session.settled()
        assert {asked.node_id: asked.description for asked in session.questions()} == {
            "h1": "h1?",
            "h2": "h2?",
        }
        first, second = order
        await session.answer(f"to {first}", node=first)
        assert (await session.settled()).status == "waiting"
        assert [asked.node_id for asked in session.questions()] == [second]
        with pytest.raises(WrongState, match=first):
            await session.answer("twice", node=first)
        await session.answer(f"to {second}", node=second)
        result = await session.settled()
        assert result.output == "to h1 to h2"


def test_without_a_name_the_oldest_question_is_answered() -> None:
    played = play(asking("h1", "h2", "h3"), answers=["1", "2", "3"])
    assert played.result.output == "1 2 3"


async def test_an_answer_counts_once_also_when_two_come_at_once() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("h"))
        await session.settled()
        got = await asyncio.gather(
            *(session.answer(text) for text in ("first", "second", "third")),
            return_exceptions=True,
        )
        assert got[0] is None
        assert [type(each) for each in got[1:]] == [WrongState, WrongState]
        assert (await session.result()).output == "first"


async def test_an_unknown_node_is_told_apart_from_one_without_a_question() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("h"))
        await session.settled()
        with pytest.raises(CallError, match="'nobody'"):
            await session.answer("x", node="nobody")
        with pytest.raises(WrongState, match="'s'"):
            await session.answer("x", node="s")
        assert session.status == "waiting"


async def test_waiting_costs_no_task() -> None:
    async with Engine(db=None) as engine:
        sessions = [await engine.start(asking("h1", "h2")) for _ in range(50)]
        for session in sessions:
            assert (await session.settled()).status == "waiting"
        assert not others()
        for session in sessions:
            await session.answer("a", node="h2")
            assert (await session.settled()).status == "waiting"
        assert not others()
        for session in sessions:
            await session.answer("b")
            assert (await session.settled()).output == "b a"
        assert not others()


async def test_the_other_branch_goes_on_while_a_human_is_waited_for() -> None:
    gate = asyncio.Event()
    graph = asking("h")

    async def slow(inp: Context) -> str:
        await gate.wait()
        return "slow"

    graph.node(slow)
    graph.node(id="more")(lambda inp: "more")
    chain(graph, "s", "slow", "more", "e")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await until(lambda: bool(session.questions()))
        assert session.status == "running"
        gate.set()
        result = await session.settled()
        assert result.status == "waiting"
        done = {step.node_id: step.status for step in session.steps()}
        assert done == {
            "s": "completed",
            "h": "suspended",
            "slow": "completed",
            "more": "completed",
        }
        await session.answer("human")
        assert (await session.result()).output == "human more"
        states = [
            e.data["status"] async for e in session.events() if e.event == "session_state_change"
        ]
        assert states == ["running", "waiting", "running", "completed"]


async def test_an_answer_while_another_branch_runs_is_taken_at_once() -> None:
    gate = asyncio.Event()
    graph = asking("h")

    async def slow(inp: Context) -> str:
        await gate.wait()
        return "slow"

    graph.node(slow)
    after: list[str] = []
    graph.node(id="after")(lambda inp: after.append(inp.text) or "after")
    graph.edge("h", "after")
    chain(graph, "s", "slow", "e")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await until(lambda: bool(session.questions()))
        await session.answer("early")
        await until(lambda: after == ["early"])
        assert session.status == "running"
        gate.set()
        assert (await session.result()).output == "early slow"


async def test_an_answer_in_a_pause_waits_for_the_resume() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("h"))
        await session.settled()
        await session.pause()
        assert session.status == "paused"
        await session.answer("noted")
        assert (await session.settled()).status == "paused"
        assert session.questions() == []
        await session.resume()
        assert (await session.settled()).output == "noted"


async def test_a_pause_of_a_waiting_session_ends_in_waiting_again() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("h"))
        await session.settled()
        await session.pause()
        await session.resume()
        assert session.status == "waiting"
        assert session.questions() != []
        await session.answer("x")
        assert (await session.settled()).status == "completed"


async def test_stopping_a_waiting_session_withdraws_the_question() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(asking("h"))
        await session.settled()
        await session.stop()
        assert session.questions() == []
        with pytest.raises(WrongState):
            await session.answer("late")
        assert (await session.result()).status == "cancelled"


def test_a_human_in_a_loop_is_asked_in_every_round() -> None:
    graph = Graph("g", start="h", end="out")
    graph.add("h", "human", {"description": "Again?"})
    graph.node(id="out")(lambda inp: inp.text)
    graph.edge("h", "h", when=lambda m: m.text == "again")
    graph.edge("h", "out", when=lambda m: m.text != "again")
    played = play(graph, answers=["again", "again", "enough"])
    assert played.result.output == "enough"
    asked = [e.address for e in played.of("human_input_required")]
    assert asked == ["h[1]/h", "h[2]/h", "h[3]/h"]
    assert played.exits == [("h", 3, "exit_edge")]


def test_a_processor_may_ask_again_and_keeps_its_state_in_between() -> None:
    class Interview:
        async def process(self, ctx: Context) -> Outcome:
            heard = list(ctx.state or [])
            if ctx.answer is not None:
                heard.append(ctx.answer)
            if len(heard) < 3:
                return Suspend(Question(f"question {len(heard) + 1}"), state=heard)
            return Emit([Message(" ".join(heard))], state=None)

    graph = Graph("g")
    graph.add("i", Interview())
    played = play(graph, answers=["a", "b", "c"])
    assert played.result.output == "a b c"
    asked = [e.data["description"] for e in played.of("human_input_required")]
    assert asked == ["question 1", "question 2", "question 3"]
    assert len(played.steps) == 1


async def test_the_run_of_an_engine_ends_where_it_waits() -> None:
    async with Engine(db=None) as engine:
        result = await engine.run(asking("h"))
        assert result.status == "waiting"
        session: Session = engine.get(result.session_id)
        await session.answer("later")
        assert (await session.result()).output == "later"


@pytest.mark.parametrize("answer", ["", 0, False, {"a": 1}, ["x"]])
async def test_an_answer_of_any_kind_counts_as_one(answer: Any) -> None:
    graph = Graph("g", end="e")
    graph.add("h", "human")
    graph.node(id="e")(lambda inp: f"got {inp.messages[0].text}")
    graph.edge("h", "e")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.settled()
        await session.answer(answer)
        result = await session.settled()
        assert result.status == "completed"
        assert result.output is not None
        assert result.output.startswith("got")


async def test_a_program_answers_the_questions_that_events_tell_it_of() -> None:
    graph = Graph("g")
    graph.add("Editor", "human", {"description": "good?", "actions": ["approve", "revise"]})
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "x")
        async for event in session.events():
            if event.event == "human_input_required":
                for question in session.questions():
                    assert (question.node_id, question.description) == ("Editor", "good?")
                    await session.answer(question.actions[0], node=question.node_id)
        result = await session.result()
        assert session.questions() == []
    assert result.output == "approve"
