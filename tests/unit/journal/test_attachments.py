"""Attachments in stores: kept once each, as long as a session refers to them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Engine, Graph
from rondel.engine.message import Part
from rondel.errors import CallError, UnknownSession
from rondel.journal.attachments import Attachments, media_type_of
from rondel.journal.memory import MemoryStore
from rondel.journal.postgres.store import PostgresStore
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import SessionRow, Store
from tests.unit.sessions.playing import limited, told

LATER = 4_000_000_000.0


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    if request.param == "memory":
        made = MemoryStore()
    elif request.param == "sqlite":
        made = SqliteStore(tmp_path / "a.db")
    else:
        made = PostgresStore(request.getfixturevalue("database"))
    yield made
    made.close()


def session(store: Store, id: str, *contents: bytes, **fields: Any) -> None:
    """A session with these attached to its task."""
    parts = [{"attachment": digest_of(content)} for content in contents]
    store.create(SessionRow(id, "g", {}, inputs={"attachments": parts}, **fields))


def test_bytes_come_back_by_their_hash(store: Store) -> None:
    for content in (b"", b"\0\xff" * 1000, "诗".encode()):
        assert not store.has_attachment(digest_of(content))
        store.hold(content, LATER)
        assert store.has_attachment(digest_of(content))
        assert store.attachment(digest_of(content)) == content
    assert store.attachment(digest_of(b"other")) is None


def test_a_session_refers_to_what_its_inputs_name_and_what_its_nodes_keep(store: Store) -> None:
    session(store, "a", b"one", b"two")
    store.refer("a", [digest_of(b"three")])
    assert store.attachments("a") == sorted(map(digest_of, (b"one", b"two", b"three")))
    for refused in (lambda: store.refer("x", []), lambda: store.attachments("x")):
        with pytest.raises(UnknownSession):
            refused()


def test_bytes_go_with_the_last_session_that_refers_to_them(store: Store) -> None:
    store.hold(b"shared", LATER)
    store.hold(b"own", LATER)
    session(store, "a", b"shared", b"own")
    session(store, "b", b"shared")
    store.delete("a")
    assert store.has_attachment(digest_of(b"shared"))
    assert not store.has_attachment(digest_of(b"own"))
    store.delete("b")
    assert not store.has_attachment(digest_of(b"shared"))


def test_what_waits_for_its_session_stays_for_a_while(store: Store) -> None:
    session(store, "a")
    store.hold(b"new", LATER)
    store.hold(b"forgotten", time.time() - 1)
    store.delete("a")
    assert store.has_attachment(digest_of(b"new"))
    assert not store.has_attachment(digest_of(b"forgotten"))


def test_a_fork_has_what_its_past_has(store: Store) -> None:
    store.hold(b"past", LATER)
    session(store, "a", b"past")
    store.create(SessionRow("fork", "g", {}, parent="a", parent_length=0))
    store.refer("fork", [digest_of(b"later")])
    assert store.attachments("fork") == sorted(map(digest_of, (b"past", b"later")))
    assert store.attachments("a") == [digest_of(b"past")]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ads"), st.integers(0, 3), st.integers(0, 3))))
def test_every_store_keeps_exactly_what_is_needed(steps: list[tuple[str, int, int]]) -> None:
    """Whatever is started and deleted, bytes are there just when some session needs them."""
    store = MemoryStore()
    needed: dict[str, set[bytes]] = {}
    for kind, who, what in steps:
        id, content = f"s{who}", b"%d" % what
        if kind == "s" and id not in needed:
            store.hold(content, LATER)
            session(store, id, content)
            needed[id] = {content}
        elif kind == "a" and id in needed:
            store.hold(content, LATER)
            store.refer(id, [digest_of(content)])
            needed[id].add(content)
        elif kind == "d" and id in needed:
            store.delete(id)
            del needed[id]
            kept = {c for c in (b"0", b"1", b"2", b"3") if store.has_attachment(digest_of(c))}
            assert kept == set().union(*needed.values())


def test_the_same_bytes_take_their_room_once(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    store = SqliteStore(tmp_path / "a.db")
    for n in range(5):
        store.hold(content, LATER)
        session(store, f"s{n}", content)
    store.close()
    assert len(content) < (tmp_path / "a.db").stat().st_size < 1.2 * len(content)


# What callers use


async def test_too_large_is_refused_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "big.bin"
    file.write_bytes(bytes(101))
    attachments = Attachments(MemoryStore(), largest=100)

    for source in (file, bytes(101)):
        with pytest.raises(CallError, match="has 101 bytes and an attachment may have 100"):
            await attachments.add(source)
    assert (await attachments.add(bytes(100))).size == 100


async def test_a_file_that_cannot_be_read_is_told_in_a_line(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(CallError, match="cannot be attached") as caught:
            await Attachments(MemoryStore()).add(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.png", b"", "image/png"),
        ("", b"\x89PNG\r\n\x1a\n...", "image/png"),
        ("", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("", b"RIFF....WEBPVP8", "image/webp"),
        ("report.PDF", b"", "application/pdf"),
        ("", b"%PDF-1.7", "application/pdf"),
        ("notes", "一首诗".encode(), "text/plain"),
        ("", b"\xff\xfe\0\1", "application/octet-stream"),
        ("a.csv.gz", b"\x1f\x8b\0", "application/octet-stream"),
    ],
)
def test_the_kind_of_a_file_is_known_by_its_name_or_its_beginning(
    name: str, content: bytes, kind: str
) -> None:
    assert media_type_of(name, content) == kind


# In sessions


def one_node() -> Graph:
    graph = Graph("g")
    graph.add("pass", "passthrough")
    return graph


async def test_a_start_node_gets_the_task_and_what_is_attached(tmp_path: Path) -> None:
    file = tmp_path / "cat.png"
    file.write_bytes(b"not really a cat")

    async with Engine(tmp_path / "a.db") as engine:
        cat = await engine.attach(file)
        notes = await engine.attach(b"notes", "text/x-notes", "n.txt")
        given = {"task": "look", "attachments": [cat, notes]}
        session = await engine.start(one_node(), given)
        result = await session.settled()
        assert result.output == "look"
        shown = [
            {"text": "look"},
            {
                "attachment": digest_of(b"not really a cat"),
                "media_type": "image/png",
                "name": "cat.png",
                "size": 16,
            },
            {
                "attachment": digest_of(b"notes"),
                "media_type": "text/x-notes",
                "name": "n.txt",
                "size": 5,
            },
        ]
        (step,) = session.steps()
        assert step.inputs[0]["content"] == step.outputs[0]["content"] == shown
        parts = session.journal()[1].messages[0].content  # type: ignore[union-attr]
        assert [await engine.load(part) for part in parts[1:]] == [
            b"not really a cat",
            b"notes",
        ]
        assert "not really a cat" not in str(await told(session))


async def test_attachments_without_a_task_are_a_message_too() -> None:
    async with Engine(db=None) as engine:
        part = await engine.attach(b"x")
        session = await engine.start(one_node(), {"attachments": [part]})
        assert (await session.settled()).status == "completed"
        assert len(session.steps()[0].inputs[0]["content"]) == 1


async def test_inputs_of_that_name_that_are_something_else_are_plain_data() -> None:
    async with Engine(db=None) as engine:
        for given in (["a.txt"], "all", [], [{"name": "a.txt"}], [1], None):
            session = await engine.start(one_node(), {"task": "x", "attachments": given})
            await session.settled()
            (message,) = session.steps()[0].inputs
            assert (message["content"], message["data"]["attachments"]) == ("x", given)


async def test_what_was_never_attached_is_refused_before_anything_runs() -> None:
    async with Engine(db=None) as engine:
        for wrong in (digest_of(b"x"), "x.png", "../x"):
            part = Part(attachment=wrong, name="x.png")
            with pytest.raises(CallError, match=r"'x\.png' is not kept here"):
                await engine.start(one_node(), {"attachments": [part]})
            with pytest.raises(CallError, match="not kept here"):
                await engine.load(part)
        assert not engine.sessions().rows


def test_a_journal_does_not_grow_with_what_is_attached(tmp_path: Path) -> None:
    def ticks_of(content: bytes) -> int:
        async def main() -> int:
            async with Engine(tmp_path / f"{len(content)}.db") as engine:
                part = await engine.attach(content, "text/plain", "a")
                session = await engine.start(one_node(), {"task": "x", "attachments": [part]})
                await session.settled()
                db = engine.store._readers._database.reader()  # type: ignore[attr-defined]
                (size,) = db.execute("SELECT sum(length(record)) FROM tick").fetchone()
                db.close()
                return int(size)

        return limited(main())

    assert abs(ticks_of(bytes(5_000_000)) - ticks_of(b"x" * 10)) < 100


async def test_a_node_can_keep_and_load_attachments_through_the_registry(tmp_path: Path) -> None:
    from pydantic import BaseModel, ConfigDict

    from rondel import Context, Emit, Message, builtin_registry

    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)

    class Double:
        def __init__(self, registry: Any) -> None:
            self._registry = registry

        async def process(self, ctx: Context) -> Emit:
            attachments: Attachments = self._registry.service("attachments")
            (part,) = ctx.messages[0].content
            content = await attachments.load(part)
            made = await attachments.keep(content * 2, name="double", session=ctx.session_id)
            return Emit([Message([made])])

    registry = builtin_registry()
    registry.node("double", Config, lambda _config, registry: Double(registry))

    graph = Graph("g", registry=registry)
    graph.add("a", "double")
    async with Engine(tmp_path / "a.db") as engine:
        part = await engine.attach(b"ab")
        session = await engine.start(graph, {"attachments": [part]})
        await session.settled()
        kept = engine.store.attachments(session.id)
        assert kept == sorted([digest_of(b"ab"), digest_of(b"abab")])
        id = session.id
        fork = await session.fork(at="a")
        await fork.settled()
        assert engine.store.attachments(fork.id) == kept
        engine.store.delete(fork.id)
        assert all(map(engine.store.has_attachment, kept))
        engine.store.delete(id)
        assert not any(map(engine.store.has_attachment, kept))


async def test_a_python_node_finds_what_is_attached_in_its_folder() -> None:
    code = """
for name in inputs["files"]:
    print(name, len(open(name, "rb").read()))
"""

    graph = Graph("g")
    graph.add("a", "python", {"code": code})
    async with Engine(db=None, allow_python=True) as engine:
        parts = [
            await engine.attach(b"one", name="a.csv"),
            await engine.attach(b"three", name="../b/a.csv"),
            await engine.attach(b"one", name="again.csv"),
            await engine.attach(b""),
        ]
        result = await engine.run(graph, {"attachments": parts})
        assert result.output is not None
        lines = result.output.splitlines()
        assert lines == ["a.csv 3", "a 2.csv 5", f"{digest_of(b'')[:12]} 0"]
