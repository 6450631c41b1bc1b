"""Stop, pause, resume, close: each takes effect, each twice as once, each refused in time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Context, Engine, Graph, Outcome, RondelError, Session
from rondel.engine.protocols import Handler, Lock
from rondel.errors import CallError, Disconnected, WrongState
from tests.unit.sessions.playing import alone, chain, limited, others, saying, until


class Long:
    """A node that never ends by itself, and says what became of it."""

    def __init__(self) -> None:
        self.started = 0
        self.cleaned = 0

    async def __call__(self, inp: Context) -> str:
        self.started += 1
        try:
            await asyncio.sleep(600)
        finally:
            self.cleaned += 1
        return "never"


def in_place(long: Long) -> Graph:
    graph = saying(Graph("g"), "s")
    graph.node(id="long")(long)
    graph.edge("s", "long")
    return graph


def in_parallel(*longs: Long) -> Graph:
    graph = saying(Graph("g"), "s")
    for number, long in enumerate(longs):
        graph.node(id=f"long{number}")(long)
        graph.edge("s", f"long{number}")
    return graph


# Stop


async def test_stop_cancels_the_step_under_way() -> None:
    long = Long()
    async with Engine(db=None) as engine:
        session = await engine.start(in_place(long))
        await until(lambda: long.started == 1)
        await session.stop()
        assert (await session.result()).status == "cancelled"
        await until(lambda: long.cleaned == 1)
        await session.settled()
        assert not others()


async def test_stop_cancels_every_parallel_branch() -> None:
    longs = [Long() for _ in range(5)]
    async with Engine(db=None) as engine:
        session = await engine.start(in_parallel(*longs))
        await until(lambda: all(long.started for long in longs))
        await session.stop()
        await until(lambda: all(long.cleaned for long in longs))
        result = await session.settled()
        assert (result.status, result.reason) == ("cancelled", "stopped")
        assert not others()


async def test_stop_is_idempotent_also_at_once() -> None:
    long = Long()
    async with Engine(db=None) as engine:
        session = await engine.start(in_place(long))
        await until(lambda: long.started == 1)
        await asyncio.gather(session.stop(), session.stop(), session.stop())
        await session.stop()
        await session.settled()
        states = [
            e.data["status"] async for e in session.events() if e.event == "session_state_change"
        ]
        assert states == ["running", "cancelled"]


async def test_stop_says_who_stopped_it_and_ends_the_loops() -> None:
    long = Long()
    graph = Graph("g", start="head", end="head")
    graph.node(id="head")(lambda inp: "x")
    graph.node(id="long")(long)
    chain(graph, "head", "long", "head")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await until(lambda: long.started == 1)
        await session.stop(by="Ada")
        result = await session.result()
        assert result.message == "stopped by Ada"
        assert [(loop.loop, loop.exit_reason) for loop in result.loops] == [("head", "cancelled")]
        exits = [e.data async for e in session.events() if e.event == "loop:exited"]
        assert [e["exit_reason"] for e in exits] == ["cancelled"]


async def test_a_session_stopped_before_its_first_step_runs_nothing() -> None:
    long = Long()
    graph = Graph("g")
    graph.node(id="long")(long)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.stop()
        assert (await session.settled()).status == "cancelled"
        await asyncio.sleep(0.01)
        assert long.started == 0


async def test_a_node_may_stop_its_own_session() -> None:
    sessions: list[Session] = []
    after = []

    async def suicidal(inp: Context) -> str:
        await sessions[0].stop(by="itself")
        await asyncio.sleep(600)
        return "never"

    graph = saying(Graph("g"), "after")
    graph.node(id="suicidal")(suicidal)
    graph.node(id="watch")(lambda inp: after.append(1))
    chain(graph, "suicidal", "after", "watch")
    async with Engine(db=None) as engine:
        sessions.append(await engine.start(graph))
        assert (await sessions[0].settled()).status == "cancelled"
    assert after == []


async def test_a_step_that_will_not_be_cancelled_does_not_keep_the_result_back() -> None:
    release = asyncio.Event()
    started = asyncio.Event()

    async def stubborn(inp: Context) -> str:
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "too late"

    graph = Graph("g")
    graph.node(id="stubborn")(stubborn)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await started.wait()
        await session.stop()
        result = await session.result()
        assert (result.status, result.output) == ("cancelled", None)
        release.set()
        result = await session.settled()
        assert (result.status, result.output) == ("cancelled", None)


async def test_stopping_a_paused_session_ends_it() -> None:
    graph = chain(saying(Graph("g"), "a", "b"), "a", "b")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.pause()
        await session.settled()
        await session.stop()
        assert (await session.result()).status == "cancelled"


async def test_a_blocking_function_does_not_keep_stop_waiting() -> None:
    entered, release = threading.Event(), threading.Event()

    def blocks(inp: Context) -> str:
        entered.set()
        release.wait(100)
        return "done"

    graph = Graph("g")
    graph.node(id="blocks", blocking=True)(blocks)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await until(entered.is_set)
        await session.stop()
        try:
            assert (await session.settled()).status == "cancelled"
            assert not release.is_set()
        finally:
            release.set()


# Pause and resume


class Gate:
    """Nodes that wait until they are let through, and say when they start."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self._open: dict[str, asyncio.Event] = {}

    def node(self, graph: Graph, name: str) -> None:
        async def waits(inp: Context) -> str:
            self.started.append(name)
            await self._gate(name).wait()
            return name

        graph.node(id=name)(waits)

    def _gate(self, name: str) -> asyncio.Event:
        return self._open.setdefault(name, asyncio.Event())

    def open(self, *names: str) -> None:
        for name in names:
            self._gate(name).set()


async def settle() -> None:
    """Let everything that can happen happen."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_pause_lets_the_step_under_way_finish_and_starts_no_other() -> None:
    gate = Gate()
    graph = Graph("g")
    for name in ("a", "b"):
        gate.node(graph, name)
    graph.edge("a", "b")
    gate.open("b")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await until(lambda: gate.started == ["a"])
        await session.pause()
        assert session.status == "paused"
        gate.open("a")
        await settle()
        assert gate.started == ["a"]
        assert [(step.node_id, step.status) for step in session.steps()] == [("a", "completed")]
        assert (await session.settled()).status == "paused"
        assert not others()
        await session.resume()
        assert (await session.settled()).output == "b"
        told = [(e.node_id, e.data["status"]) async for e in session.events()]
        assert told == [
            *((None, "running"), ("a", "running"), (None, "paused"), ("a", "completed")),
            *((None, "running"), ("b", "running"), ("b", "completed"), (None, "completed")),
        ]


async def test_a_pause_with_parallel_branches_lets_both_finish() -> None:
    gate = Gate()
    graph = saying(Graph("g", end="e"), "s")
    for name in ("a", "b", "e"):
        gate.node(graph, name)
    chain(graph, "s", "a", "e")
    chain(graph, "s", "b", "e")
    gate.open("e")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await until(lambda: sorted(gate.started) == ["a", "b"])
        await session.pause()
        gate.open("a", "b")
        await settle()
        assert sorted(gate.started) == ["a", "b"]
        await session.resume()
        assert (await session.settled()).status == "completed"
        assert gate.started[-1] == "e"


async def test_pause_and_resume_are_idempotent() -> None:
    gate = Gate()
    graph = Graph("g")
    gate.node(graph, "a")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.resume()
        for _ in range(3):
            await session.pause()
            await session.pause()
            await session.resume()
            await session.resume()
        gate.open("a")
        assert (await session.settled()).output == "a"
        states = [
            e.data["status"] async for e in session.events() if e.event == "session_state_change"
        ]
        assert states == ["running", *["paused", "running"] * 3, "completed"]


async def test_a_session_paused_at_once_starts_when_it_is_resumed() -> None:
    ran = []
    graph = Graph("g")
    graph.node(id="a")(lambda inp: ran.append(1) or "done")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.pause()
        await settle()
        assert ran == []
        await session.resume()
        assert (await session.settled()).output == "done"


async def test_result_waits_through_a_pause() -> None:
    graph = chain(saying(Graph("g"), "a", "b"), "a", "b")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await session.pause()
        waiting = asyncio.create_task(session.result())
        await settle()
        assert not waiting.done()
        await session.resume()
        assert (await waiting).output == "b"


async def test_a_pause_in_a_loop_loses_no_round() -> None:
    rounds = []

    async def head(inp: Context) -> str:
        rounds.append(inp.round)
        await asyncio.sleep(0)
        return "again"

    graph = saying(Graph("g", start="head", end="out"), "out")
    graph.node(head)
    graph.edge("head", "head")
    graph.edge("head", "out", label="limit")
    graph.loop("head", max_rounds=30)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        while session.status == "running":
            await session.pause()
            await settle()
            if session.status == "completed":
                break
            assert session.status == "paused"
            before = len(rounds)
            await settle()
            assert len(rounds) == before
            await session.resume()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert (await session.settled()).status == "completed"
    assert rounds == list(range(1, 31))


# The wrong state


async def completed(engine: Engine) -> Session:
    session = await engine.start(saying(Graph("g"), "a"))
    await session.result()
    return session


async def failed(engine: Engine) -> Session:
    graph = Graph("g")
    graph.node(id="a")(lambda inp: 1 / 0)
    session = await engine.start(graph)
    await session.result()
    return session


async def cancelled(engine: Engine) -> Session:
    session = await engine.start(saying(Graph("g"), "a"))
    await session.stop()
    return session


async def running(engine: Engine) -> Session:
    return await engine.start(in_place(Long()))


CONTROLS: dict[str, Callable[[Session], Awaitable[None]]] = {
    "pause": lambda session: session.pause(),
    "resume": lambda session: session.resume(),
    "stop": lambda session: session.stop(),
    "answer": lambda session: session.answer("text"),
}


@pytest.mark.parametrize(
    ("state", "control"),
    [
        *((completed, control) for control in CONTROLS if control != "resume"),
        *((failed, control) for control in CONTROLS if control != "resume"),
        *((cancelled, control) for control in CONTROLS if control not in ("stop", "resume")),
        (running, "answer"),
    ],
)
async def test_a_control_in_the_wrong_state_is_refused_with_a_sentence(
    state: Callable[[Engine], Awaitable[Session]], control: str
) -> None:
    async with Engine(db=None) as engine:
        session = await state(engine)
        before = session.status
        with pytest.raises(WrongState) as caught:
            await CONTROLS[control](session)
        text = str(caught.value)
        assert session.id in text
        assert before in text
        assert "\n" not in text
        assert session.status == before


class Locks:
    """Middleware that lets nothing through until it is told to."""

    def __init__(self) -> None:
        self.locked = True

    async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
        return Lock("TIMEOUT", "too long", {"seconds": 7}) if self.locked else await call(ctx)


@pytest.mark.parametrize("control", ["resume", "pause", "answer"])
async def test_a_locked_session_refuses_what_would_not_open_it(control: str) -> None:
    async with Engine(db=None, middleware=[Locks()]) as engine:
        session = await engine.start(saying(Graph("g"), "a"))
        assert (await session.settled()).status == "suspended_locked"
        with pytest.raises(WrongState, match="lock"):
            await CONTROLS[control](session)
        assert session.status == "suspended_locked"


@pytest.mark.parametrize(
    "wrong", [{}, {"risk_justification": "  "}, {"safety_checks": [True, True]}]
)
async def test_an_unlock_without_a_reason_is_refused(wrong: dict[str, Any]) -> None:
    async with Engine(db=None, middleware=[Locks()]) as engine:
        session = await engine.start(saying(Graph("g"), "a"))
        await session.settled()
        with pytest.raises(CallError):
            await session.unlock(**wrong)
        assert session.status == "suspended_locked"


@pytest.mark.parametrize(
    "why", [{"risk_justification": "looked at it"}, {"safety_checks": [True, True, True]}]
)
async def test_an_unlocked_session_goes_on_at_the_very_step(why: dict[str, Any]) -> None:
    guard = Locks()
    graph = chain(saying(Graph("g"), "a", "b"), "a", "b")
    async with Engine(db=None, middleware=[guard]) as engine:
        session = await engine.start(graph)
        await session.settled()
        guard.locked = False
        await session.unlock(**why, by="Ada")
        assert (await session.settled()).output == "b"
        assert [step.node_id for step in session.steps()] == ["a", "b"]
        names = [event.event async for event in session.events()]
        assert names.count("circuit_breaker:tripped") == 1
        assert names.count("circuit_breaker:unlocked") == 1


# Close


async def test_closing_the_engine_leaves_no_task_and_result_says_so() -> None:
    longs = [Long() for _ in range(3)]
    engine = Engine(db=None)
    alone = await engine.start(in_place(longs[0]))
    beside = await engine.start(in_parallel(*longs[1:]))
    await until(lambda: all(long.started for long in longs))
    waiting = [asyncio.create_task(s.result()) for s in (alone, beside)]
    settling = asyncio.create_task(alone.settled())
    await settle()
    await engine.close()
    assert [long.cleaned for long in longs] == [1, 1, 1]
    for task in (*waiting, settling):
        with pytest.raises(Disconnected):
            await task
    assert not others()
    for session in (alone, beside):
        assert session.status == "running"
        with pytest.raises(Disconnected):
            await session.result()


@pytest.mark.parametrize("control", CONTROLS)
async def test_a_closed_session_takes_no_control(control: str) -> None:
    engine = Engine(db=None)
    session = await running(engine)
    await engine.close()
    with pytest.raises(Disconnected):
        await CONTROLS[control](session)
    assert not others()


async def test_a_session_that_was_over_keeps_its_result_when_the_engine_is_closed() -> None:
    async with Engine(db=None) as engine:
        session = await completed(engine)
    assert (await session.result()).output == "a"
    assert len(session.steps()) == 1
    assert [e.seq async for e in session.events()] == [1, 2, 3, 4]


async def test_a_watcher_of_a_closed_engine_is_told_and_does_not_hang() -> None:
    long = Long()
    engine = Engine(db=None)
    session = await engine.start(in_place(long))
    seen = []

    async def watch() -> None:
        async for event in session.events():
            seen.append(event.seq)

    watching = asyncio.create_task(watch())
    await until(lambda: long.started == 1)
    await settle()
    await engine.close()
    with pytest.raises(Disconnected):
        await watching
    assert seen == list(range(1, len(seen) + 1))
    assert not others()


async def test_closing_twice_is_fine_and_closing_waits_for_the_cleanup() -> None:
    done = []

    async def tidy(inp: Context) -> None:
        try:
            await asyncio.sleep(600)
        finally:
            await asyncio.sleep(0.02)
            done.append(1)

    graph = Graph("g")
    graph.node(id="tidy")(tidy)
    engine = Engine(db=None)
    session = await engine.start(graph)
    await until(lambda: session.status == "running")
    await settle()
    await engine.close()
    assert done == [1]
    await engine.close()


async def test_closing_a_waiting_session_is_no_answer() -> None:
    graph = Graph("g")
    graph.add("h", "human")
    engine = Engine(db=None)
    session = await engine.start(graph)
    await session.settled()
    await engine.close()
    assert session.status == "waiting"
    with pytest.raises(Disconnected):
        await session.answer("late")
    assert session.status == "waiting"


async def test_who_waits_for_a_session_of_a_closed_engine_with_a_file_is_told_so(
    tmp_path: Path,
) -> None:
    long = Long()
    async with Engine(db=tmp_path / "x.db") as engine:
        session = await engine.start(in_place(long))
        waiting = asyncio.create_task(session.result())
        await until(lambda: long.started == 1)
        await settle()
    with pytest.raises(Disconnected):
        await waiting
    assert long.cleaned == 1


async def controlled_after_the_first_step(control: str) -> tuple[list[str], Session]:
    """A sync step of 20 ms, then a long one; the control comes with the first one's last event."""
    log: list[str] = []
    graph = Graph("g")

    @graph.node
    def first(inp: Context) -> str:
        time.sleep(0.02)
        return "x"

    @graph.node
    async def second(inp: Context) -> str:
        log.append("second started")
        await asyncio.sleep(0.3)
        log.append("second ended")
        return "y"

    graph.edge("first", "second")
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        async for event in session.events():
            if event.node_id == "first" and event.data.get("status") == "completed":
                await getattr(session, control)()
                log.append(control)
                break
        await session.settled()
        return log, session


@pytest.mark.parametrize("control", ["stop", "pause"])
def test_no_step_starts_once_a_control_has_returned(control: str) -> None:
    log, _ = limited(controlled_after_the_first_step(control))
    assert log == [control]


async def test_the_result_of_a_finished_session_outlives_its_engine(tmp_path: Path) -> None:
    async with Engine(db=tmp_path / "x.db") as engine:
        session = await engine.start(saying(Graph("g"), "a"))
        await session.result()
    assert session.status == "completed"
    assert session.id in repr(session)
    assert (await session.result()).output == "a"


async def test_settled_tells_what_became_of_a_finished_session_after_the_close_too() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(saying(Graph("g"), "a"))
        await session.result()
    assert (await session.settled()).output == "a"


async def test_a_stopped_step_is_not_running_any_more() -> None:
    started = asyncio.Event()

    async def long(inp: Context) -> None:
        started.set()
        await asyncio.sleep(600)

    async with Engine(db=None) as engine:
        session = await engine.start(alone(long))
        await started.wait()
        await session.stop()
        await session.settled()
        assert [step.status for step in session.steps()] != ["running"]


async def test_a_closed_engine_starts_nothing() -> None:
    engine = Engine(db=None)
    await engine.close()
    with pytest.raises(RondelError, match="closed"):
        await engine.start(saying(Graph("g"), "a"))


# Any controls in any order


class Storm:
    """Two people, a loop and some work; every step counts its executions."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        graph = Graph("storm", start="head", end="out")

        async def work(inp: Context) -> str:
            self.ran[inp.address] += 1
            for _ in range(len(inp.address) % 4):
                await asyncio.sleep(0)
            return inp.node_id

        for name in ("head", "left", "right", "join", "out"):
            graph.node(id=name)(work)
        for human, after in (("h1", "left"), ("h2", "right")):
            graph.add(human, "human")
            chain(graph, "head", human, after, "join")
        graph.edge("join", "head")
        graph.edge("join", "out", label="limit")
        graph.loop("head", max_rounds=2)
        self.graph = graph

    async def run(self, db: Any, controls: list[str]) -> None:
        """Do all that is asked, refusals or not, then bring the session to its end."""
        async with Engine(db=db) as engine:
            session = await engine.start(self.graph)
            for control in controls:
                with suppress(WrongState):
                    await self._do(session, control)
            if session.status not in ("completed", "cancelled"):
                await session.resume()
            while (result := await session.settled()).status == "waiting":
                await session.answer("at last")
            assert result.status in ("completed", "cancelled")
            stopped = result.status == "cancelled"
            assert stopped or result.output == "out", result
            assert set(self.ran.values()) <= {1}
            steps = session.steps()
            assert len({step.address for step in steps}) == len(steps)
            events = [event async for event in session.events()]
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert stopped or len(self.ran) == 9
            assert not others()

    async def _do(self, session: Session, control: str) -> None:
        match control.split():
            case ["answer"]:
                await session.answer("text")
            case ["answer", node]:
                await session.answer("text", node=node)
            case ["turn"]:
                await asyncio.sleep(0)
            case ["settle"]:
                await session.settled()
            case [name]:
                await getattr(session, name)()


STORMS = st.lists(
    st.sampled_from(
        ["pause", "resume", "answer", "answer h1", "answer h2", "answer head", "turn", "settle"]
    ),
    max_size=14,
).flatmap(lambda some: st.sampled_from([some, some, some, [*some, "stop"]]))


@settings(max_examples=80, deadline=None)
@given(controls=STORMS)
def test_whatever_is_asked_in_whatever_order_every_step_runs_once(controls: list[str]) -> None:
    limited(Storm().run(None, controls))
