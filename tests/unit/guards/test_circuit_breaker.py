"""The circuit breaker: what trips it, that the lock holds, and that a session goes on after it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Context, Engine, Event, Graph, Session
from rondel.engine import ticks
from rondel.errors import CallError, WrongState
from rondel.journal.memory import MemoryStore
from rondel.journal.store import SessionRow
from rondel.sessions.records import Result
from tests.clock import Clock
from tests.unit.engine.refining import tokens, with_breaker
from tests.unit.sessions.playing import limited, play, told, until

SAME = "I will try the very same approach once more."
FRESH = [
    "The harbour was quiet that morning, and gulls circled above the nets.",
    "Nobody had expected that the committee would vote against its own proposal.",
    "Add two cups of flour, one egg, and fold the butter in slowly.",
    "Prime numbers thin out, yet there is always another one further along.",
    "Her violin case held letters instead of an instrument, tied with ribbon.",
    "Each night the lighthouse keeper writes down which ships went past.",
]


def talking(answers: list[Any], rounds: int | None = None, breaker: Any = None) -> Graph:
    """An agent who talks to itself: these answers, the last one repeated."""
    body: dict[str, Any] = {
        "id": "talking",
        "start": "Writer",
        "nodes": [
            {
                "id": "Writer",
                "type": "agent",
                "config": {"provider": "scripted", "answers": answers},
            },
            {"id": "Done", "type": "passthrough"},
        ],
        "edges": [
            {"from": "Writer", "to": "Writer"},
            {"from": "Writer", "to": "Done", "condition": False},
        ],
        "loops": {"Writer": {"max_rounds": rounds or len(answers)}},
    }
    if breaker is not None:
        body["breaker"] = breaker
    return Graph.from_document({"graph": body})


async def started(engine: Engine, graph: Graph) -> tuple[Session, Result]:
    session = await engine.start(graph)
    return session, await session.settled()


def tick_of(session: Session, kind: type[Any]) -> list[Any]:
    return [tick for tick in session.journal() if isinstance(tick, kind)]


async def events_until_now(session: Session) -> list[Event]:
    """All events so far; the session is stopped for it."""
    await session.stop()
    return await told(session)


def cut(session: Session, length: int) -> MemoryStore:
    """A store in which the process died after so many ticks of the session."""
    row, store = session.row, MemoryStore()
    store.create(
        SessionRow(
            id=row.id,
            graph_id=row.graph_id,
            document=row.document,
            includes=row.includes,
            inputs=row.inputs,
            labels=row.labels,
        )
    )
    for tick in session.journal()[:length]:
        store.append(row.id, tick)
    store.set_status(row.id, "running", "")
    return store


# Repetition


async def test_an_agent_that_repeats_itself_in_a_loop_trips_the_breaker() -> None:
    async with Engine(db=None) as engine:
        session, result = await started(engine, talking([SAME], rounds=20))
        assert (result.status, result.reason) == ("suspended_locked", "LOOP_DETECTED")
        assert result.usage.model_calls == 4
        (lock,) = tick_of(session, ticks.Locked)
        where = {"node": "Writer", "address": "Writer[4]/Writer"}
        assert lock.figures == {**where, "repeats": 4}
        assert lock.message == "'Writer' has said the same 4 times in a row"
        events = await events_until_now(session)
        (tripped,) = [e for e in events if e.event == "circuit_breaker:tripped"]
        assert tripped.data["reason"] == "LOOP_DETECTED"
        assert tripped.data["message"] == lock.message
        assert tripped.data["repeats"] == 4


@settings(max_examples=60, deadline=None)
@given(
    said=st.lists(st.sampled_from([SAME, *FRESH]), min_size=1, max_size=12),
    window=st.integers(1, 4),
    least=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_low_novelty_locks_where_that_is_set_and_only_then(
    said: list[str], window: int, least: float
) -> None:
    async def main() -> tuple[Result, list[float]]:
        breaker = {"window": window, "min_entropy": least, "repeats": 99}
        breaker["on_low_novelty"] = "lock"
        async with Engine(db=None) as engine:
            session, result = await started(engine, talking(said, breaker=breaker))
            done = [t for t in tick_of(session, ticks.Finished) if t.usage]
            return result, [t.entropy for t in done]

    result, entropies = limited(main())
    means = [
        sum(entropies[end - window : end]) / window for end in range(window, len(entropies) + 1)
    ]
    low = [mean < least for mean in means]
    if result.status == "suspended_locked":
        assert result.reason == "LOOP_DETECTED"
        assert low[-1]
        assert not any(low[:-1])
    else:
        assert len(entropies) == len(said)
        assert not any(low[:-1]), "only the last output of all may come too late to lock anything"


def test_an_agent_that_says_something_new_trips_nothing() -> None:
    played = play(talking(FRESH))
    assert played.result.status == "completed"
    assert played.of("circuit_breaker:warning") == []


async def test_low_novelty_is_a_warning_once_and_no_lock() -> None:
    async with Engine(db=None) as engine:
        answers = [long_text(changed) for changed in range(8)]
        session, result = await started(engine, talking(answers))
        assert result.status == "completed"
        events = await told(session)
        (warning,) = [e for e in events if e.event == "circuit_breaker:warning"]
        assert (warning.node_id, warning.address) == ("Writer", "Writer[4]/Writer")
        assert warning.data["reason"] == "LOOP_DETECTED"
        assert warning.data["entropy"] < warning.data["min_entropy"] == 0.1
        assert warning.data["message"] == (
            "the last 3 outputs of 'Writer' said hardly anything new "
            f"(novelty {warning.data['entropy']:.2f}, less than 0.1)"
        )


def long_text(changed: int) -> str:
    """A hundred sentences, of which one has another word."""
    return " ".join(
        f"Sentence number {n} is about the {'moon' if n == changed else 'sun'}." for n in range(100)
    )


def test_a_node_with_its_breaker_off_is_neither_warned_of_nor_locked() -> None:
    graph = talking([SAME], rounds=20)
    graph.document["graph"]["nodes"][0]["breaker"] = "off"
    played = play(Graph.from_document(graph.document))
    assert played.result.status == "completed"
    assert played.of("circuit_breaker:warning") == []


async def test_how_often_is_too_often_can_be_set() -> None:
    async with Engine(db=None) as engine:
        _, result = await started(engine, talking([SAME], 20, {"repeats": 7}))
        assert (result.reason, result.usage.model_calls) == ("LOOP_DETECTED", 7)


async def test_the_round_is_finished_before_it_locks_and_the_next_does_not_begin() -> None:
    """A loop that ends in the very round is none that goes on."""
    graph = Graph("fixing", end=["done"])
    graph.add("fixer", "agent", {"provider": "scripted", "answers": [SAME]})
    graph.add("tests", "literal", {"content": "1 test failed"})
    graph.add("done", "passthrough")
    graph.edge("fixer", "tests")
    graph.edge("tests", "fixer")
    graph.edge("tests", "done", when=False)
    graph.loop("fixer", max_rounds=20)

    async with Engine(db=None) as engine:
        session, result = await started(engine, graph)
        assert (result.reason, result.usage.model_calls) == ("LOOP_DETECTED", 4)
        assert [s.address for s in session.steps()][-2:] == ["fixer[4]/tests", "fixer[5]/fixer"]


@pytest.mark.parametrize("length", range(1, 9))
async def test_a_process_that_dies_anywhere_leaves_the_lock_to_the_next(length: int) -> None:
    graph = talking([SAME, FRESH[0]] * 10, rounds=20)

    async with Engine(db=None) as engine:
        session, result = await started(engine, graph)
        assert (result.reason, result.usage.model_calls) == ("LOOP_DETECTED", 6)
        assert [type(t) for t in session.journal()[8:]] == [ticks.Locked]
        store = cut(session, length)
    async with Engine(db=store) as engine:
        again = await engine.resume(session.id)
        result = await again.settled()
        assert (result.reason, result.usage.model_calls) == ("LOOP_DETECTED", 6)
        assert len(tick_of(again, ticks.Locked)) == 1


def test_what_no_model_wrote_does_not_count() -> None:
    graph = Graph("speechless")
    graph.add("literal", "literal", {"content": SAME})
    graph.node(id="function")(lambda _inp: SAME)
    graph.add("human", "human", {"description": "?"})
    graph.add("pass", "passthrough")
    graph.add("done", "passthrough")
    for source, target in (("literal", "function"), ("function", "human"), ("human", "pass")):
        graph.edge(source, target)
    graph.edge("pass", "literal")
    graph.edge("pass", "done", when=False)
    graph.loop("literal", max_rounds=6)
    assert play(graph, answers=[SAME] * 6).result.status == "completed"


async def test_outside_loops_nothing_is_measured() -> None:
    graph = Graph("line")
    for number in range(5):
        graph.add(f"a{number}", "agent", {"provider": "scripted", "answers": [SAME]})
    for number in range(4):
        graph.edge(f"a{number}", f"a{number + 1}")

    async with Engine(db=None) as engine:
        session, result = await started(engine, graph)
        assert result.status == "completed"
        assert {t.entropy for t in tick_of(session, ticks.Finished)} == {None}


def test_two_agents_who_say_the_same_once_each_do_not_repeat_themselves() -> None:
    graph = Graph("two")
    graph.add("a", "agent", {"provider": "scripted", "answers": FRESH})
    graph.add("b", "agent", {"provider": "scripted", "answers": FRESH})
    graph.add("done", "passthrough")
    graph.edge("a", "b")
    graph.edge("b", "a")
    graph.edge("b", "done", when=False)
    graph.loop("a", max_rounds=len(FRESH))
    assert play(graph).result.status == "completed"


async def test_a_loop_in_a_subgraph_is_watched_too() -> None:
    inner = talking([SAME], rounds=20).document["graph"]
    graph = Graph.from_document(
        {
            "graph": {
                "id": "around",
                "nodes": [{"id": "S", "type": "subgraph", "config": {"graph": inner}}],
            }
        }
    )

    async with Engine(db=None) as engine:
        session, result = await started(engine, graph)
        assert result.reason == "LOOP_DETECTED"
        (lock,) = tick_of(session, ticks.Locked)
        assert (lock.figures["node"], lock.figures["address"]) == (
            "S/Writer",
            "S/Writer[4]/Writer",
        )


def test_a_new_entry_of_a_loop_begins_with_a_clean_record() -> None:
    """Three times the same in one entry, and again in the next: no four in a row in any."""
    graph = Graph("entries")
    graph.add("first", "agent", {"provider": "scripted", "answers": [SAME]})
    graph.add("second", "agent", {"provider": "scripted", "answers": [SAME]})
    graph.add("done", "passthrough")
    graph.edge("first", "first")
    graph.edge("first", "second", when=False)
    graph.edge("second", "second")
    graph.edge("second", "done", when=False)
    graph.loop("first", max_rounds=3)
    graph.loop("second", max_rounds=3)
    assert play(graph).result.status == "completed"


def test_an_inner_loop_begins_with_a_clean_record_at_every_entry() -> None:
    graph = Graph("nested")
    graph.node(id="outer")(lambda inp: f"outer {inp.round}")
    graph.add("inner", "agent", {"provider": "scripted", "answers": [SAME]})
    graph.add("gate", "passthrough")
    graph.add("done", "passthrough")
    graph.edge("outer", "inner")
    graph.edge("inner", "inner")
    graph.edge("inner", "gate", when=False)
    graph.edge("gate", "outer")
    graph.edge("gate", "done", when=False)
    graph.loop("outer", max_rounds=10)
    graph.loop("inner", max_rounds=3)
    assert play(graph).result.status == "completed"


# Tokens


def spending(*prices: int) -> list[Any]:
    return [
        {"content": text, "usage": {"input_tokens": price}}
        for text, price in zip(FRESH, prices, strict=False)
    ]


@pytest.mark.parametrize(
    ("prices", "calls"), [((100, 100, 100, 1, 1), 4), ((301, 1), 1), ((100, 200, 1, 1), 3)]
)
async def test_it_trips_when_more_than_so_many_times_the_estimate_is_used(
    prices: tuple[int, ...], calls: int
) -> None:
    graph = talking(spending(*prices), breaker={"estimated_tokens": 100})
    async with Engine(db=None) as engine:
        session, result = await started(engine, graph)
        assert (result.status, result.reason) == ("suspended_locked", "TOKEN_SURGE")
        assert result.usage.model_calls == calls
        (lock,) = tick_of(session, ticks.Locked)
        assert lock.figures["tokens"] == sum(prices[:calls])
        assert lock.figures["allowed"] == 300


def test_exactly_so_many_times_the_estimate_is_allowed_and_warned_of() -> None:
    played = play(talking(spending(100, 100, 50, 50), breaker={"estimated_tokens": 100}))
    assert played.result.status == "completed"
    (warning,) = played.of("circuit_breaker:warning")
    assert (warning.data["reason"], warning.data["tokens"]) == ("TOKEN_SURGE", 250)


async def test_tokens_are_watched_outside_loops_too() -> None:
    graph = Graph("line")
    for number, text in enumerate(FRESH[:3]):
        answers = [{"content": text, "usage": {"input_tokens": 100}}]
        graph.add(f"a{number}", "agent", {"provider": "scripted", "answers": answers})
    graph.edge("a0", "a1")
    graph.edge("a1", "a2")
    with_breaker(graph, {"estimated_tokens": 50, "token_factor": 3})

    async with Engine(db=None) as engine:
        session, result = await started(engine, graph)
        assert (result.reason, result.usage.tokens) == ("TOKEN_SURGE", 200)
        assert [s.status for s in session.steps()] == ["completed", "completed", "running"]


async def test_what_a_failed_step_spent_counts() -> None:
    failed = asyncio.Event()

    async def fails(inp: Context) -> str:
        inp.charge(tokens(1000))
        failed.set()
        raise ValueError("spent for nothing")

    async def goes_on(_inp: Context) -> str:
        await failed.wait()
        return "b"

    graph = Graph("fails")
    graph.node(id="a", on_error="continue")(fails)
    graph.node(id="b")(goes_on)
    graph.document["graph"]["start"] = ["a", "b"]
    graph.node(id="c")(lambda _inp: "c")
    graph.edge("b", "c")
    with_breaker(graph, {"estimated_tokens": 1})

    async with Engine(db=None) as engine:
        _, result = await started(engine, graph)
        assert result.reason == "TOKEN_SURGE"


class Parts:
    """A node of ten durable parts, each a call."""

    def __init__(self) -> None:
        self.made: list[int] = []

    async def __call__(self, inp: Context) -> str:
        for number in range(10):
            await inp.substep(f"part {number}", lambda number=number: self._call(inp, number))
        return "all parts"

    async def _call(self, inp: Context, number: int) -> int:
        self.made.append(number)
        inp.charge(tokens(100))
        return number


@pytest.mark.parametrize("beside", [False, True])
async def test_a_long_step_stops_between_its_parts_and_goes_on_there(beside: bool) -> None:
    parts = Parts()
    graph = Graph("parts", end=["talk"])
    graph.node(id="talk")(parts)
    if beside:
        graph.node(id="other")(lambda _inp: "other")
    with_breaker(graph, {"estimated_tokens": 100})

    async with Engine(db=None) as engine:
        session, result = await started(engine, graph)
        assert (result.status, result.reason) == ("suspended_locked", "TOKEN_SURGE")
        assert parts.made == [0, 1, 2, 3]
        await session.unlock("fine")
        assert (await session.settled()).status == "suspended_locked"
        assert parts.made == [*range(8)]
        await session.unlock("fine")
        result = await session.settled()
        assert (result.status, result.output) == ("completed", "all parts")
        assert parts.made == [*range(10)]
        assert result.usage.tokens == 1000


@pytest.mark.parametrize("beside", [False, True])
async def test_what_finished_under_the_lock_does_not_lock_again(beside: bool) -> None:
    async def work(inp: Context) -> str:
        for number in range(4):
            await inp.substep(f"part {number}", lambda: call(inp))
        return FRESH[inp.round]

    async def call(inp: Context) -> int:
        inp.charge(tokens(100))
        return 100

    graph = Graph("parts", end=["done"])
    graph.node(id="talk")(work)
    graph.add("done", "passthrough")
    graph.edge("talk", "talk")
    graph.edge("talk", "done", when=False)
    graph.loop("talk", max_rounds=1)
    if beside:
        graph.add("other", "literal", {"content": "other"})
        graph.document["graph"]["start"] = ["talk", "other"]
    with_breaker(graph, {"estimated_tokens": 100})

    async with Engine(db=None) as engine:
        session, result = await started(engine, graph)
        assert result.reason == "TOKEN_SURGE"
        await session.unlock("fine")
        assert (await session.settled()).status == "completed"


# Time


class Hangs:
    """A node that hangs the first few times it is run, for a while by the clock."""

    def __init__(self, clock: Clock, times: int = 1, seconds: float = 1.0) -> None:
        self._clock = clock
        self._left = times
        self.seconds = seconds
        self.runs: list[str] = []

    async def __call__(self, inp: Context) -> str:
        self.runs.append(inp.address)
        if self._left:
            self._left -= 1
            self._clock.time += self.seconds
            await asyncio.Event().wait()
        return f"{inp.node_id} done"


def hanging(hangs: Hangs, *, beside: bool, **breaker: Any) -> Graph:
    """A node that hangs after another one, alone or beside a third."""
    graph = Graph("hanging", end=["hangs"])
    graph.node(id="before")(lambda _inp: "before")
    graph.node(id="hangs")(hangs)
    graph.edge("before", "hangs")
    if beside:
        graph.node(id="other")(lambda _inp: "other")
        graph.edge("before", "other")
    return with_breaker(graph, {"timeout": "150ms", **breaker})


@pytest.mark.parametrize("beside", [False, True])
async def test_a_node_that_hangs_trips_the_breaker_and_runs_again_after_the_unlock(
    beside: bool, clock: Clock
) -> None:
    hangs = Hangs(clock)
    async with Engine(db=None) as engine:
        session, result = await started(engine, hanging(hangs, beside=beside))
        assert (result.status, result.reason) == ("suspended_locked", "TIMEOUT")
        (lock,) = tick_of(session, ticks.Locked)
        assert lock.figures["timeout"] == 0.15
        assert lock.figures["running"] >= 0.15
        await session.unlock("the server is back")
        result = await session.result()
        assert (result.status, result.output) == ("completed", "hangs done")
        assert hangs.runs == ["hangs", "hangs"]
        assert [s.status for s in session.steps()] == ["completed"] * (2 + beside)


@pytest.mark.parametrize("beside", [False, True])
async def test_a_node_that_hangs_again_trips_again(beside: bool, clock: Clock) -> None:
    hangs = Hangs(clock, 2)
    async with Engine(db=None) as engine:
        session, _ = await started(engine, hanging(hangs, beside=beside))
        await session.unlock("once more")
        assert (await session.settled()).reason == "TIMEOUT"
        await session.unlock("and once more")
        assert (await session.result()).status == "completed"
        assert len(hangs.runs) == 3


async def test_a_loop_of_plain_functions_that_runs_too_long_trips_the_breaker() -> None:
    graph = Graph("busy")
    graph.node(id="a")(lambda _inp: _busy())
    graph.node(id="done")(lambda _inp: "done")
    graph.edge("a", "a")
    graph.edge("a", "done", when=False)
    graph.loop("a", max_rounds=100_000)
    graph.limits(max_steps=1_000_000)
    async with Engine(db=None) as engine:
        _, result = await started(engine, with_breaker(graph, {"timeout": "100ms"}))
        assert (result.status, result.reason) == ("suspended_locked", "TIMEOUT")


async def test_a_plain_function_past_the_time_locks_when_it_returns(clock: Clock) -> None:
    ran: list[str] = []

    def slow(inp: Context) -> str:
        ran.append(inp.node_id)
        clock.time += 1
        return "slow"

    graph = Graph("slow")
    for id in ("a", "b", "c"):
        graph.node(id=id)(slow)
    graph.edge("a", "b")
    graph.edge("b", "c")

    async with Engine(db=None) as engine:
        session, result = await started(engine, with_breaker(graph, {"timeout": "500ms"}))
        assert (result.status, result.reason) == ("suspended_locked", "TIMEOUT")
        assert ran == ["a"]
        await session.unlock("go on")
        assert (await session.settled()).status == "suspended_locked"
        assert ran == ["a", "b"]


def _busy() -> str:
    return str(sum(range(1000)))


async def test_waiting_is_not_running(clock: Clock) -> None:
    graph = Graph("waits")
    graph.add("ask", "human", {"description": "?"})
    graph.node(id="done")(lambda inp: inp.text)
    graph.edge("ask", "done")
    async with Engine(db=None) as engine:
        session, _ = await started(engine, with_breaker(graph, {"timeout": "100ms"}))
        clock.time += 100
        await asyncio.sleep(0.25)
        assert session.status == "waiting"
        await session.answer("late")
        assert (await session.settled()).output == "late"


async def test_the_time_under_lock_is_not_running(clock: Clock) -> None:
    hangs = Hangs(clock)
    async with Engine(db=None) as engine:
        session, _ = await started(engine, hanging(hangs, beside=False))
        clock.time += 100
        await session.unlock("now")
        assert (await session.settled()).status == "completed"


async def test_a_node_that_hangs_is_found_after_an_unlock_that_came_while_it_did(
    clock: Clock,
) -> None:
    """Another lock comes first; the node beside it hangs on through lock and unlock."""

    hangs = Hangs(clock, 9, seconds=0)
    graph = talking([SAME], rounds=5)
    body = graph.document["graph"]
    around = Graph("around", start=["Writer", "hangs"], end=["hangs"])
    around.add("Writer", "agent", body["nodes"][0]["config"])
    around.add("Done", "passthrough")
    around.node(id="hangs")(hangs)
    around.edge("Writer", "Writer")
    around.edge("Writer", "Done", when=False)
    around.loop("Writer", max_rounds=5)
    with_breaker(around, {"timeout": "300ms"})
    async with Engine(db=None) as engine:
        session = await engine.start(around)
        await until(lambda: session.status == "suspended_locked")
        assert session.snapshot().reason == "LOOP_DETECTED"
        clock.time += 100
        await session.unlock("go on")
        clock.time += 100
        await until(lambda: session.status == "suspended_locked")
        assert session.snapshot().reason == "TIMEOUT"


# The lock


async def test_a_lock_says_why_in_the_result() -> None:
    async with Engine(db=None) as engine:
        session, result = await started(engine, talking([SAME], rounds=9))
        (lock,) = tick_of(session, ticks.Locked)
        assert result.message == lock.message


async def test_under_lock_steps_under_way_finish_and_none_starts() -> None:
    finished: list[str] = []
    locked = asyncio.Event()

    async def slow(inp: Context) -> str:
        await locked.wait()
        finished.append(inp.node_id)
        return "slow"

    graph = Graph("around", start=["Writer", "slow"], end=["after"])
    graph.add("Writer", "agent", {"provider": "scripted", "answers": [SAME]})
    graph.add("Done", "passthrough")
    graph.node(id="slow")(slow)
    graph.node(id="after")(slow)
    graph.edge("Writer", "Writer")
    graph.edge("Writer", "Done", when=False)
    graph.edge("slow", "after")
    graph.loop("Writer", max_rounds=6)
    async with Engine(db=None) as engine:
        session = await engine.start(graph)
        await until(lambda: session.status == "suspended_locked")
        locked.set()
        assert (await session.settled()).status == "suspended_locked"
        assert finished == ["slow"]
        await session.unlock("fine")
        assert (await session.settled()).status == "completed"
        assert finished == ["slow", "after"]


async def test_a_locked_session_takes_no_resume_and_no_pause() -> None:
    async with Engine(db=None) as engine:
        session, _ = await started(engine, talking([SAME], rounds=9))
        with pytest.raises(WrongState, match="locked"):
            await session.resume()
        with pytest.raises(WrongState, match="locked"):
            await session.pause()
        assert session.status == "suspended_locked"


REFUSED: list[dict[str, Any]] = [
    {},
    {"risk_justification": ""},
    {"risk_justification": " \n\t"},
    {"safety_checks": []},
    {"safety_checks": [True]},
    {"safety_checks": [True, True]},
    {"safety_checks": [True, True, False]},
    {"safety_checks": [True, True, True, True]},
    {"risk_justification": "  ", "safety_checks": [False, False, False]},
]
OPENED: list[dict[str, Any]] = [
    {"risk_justification": "seen"},
    {"safety_checks": [True, True, True]},
    {"risk_justification": "seen", "safety_checks": [False]},
    {"risk_justification": "", "safety_checks": (True, True, True)},
]


@pytest.mark.parametrize("reasons", REFUSED, ids=str)
async def test_an_unlock_without_a_reason_is_refused(reasons: dict[str, Any]) -> None:
    async with Engine(db=None) as engine:
        session, _ = await started(engine, talking([SAME], rounds=6))
        before = len(session.journal())
        with pytest.raises(CallError, match="to unlock"):
            await session.unlock(**reasons)
        assert session.status == "suspended_locked"
        assert len(session.journal()) == before


@pytest.mark.parametrize("reasons", OPENED, ids=str)
async def test_an_unlock_with_a_reason_opens_the_lock_and_is_told(reasons: dict[str, Any]) -> None:
    async with Engine(db=None) as engine:
        session, _ = await started(engine, talking([SAME], rounds=6))
        await session.unlock(**reasons, by="Ada")
        assert (await session.settled()).status == "completed"
        (unlocked,) = [e async for e in session.events() if e.event.endswith(":unlocked")]
        why = reasons.get("risk_justification", "")
        assert unlocked.data == {"by": "Ada", "risk_justification": why}
        (tick,) = tick_of(session, ticks.Unlocked)
        assert (tick.by, tick.justification) == ("Ada", why)


async def test_an_unlock_of_what_is_not_locked_changes_nothing() -> None:
    async with Engine(db=None) as engine:
        graph = Graph("ask")
        graph.add("ask", "human", {"description": "?"})
        session, _ = await started(engine, graph)
        before = len(session.journal())
        await session.unlock("just so")
        assert len(session.journal()) == before
        assert session.status == "waiting"


async def test_after_an_unlock_the_window_is_fresh_and_a_second_trip_works() -> None:
    async with Engine(db=None) as engine:
        session, result = await started(engine, talking([SAME], rounds=9))
        calls = [result.usage.model_calls]
        while result.status == "suspended_locked":
            await session.unlock("again")
            result = await session.settled()
            calls.append(result.usage.model_calls)
        assert calls == [4, 8, 9]
        assert result.status == "completed"
        assert result.loops[0].rounds == 9


async def test_after_an_unlock_the_tokens_are_fresh() -> None:
    prices = (100, 101, 100, 100, 1, 1)
    breaker = {"estimated_tokens": 100, "token_factor": 2}
    async with Engine(db=None) as engine:
        session, result = await started(engine, talking(spending(*prices), breaker=breaker))
        assert result.usage.tokens == 201
        await session.unlock("fine")
        result = await session.settled()
        assert (result.reason, result.usage.tokens) == ("TOKEN_SURGE", 402)
        await session.unlock("fine")
        assert (await session.settled()).status == "completed"


async def test_stopped_under_lock_its_loops_ended_by_the_breaker() -> None:
    async with Engine(db=None) as engine:
        session, _ = await started(engine, talking([SAME], rounds=9))
        await session.stop()
        result = await session.result()
        assert result.status == "cancelled"
        assert result.loops[0].exit_reason == "breaker_tripped"


async def test_stopped_after_the_unlock_its_loops_were_cancelled(clock: Clock) -> None:
    hangs = Hangs(clock, 9)
    graph = Graph("loop")
    graph.node(id="a")(hangs)
    graph.node(id="done")(lambda _inp: "done")
    graph.edge("a", "a")
    graph.edge("a", "done", when=False)
    graph.loop("a", max_rounds=3)
    async with Engine(db=None) as engine:
        session, _ = await started(engine, with_breaker(graph, {"timeout": "100ms"}))
        hangs.seconds = 0
        await session.unlock("once more")
        await session.stop()
        assert (await session.result()).loops[0].exit_reason == "cancelled"


def test_off_is_off() -> None:
    assert play(talking([SAME], rounds=20, breaker="off")).result.status == "completed"


def test_a_lock_that_comes_with_the_last_word_does_not_lock_what_is_over() -> None:
    graph = Graph("over", end=["Writer"])
    graph.add("Writer", "agent", {"provider": "scripted", "answers": [SAME]})
    graph.edge("Writer", "Writer", when="round < 4")
    assert play(graph).result.status == "completed"


# Restarts


async def test_a_lock_holds_and_opens_in_another_process(tmp_path: Path) -> None:
    async with Engine(tmp_path / "db") as engine:
        session, _ = await started(engine, talking([SAME], rounds=9))
    async with Engine(tmp_path / "db") as engine:
        session = engine.get(session.id)
        assert session.status == "suspended_locked"
        await session.unlock("seen")
        result = await session.settled()
        assert (result.status, result.usage.model_calls) == ("suspended_locked", 8)


LOCKING: list[Graph] = [
    talking([SAME], rounds=9),
    talking(spending(100, 100, 100, 100, 1), breaker={"estimated_tokens": 100}),
    talking(
        [{"content": SAME, "usage": {"input_tokens": 100}}],
        rounds=9,
        breaker={"estimated_tokens": 90},
    ),
]


@pytest.mark.parametrize("graph", LOCKING)
@pytest.mark.parametrize("deaths", [1, 2, 3])
async def test_killed_anywhere_a_session_is_locked_where_it_would_have_been(
    graph: Graph, deaths: int
) -> None:
    """Killed so many times in a row before it could do anything but say that it goes on."""

    async with Engine(db=None) as engine:
        session, expected = await started(engine, graph)
        journal = session.journal()
        assert expected.status == "suspended_locked"
    for length in range(1, len(journal)):
        store = cut(session, length)
        for _ in range(deaths - 1):
            store.append(session.id, ticks.Resumed(journal[length - 1].at))
        async with Engine(store) as engine:
            again = await engine.resume(session.id)
            result = await again.settled()
            assert (result.status, result.reason) == (expected.status, expected.reason), length
            assert result.usage.model_calls == expected.usage.model_calls, length


@pytest.mark.parametrize("graph", LOCKING)
async def test_killed_right_after_a_snapshot_a_session_is_locked_where_it_would_have_been(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot after every tick, and the process dies before each one in turn."""
    monkeypatch.setattr("rondel.sessions.recorder.SNAPSHOT_EVERY", 1)
    monkeypatch.setattr("rondel.sessions.recorder.SNAPSHOT_BYTES_PER_TICK", 1_000_000)

    async with Engine(tmp_path / "db") as engine:
        blobs: dict[int, bytes] = {}
        monkeypatch.setattr(
            engine.store,
            "save_snapshot",
            lambda _id, n, blob, **_options: blobs.update({n: blob}),
        )
        session, expected = await started(engine, graph)
        length = len(session.journal())
        assert len(blobs) > 3
        for end, blob in blobs.items():
            store = cut(session, end)
            store.save_snapshot(session.id, end, blob)
            if end == length:
                store.set_status(session.id, expected.status, expected.reason)
            async with Engine(store) as other:
                again = other.get(session.id)
                if end < length:
                    await again.resume()
                result = await again.settled()
                assert (result.status, result.reason) == (expected.status, expected.reason)
                assert result.usage.model_calls == expected.usage.model_calls, end


@pytest.mark.parametrize("first", ["resume", "unlock"])
async def test_killed_between_the_last_word_and_the_lock_nobody_slips_through(first: str) -> None:
    async with Engine(db=None) as engine:
        session, expected = await started(engine, talking([SAME], rounds=9))
        length = len(session.journal())
    async with Engine(cut(session, length - 1)) as engine:
        again = engine.get(session.id)
        if first == "resume":
            await again.resume()
        else:
            await again.unlock("there is no lock yet")
        result = await again.settled()
        assert result.status == "suspended_locked"
        assert result.usage.model_calls == expected.usage.model_calls


async def test_a_fork_of_a_locked_session_is_armed_anew() -> None:
    async with Engine(db=None) as engine:
        session, _ = await started(engine, talking([SAME], rounds=9))
        fork = await session.fork("Writer[5]/Writer")
        result = await fork.settled()
        assert (result.status, result.usage.model_calls) == ("suspended_locked", 4)
        assert session.status == "suspended_locked"
        earlier = await session.fork("Writer[3]/Writer")
        assert (await earlier.settled()).usage.model_calls == 4


async def test_the_lock_is_in_the_journal_as_json() -> None:
    async with Engine(db=None) as engine:
        session, _ = await started(engine, talking([SAME], rounds=9))
        (lock,) = tick_of(session, ticks.Locked)
        assert json.loads(json.dumps(lock.figures)) == lock.figures
