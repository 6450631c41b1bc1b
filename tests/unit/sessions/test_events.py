"""Events: numbered without gaps, resumable anywhere, at every watcher's own pace."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Context, Emit, Engine, Event, Graph, Message, Session
from rondel.sessions import stream
from tests.unit.sessions.playing import alone, chain, limited, others, play, saying, until


def looping(rounds: int = 4) -> Graph:
    """head -> (a, b) -> tail -> head, then out."""
    graph = saying(Graph("looping", start="head", end="out"), "head", "a", "b", "tail", "out")
    chain(graph, "head", "a", "tail")
    chain(graph, "head", "b", "tail")
    graph.edge("tail", "head")
    graph.edge("tail", "out", label="limit")
    graph.loop("head", max_rounds=rounds)
    return graph


def streaming(chunks: int) -> Graph:
    graph = Graph("streaming")

    async def speaks(inp: Context) -> str:
        for number in range(chunks):
            inp.emit("token_stream", {"chunk": f"{number} ", "agent": inp.node_id})
        return "said"

    graph.node(id="quiet")(lambda inp: "quiet")
    graph.node(speaks)
    graph.node(id="after")(lambda inp: "after")
    return chain(graph, "quiet", "speaks", "after")


async def collected(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


async def finished(engine: Engine, graph: Graph) -> Session:
    session = await engine.start(graph, "task")
    await session.result()
    return session


# The envelope


async def test_every_event_has_the_whole_envelope_and_is_json() -> None:
    async with Engine(db=None) as engine:
        session = await finished(engine, looping())
        events = await collected(session.events())
    for event in events:
        fields = json.loads(msgspec.json.encode(event))
        assert list(fields) == [
            "seq",
            "event",
            "timestamp",
            "session_id",
            "node_id",
            "address",
            "data",
        ]
        assert fields["session_id"] == session.id
        assert fields["timestamp"].endswith("Z")
        assert datetime.fromisoformat(fields["timestamp"]).utcoffset() is not None
        assert (fields["node_id"] is None) == (fields["event"] == "session_state_change")
    times = [event.timestamp for event in events]
    assert times == sorted(times)


def test_the_numbers_of_durable_events_count_from_1_without_gaps() -> None:
    played = play(looping(), "task")
    assert [event.seq for event in played.events] == list(range(1, len(played.events) + 1))
    assert played.events[0].data == {"status": "running", "reason": ""}
    assert played.events[-1].data["status"] == "completed"


def test_every_step_runs_then_completes_in_the_events() -> None:
    played = play(looping(3))
    for step in played.steps:
        states = [
            e.data["status"]
            for e in played.of("node_state_change", step.node_id)
            if e.address == step.address
        ]
        assert states == ["running", "completed"], step.address


def test_the_rounds_of_a_loop_are_told_with_their_figures() -> None:
    graph = Graph("g", start="critic", end="out")
    graph.node(id="critic")(lambda inp: {"score": [50, 80, 70][inp.round - 1]})
    graph.node(id="out")(lambda inp: "out")
    graph.edge("critic", "critic")
    graph.edge("critic", "out", label="limit")
    graph.loop("critic", max_rounds=3)
    played = play(graph)
    started = played.of("loop:round_started")
    assert [(e.data["loop"], e.data["round"], e.address) for e in started] == [
        ("critic", 1, "critic[1]"),
        ("critic", 2, "critic[2]"),
        ("critic", 3, "critic[3]"),
    ]
    completed = played.of("loop:round_completed")
    assert [(e.data["round"], e.data["score"], e.data["delta"]) for e in completed] == [
        (1, 50, None),
        (2, 80, 30),
        (3, 70, -10),
    ]
    (exited,) = played.of("loop:exited")
    assert exited.data == {
        "loop": "critic",
        "rounds": 3,
        "exit_reason": "max_rounds_reached",
        "value": 3,
        "threshold": 3,
        "best_round": 2,
        "bounded": False,
        "score": 70,
        "target": None,
        "note": "",
    }
    assert exited.address == "critic"
    (loop,) = played.result.loops
    assert (loop.loop, loop.best_round, loop.rounds) == ("critic", 2, 3)


def test_the_fields_of_round_events_are_those_of_the_contract() -> None:
    played = play(looping(2))
    fields = {"loop", "round", "score", "delta", "tokens", "usd", "entropy"}
    fields |= {"sent_tokens", "cached_tokens", "new_tokens"}
    for event in played.of("loop:round_completed"):
        assert set(event.data) == fields
    for event in played.of("loop:round_started"):
        assert {"loop", "round"} <= set(event.data) <= fields


def test_tokens_are_counted_to_their_round_and_to_the_session() -> None:
    usage = {"input_tokens": 10, "output_tokens": 5}
    answers = [{"content": f"draft {n}", "usage": usage} for n in range(3)]
    graph = Graph("g", start="w", end="out")
    graph.add("w", "agent", {"provider": "scripted", "answers": answers})
    graph.node(id="out")(lambda inp: "out")
    graph.edge("w", "w")
    graph.edge("w", "out", label="limit")
    graph.loop("w", max_rounds=3)
    played = play(graph)
    assert [e.data["tokens"] for e in played.of("loop:round_completed")] == [15, 15, 15]
    assert [e.data["input_tokens"] for e in played.of("token_usage")] == [10, 10, 10]
    assert (played.result.usage.tokens, played.result.usage.model_calls) == (45, 3)


async def test_edges_are_told_only_to_those_who_debug() -> None:
    async with Engine(db=None) as engine:
        session = await finished(engine, chain(saying(Graph("g"), "a", "b"), "a", "b"))
        plain = await collected(session.events())
        debug = await collected(session.events(debug=True))
    assert [e for e in debug if e.event != "edge_fired"] == plain
    (fired,) = [e for e in debug if e.event == "edge_fired"]
    assert fired.data == {"from": "a", "to": "b"}


def test_both_state_changes_of_a_loop_node_tell_how_it_decided() -> None:
    graph = saying(Graph("g", start="w", end="out"), "w", "out")
    graph.add("gate", "loop", {"max_rounds": 3})
    graph.edge("w", "gate")
    graph.edge("gate", "w", label="continue")
    graph.edge("gate", "out", label="exit")
    played = play(graph)
    changes = played.of("node_state_change", "gate")
    assert [e.data["status"] for e in changes] == ["running", "completed"] * 3
    decided = [
        (e.data["should_exit"], e.data["exit_reason"], e.data["current_round"])
        for e in changes
        if e.data["status"] == "completed"
    ]
    assert decided == [(False, "", 1), (False, "", 2), (True, "max_rounds_reached", 3)]


# Resuming


@settings(max_examples=15, deadline=None)
@given(rounds=st.integers(1, 3), data=st.data())
def test_resuming_after_any_event_gives_the_rest_without_gap_or_repeat(
    rounds: int, data: st.DataObject
) -> None:
    async def main() -> None:
        async with Engine(db=None) as engine:
            session = await finished(engine, looping(rounds))
            everything = await collected(session.events())
            for after in range(len(everything) + 1):
                rest = await collected(session.events(after=after))
                assert rest == everything[after:]

    limited(main())


async def test_a_watcher_that_comes_and_goes_while_it_runs_sees_everything_once() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(looping(20))
        seen: list[Event] = []
        over = False
        while not over:
            stream = session.events(after=len(seen))
            for _ in range(3):
                event = await anext(stream, None)
                if event is None:
                    over = True
                    break
                seen.append(event)
            await stream.aclose()  # type: ignore[attr-defined]
        assert seen == await collected(session.events())
        assert seen[-1].data["status"] == "completed"


async def test_resuming_past_the_end_of_a_finished_session_gives_nothing() -> None:
    async with Engine(db=None) as engine:
        session = await finished(engine, looping())
        assert await collected(session.events(after=10_000)) == []


# Watchers


async def test_several_watchers_see_the_same() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(looping(5))
        watchers = [asyncio.create_task(collected(session.events())) for _ in range(7)]
        late = asyncio.create_task(collected(session.events(after=9)))
        await session.result()
        seen = [await watcher for watcher in watchers]
        assert all(each == seen[0] for each in seen)
        assert await late == seen[0][9:]
        assert seen[0] == await collected(session.events())


async def test_a_watcher_that_starts_after_the_end_gets_everything() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(looping(5))
        watching = asyncio.create_task(collected(session.events()))
        await session.result()
        live = await watching
        assert await collected(session.events()) == live


async def test_a_slow_watcher_misses_nothing_durable_and_holds_nobody_up() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(looping(100))
        slow: list[Event] = []
        step = asyncio.Event()

        async def watch() -> None:
            async for event in session.events():
                slow.append(event)
                await step.wait()

        watching = asyncio.create_task(watch())
        result = await session.result()
        assert result.status == "completed"
        assert len(slow) <= 1
        step.set()
        await watching
        assert slow == await collected(session.events())
        assert len(slow) > 1000


async def test_breaking_off_leaks_no_task_and_no_watcher() -> None:
    async with Engine(db=None) as engine:
        graph = Graph("g")
        graph.add("h", "human")
        session = await engine.start(graph)
        await session.settled()
        for _ in range(20):
            async for event in session.events():
                assert event.seq == 1
                break
        gc.collect()
        await until(lambda: not others() and not session._local.audience.is_there)
        await session.answer("on")
        assert (await session.result()).status == "completed"


async def test_a_cancelled_watcher_leaks_nothing() -> None:
    async with Engine(db=None) as engine:
        graph = Graph("g")
        graph.add("h", "human")
        session = await engine.start(graph)
        await session.settled()
        watching = asyncio.create_task(collected(session.events()))
        await asyncio.sleep(0.01)
        watching.cancel()
        await asyncio.wait([watching])
        assert watching.cancelled()
        del watching
        gc.collect()
        await until(lambda: not others() and not session._local.audience.is_there)


async def test_a_watcher_may_use_the_controls() -> None:
    graph = Graph("g", start="h", end="out")
    graph.add("h", "human")
    graph.node(id="out")(lambda inp: inp.text)
    graph.edge("h", "h", when=lambda m: m.text != "done")
    graph.edge("h", "out", when=lambda m: m.text == "done")
    answers = ["one", "two", "done"]
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        async for event in session.events():
            if event.event == "human_input_required":
                await session.answer(answers.pop(0))
        assert (await session.result()).output == "done"


# Live events


async def test_tokens_come_between_running_and_completed_of_their_step() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(streaming(5))
        events = await collected(session.events())
    names = [(e.event, e.node_id, e.data.get("status") or e.data.get("chunk")) for e in events]
    begins = names.index(("node_state_change", "speaks", "running"))
    assert names[begins + 1 : begins + 7] == [
        *(("token_stream", "speaks", f"{n} ") for n in range(5)),
        ("node_state_change", "speaks", "completed"),
    ]
    tokens = [e for e in events if e.event == "token_stream"]
    assert all(e.seq is None and e.address == "speaks" for e in tokens)
    durable = [e.seq for e in events if e.seq is not None]
    assert durable == list(range(1, len(durable) + 1))


async def test_tokens_of_parallel_steps_stay_within_their_steps() -> None:
    graph = saying(Graph("g"), "s")
    names = ["x", "y", "z"]

    async def speaks(inp: Context) -> str:
        for number in range(10):
            inp.emit("token_stream", {"chunk": str(number), "agent": inp.node_id})
            await asyncio.sleep(0)
        return "said"

    for name in names:
        graph.node(id=name)(speaks)
        graph.edge("s", name)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        events = await collected(session.events())
    for name in names:
        own = [e for e in events if e.node_id == name]
        assert [e.event for e in own] == [
            "node_state_change",
            *["token_stream"] * 10,
            "node_state_change",
        ]
        assert [e.data["chunk"] for e in own[1:-1]] == [str(n) for n in range(10)]


async def test_tokens_are_live_only() -> None:
    async with Engine(db=None) as engine:
        session = await finished(engine, streaming(5))
        events = await collected(session.events())
        assert "token_stream" not in {e.event for e in events}


@pytest.mark.parametrize("over", [0, 1, 500])
async def test_a_lagging_watcher_loses_only_the_oldest_tokens_beyond_the_limit(over: int) -> None:
    chunks = stream.LIVE_LIMIT + over
    async with Engine(db=None) as engine:
        session = await engine.start(streaming(chunks))
        events = await collected(session.events())
    tokens = [e.data["chunk"] for e in events if e.event == "token_stream"]
    assert tokens == [f"{n} " for n in range(over, chunks)]
    durable = [e.seq for e in events if e.seq is not None]
    assert durable == list(range(1, len(durable) + 1))
    assert events[-1].data["status"] == "completed"


async def test_a_watcher_that_keeps_up_loses_no_token() -> None:
    chunks = stream.LIVE_LIMIT * 2

    async def speaks(inp: Context) -> str:
        for number in range(chunks):
            inp.emit("token_stream", {"chunk": str(number), "agent": "speaks"})
            if number % 100 == 0:
                await asyncio.sleep(0)
        return "said"

    graph = Graph("g")
    graph.node(speaks)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        events = await collected(session.events())
    assert len([e for e in events if e.event == "token_stream"]) == chunks


async def test_an_agent_streams_its_words() -> None:
    graph = Graph("g")
    answer = {"content": "one two three", "chunks": ["one ", "two ", "three"]}
    graph.add("w", "agent", {"provider": "scripted", "answers": [answer]})
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        events = await collected(session.events())
    chunks = [e.data for e in events if e.event == "token_stream"]
    assert chunks == [{"chunk": text, "agent": "w"} for text in ("one ", "two ", "three")]


# Addresses


def nested(inner: int = 2, outer: int = 2) -> Graph:
    """The inner loop's way out leads back to the outer head."""
    graph = saying(Graph("nested", start="O", end="E"), "O", "I", "E")
    graph.edge("O", "I")
    graph.edge("I", "I")
    graph.edge("I", "O", label="limit")
    graph.edge("O", "E", label="limit")
    graph.loop("I", max_rounds=inner)
    graph.loop("O", max_rounds=outer)
    return graph


def test_the_events_of_a_step_all_have_its_address() -> None:
    played = play(nested())
    told = defaultdict(list)
    for event in played.of("node_state_change"):
        told[event.address].append(event.data["status"])
    assert set(told) == {step.address for step in played.steps}
    assert all(states == ["running", "completed"] for states in told.values())


def test_the_events_of_a_round_all_have_its_address() -> None:
    played = play(nested())
    started = [event.address for event in played.of("loop:round_started")]
    completed = [event.address for event in played.of("loop:round_completed")]
    assert sorted(started) == sorted(completed)


async def test_the_rounds_of_nested_loops_can_be_listed() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(nested())
        await session.result()
        addresses = [record.address for record in session.rounds()]
        assert addresses == ["O[1]", "O[1]/I[1]", "O[1]/I[2]", "O[2]", "O[2]/I[1]", "O[2]/I[2]"]


def test_a_skipped_node_is_told_with_its_own_address() -> None:
    graph = saying(Graph("g", start="O", end="E"), "O", "A", "E")
    graph.node(id="I")(lambda inp: "x")
    graph.edge("O", "I")
    graph.edge("I", "A", when=lambda m: False)
    graph.edge("I", "I")
    graph.edge("A", "I")
    graph.edge("I", "O", label="limit")
    graph.edge("O", "E", label="limit")
    graph.loop("I", max_rounds=1)
    graph.loop("O", max_rounds=2)
    skipped = [e.address for e in play(graph).events if e.data.get("status") == "skipped"]
    assert skipped == ["O[1]/I[1]/A", "O[2]/I[1]/A"]


def test_nothing_happens_after_the_session_is_over() -> None:
    graph = saying(Graph("g", start="S", end="Z"), "S", "A", "B", "Z")
    graph.edge("S", "A")
    graph.edge("S", "B")
    chain(graph, "A", "B", "A")
    graph.edge("S", "Z")
    played = play(graph)
    assert played.result.reason == "two_entries"
    assert played.events[-1].event == "session_state_change"
    assert played.times == {"S": 1}


def test_a_report_cannot_change_what_the_event_says_of_the_step() -> None:
    graph = alone(lambda inp: Emit([Message("x")], report={"status": "weird"}))
    states = [e.data["status"] for e in play(graph).of("node_state_change")]
    assert states == ["running", "completed"]


async def test_tokens_of_a_blocking_node_arrive_while_it_runs() -> None:
    """`emit` is called in the node's thread, the event loop must be woken from there."""

    release = threading.Event()

    def speaks(inp: Context) -> str:
        time.sleep(0.05)
        inp.emit("token_stream", {"chunk": "now", "agent": "speaks"})
        release.wait(60)
        return "said"

    graph = Graph("g")
    graph.node(id="speaks", blocking=True)(speaks)
    try:
        async with Engine(db=None) as engine:
            session = await engine.start(graph)
            async for event in session.events():
                if event.event == "token_stream":
                    break
    finally:
        release.set()
