"""No session ever sees another group's entries, however hard it tries."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondel import Context, Emit, Engine, Graph, Message, Session
from rondel.journal.memory import MemoryStore
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import Group, MemoryEntry, Promotion
from rondel.testing.crash_points import run_until_crash
from tests.unit.sessions.playing import limited

ROOT = Path(__file__).parents[2]

NONE = object()
"""Stands for inputs without a group_id."""

ALIKE = [
    *(NONE, None, "", " ", True, False, ["a"], {"a": 1}),
    *("a", "A", " a", "a ", "a\n", "\uff41", "\u0430", "\u00e1", "a\u0301", "a\0", "a\0b", "\0"),
    *("%", "_", "a%", "a_", "*", "?", "'", '"', "' OR 1=1 --", "组", "🜁", "x" * 5000, "x" * 5001),
    *("1", 1, "01", 1.0, "1.0", 10**20, "true", "null", "own", "None"),
]
"""Group ids that a careless program would take for one another, and inputs that name none."""


def inputs_of(raw: Any) -> dict[str, Any]:
    return {"task": "t"} if raw is NONE else {"task": "t", "group_id": raw}


def same_group(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    """Section 7 in other words: whether two sessions, by id and group_id, share a memory."""

    def name(raw: Any) -> str | None:
        if type(raw) in (int, float):
            return repr(raw)
        return raw if isinstance(raw, str) and raw.strip() else None

    if name(one[1]) is None or name(other[1]) is None:
        return one[0] == other[0]
    return name(one[1]) == name(other[1])


def chatty(rounds: int = 2) -> Graph:
    """Recalls and says something of its own, in every round, in a graph and in an inner one."""
    graph = Graph("chatty")

    inner = {
        "id": "inner",
        "memory": {"promote": ["echo"]},
        "nodes": [{"id": "deep", "type": "memory"}, {"id": "echo", "type": "passthrough"}],
        "edges": [{"from": "deep", "to": "echo"}],
    }
    graph.add("recall", "memory")
    graph.add("say", Saying())
    graph.add("sub", "subgraph", {"graph": inner})
    graph.add("done", "memory")
    graph.edge("recall", "say")
    graph.edge("say", "sub")
    graph.edge("sub", "recall", when=f"round < {rounds}")
    graph.edge("sub", "done", when=f"round >= {rounds}")
    graph.memory(promote=["say"], size=1000)
    return graph


class Saying:
    """Says which session it is, and where."""

    async def process(self, ctx: Context) -> Emit:
        await asyncio.sleep(0)
        return Emit([Message(f"{ctx.session_id} {ctx.address}", {"confidence": 0.9})])


def seen_by(session: Session) -> set[str]:
    """The sessions whose entries it was ever shown."""
    histories = [entry.data.get("history_context", []) for entry in session.quarantine()]
    return {entry["session"] for history in histories for entry in history}


def check(sessions: dict[str, tuple[Session, Any]]) -> None:
    """Nobody saw another group's, and everybody saw their own at the end."""
    for id, (session, raw) in sessions.items():
        for other in seen_by(session):
            known = sessions[other][1]
            assert same_group((id, raw), (other, known)), (raw, known)
        assert id in seen_by(session)


async def run_all(engine: Engine, raws: list[Any], graph: Graph) -> dict[str, tuple[Session, Any]]:
    """Sessions of all these groups, at once."""
    started = [(await engine.start(graph, inputs_of(raw)), raw) for raw in raws]
    for session, _ in started:
        result = await session.settled()
        assert result.status == "completed", result.message
    return {session.id: (session, raw) for session, raw in started}


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(raws=st.lists(st.sampled_from(ALIKE) | st.text(max_size=3), min_size=1, max_size=8))
def test_sessions_at_once_in_one_engine_see_their_own_groups_only(raws: list[Any]) -> None:
    async def main() -> None:
        async with Engine(db=None) as engine:
            check(await run_all(engine, raws, chatty()))

    limited(main())


def test_every_group_at_once_in_one_file(tmp_path: Path) -> None:
    async def main() -> None:
        async with Engine(tmp_path / "db") as engine:
            graph = chatty()
            first = await run_all(engine, ALIKE, graph)
            check(first)
            second = await run_all(engine, ALIKE, graph)
            check({**first, **second})
            for id, (session, raw) in second.items():
                mates = {i for i, (_, r) in first.items() if same_group((id, raw), (i, r))}
                assert mates <= seen_by(session)

    limited(main(), 60)


async def test_a_group_named_like_another_sessions_id_does_not_open_that_sessions_memory() -> None:
    async with Engine(db=None) as engine:
        (victim,) = await run_all(engine, [NONE], chatty())
        (spy,) = await run_all(engine, [victim], chatty())
        assert seen_by(engine.get(spy)) == {spy}
        assert seen_by(engine.get(victim)) == {victim}
        await engine.promote(victim, "recall[1]/say", 1.0)
        (again,) = await run_all(engine, [victim], chatty())
        assert seen_by(engine.get(again)) == {spy, again}


async def test_a_fork_shares_a_named_group_but_not_its_parents_own() -> None:
    async with Engine(db=None) as engine:
        for raw, shares in ((NONE, False), ("a", True)):
            (parent,) = await run_all(engine, [raw], chatty())
            fork = await engine.get(parent).fork("recall[2]/recall")
            await fork.settled()
            last = fork.quarantine()[-1]
            assert last.node_id == "done"
            sessions = {entry["session"] for entry in last.data["history_context"]}
            assert sessions == ({parent, fork.id} if shares else {fork.id})


async def test_promoting_by_hand_goes_to_the_sessions_own_group_only() -> None:
    async with Engine(db=None) as engine:
        graph = chatty()
        graph.memory(promote=[])
        ids = {raw: id for raw in ("a", "b") for id in await run_all(engine, [raw], graph)}
        engine.store.forget(Group("a"))
        engine.store.forget(Group("b"))
        (entry,) = await engine.promote(ids["a"], "recall[1]/say")
        assert engine.store.recall(Group("a"), 0.0, 9) == [entry]
        assert engine.store.recall(Group("b"), 0.0, 9) == []


# Other processes, and crashes

CHILD = """
import asyncio, json, sys
from rondel import Engine
from tests.property.test_memory_isolation import chatty, inputs_of

async def main(path, names):
    async with Engine(path) as engine:
        graph = chatty()
        sessions = [await engine.start(graph, inputs_of(name)) for name in names]
        for session in sessions:
            assert (await session.settled()).status == "completed"

asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
"""

RESUME = """
import asyncio, sys
from rondel import Engine
from tests.property.test_memory_isolation import chatty

async def main(path):
    async with Engine(path) as engine:
        graph = chatty()
        for row in engine.sessions().rows:
            if row.status in ("pending", "running"):
                await engine.resume(row.id, graph)
        for row in engine.sessions().rows:
            assert (await engine.get(row.id).settled()).status == "completed"

asyncio.run(main(sys.argv[1]))
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


@pytest.fixture
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))


def check_file(path: Path) -> int:
    """No session of the file saw another group's; how many entries there are."""

    async def main() -> int:
        async with Engine(path) as engine:
            rows = engine.sessions(limit=1000).rows
            known = {row.id: (engine.get(row.id), row.inputs.get("group_id")) for row in rows}
            check(known)
            entries = [
                e for g in engine.store.groups() for e in engine.store.recall(g.group, 0, 999)
            ]
            steps = [(entry.session, entry.address, entry.number) for entry in entries]
            assert len(steps) == len(set(steps))
            assert all(entry.content.split()[0] == entry.session for entry in entries)
            return len(entries)

    return limited(main(), 60)


@pytest.mark.usefixtures("_here")
def test_several_processes_on_one_file_keep_their_groups_apart(tmp_path: Path) -> None:
    path = tmp_path / "db"
    names = json.dumps(["a", "A", " a", None, "%", 1, "1", "a"])
    children = [subprocess.Popen(python(CHILD, str(path), names), cwd=ROOT) for _ in range(3)]
    assert [child.wait() for child in children] == [0, 0, 0]
    assert check_file(path) == 3 * 8 * 4


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("write", [2, 5, 9, 13, 17, 22])
def test_a_session_killed_anywhere_promotes_each_step_once_and_to_its_group(
    write: int, tmp_path: Path
) -> None:
    path = tmp_path / "db"
    names = json.dumps(["a", None, "A"])
    assert run_until_crash(python(CHILD, str(path), names), "before_commit", write).crashed
    done = subprocess.run(
        python(RESUME, str(path)), cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with closing(SqliteStore(path)) as store:
        sessions = len(store.sessions().rows)
    assert check_file(path) == 4 * sessions


# The two stores are one

NAMES = st.sampled_from(["a", "A", "", "%", "s1", "s2"])
GROUPS = st.builds(Group, NAMES, st.booleans())
STEPS = st.tuples(st.sampled_from(["s1", "s2"]), st.sampled_from(["W[1]", "W[2]", "W"]))


@st.composite
def promotions(draw: st.DrawFn) -> Promotion:
    group, (session, address) = draw(GROUPS), draw(STEPS)
    numbers = draw(st.lists(st.integers(0, 3), unique=True, max_size=3))
    entries = [
        MemoryEntry(
            group,
            session,
            address,
            number,
            "W",
            draw(st.text(max_size=3)),
            {},
            draw(st.none() | st.sampled_from([0.5, 0.9])),
            float(draw(st.integers(1, 50))),
        )
        for number in sorted(numbers)
    ]
    return Promotion(group, session, address, entries)


REMEMBER = st.tuples(
    st.just("remember"), promotions(), st.integers(0, 40).map(float), st.integers(1, 6)
)
RECALL = st.tuples(
    st.just("recall"),
    GROUPS,
    st.integers(0, 50).map(float),
    st.integers(0, 6),
    st.sampled_from([0.0, 0.8]),
)
FORGET = st.tuples(st.just("forget"), GROUPS)
LIST = st.tuples(st.just("groups"))


def nameless(told: Any) -> Any:
    """Entries without their ids, of which only the order is promised."""
    if not isinstance(told, list):
        return told
    return [replace(each, id=0) if isinstance(each, MemoryEntry) else each for each in told]


@settings(deadline=None, max_examples=60)
@given(calls=st.lists(REMEMBER | REMEMBER | RECALL | FORGET | LIST, max_size=30))
def test_both_stores_remember_the_same(
    calls: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = MemoryStore()
    other = SqliteStore(tmp_path_factory.mktemp("store") / "db", "off")
    try:
        for name, *arguments in calls:
            told = [getattr(store, name)(*arguments) for store in (one, other)]
            assert nameless(told[0]) == nameless(told[1])
        assert one.groups() == other.groups()
    finally:
        other.close()
