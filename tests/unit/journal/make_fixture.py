"""Writes a journal with something of everything, to be kept for ever.

python -m tests.unit.journal.make_fixture tests/fixtures/journals/vN
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from rondel.engine import ticks
from rondel.engine.message import Message, Part
from rondel.engine.protocols import Question, Usage, Verdict
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import Group, MemoryEntry, Promotion, SessionRow

DOCUMENT = {"version": 1, "graph": {"id": "review", "nodes": [{"id": "Writer", "type": "agent"}]}}

TICKS: list[ticks.AnyTick] = [
    ticks.Started(100.0, {"task": "写一首回旋诗", "n": 2**70}),
    ticks.Finished(
        101.5,
        1,
        (
            Message("draft", {"score": 61.5, "tags": ["a", None, {"b": True}]}, source="Writer"),
            Message([Part("see"), Part(attachment="x.png", media_type="image/png")], kept=True),
        ),
        (0, 2),
        {2: [Message("cut"), None]},
        {"count": 1},
        Verdict("score_threshold_reached", True, 91.0, 90.0),
        {"should_exit": True},
        [Usage("gpt-4o", 120, 40, 0.001, 0.75)],
        1.25,
        ["timeout"],
    ),
    ticks.Finished(102.0, 2, state=None),
    ticks.Failed(103.0, 3, "no such model", "ModelError", [Usage("m", 1)], 0.5, ["a", "b"]),
    ticks.Suspended(104.0, 4, Question("Approve?", ["yes", "no"], 200.0), {"asked": 1}),
    ticks.Answered(105.0, 4, {"text": "yes"}, "Ann"),
    ticks.WayOut(106.0, 1, {3: [Message("out")]}),
    ticks.Paused(107.0, "Ann"),
    ticks.Resumed(108.0, "Ann"),
    ticks.Locked(109.0, "TOKEN_SURGE", "too many tokens", {"tokens": 5000}),
    ticks.Unlocked(110.0, "Ann", "known spike"),
    ticks.Aborted(111.0, "step_failed", "the way out failed"),
    ticks.Stopped(112.0, "Ann"),
    ticks.Substepped(113.0, 5, "turn 1", {"said": "hi"}, [Usage("m", 2)]),
    ticks.Signalled(114.0, "go", {"x": 1}, "Ann"),
]

MANY = 70
"""Enough small ticks for an indexed one."""


def fill(path: Path) -> None:
    """A journal with something of everything that a store keeps."""
    store = SqliteStore(path)
    store.create(
        SessionRow(
            "parent",
            "review",
            DOCUMENT,
            {"sub.yaml": {"graph": {"id": "sub"}}},
            {"task": "写一首回旋诗"},
            {"team": "poets"},
            created_at=100.0,
            updated_at=112.0,
        )
    )
    store.extend("parent", TICKS)
    store.extend("parent", [ticks.Finished(200.0 + n, 100 + n) for n in range(MANY)])
    store.create(SessionRow("fork", "review", DOCUMENT, parent="parent", parent_length=66))
    store.append("fork", ticks.Paused(300.0), status="paused", reason="asked")
    store.append("fork", ticks.Resumed(301.0))
    waiting = SessionRow("waiting", "review", DOCUMENT, created_at=100.0)
    store.create(waiting)
    store.extend("waiting", TICKS[:5])
    store.set_status("waiting", "waiting", "human_input", 200.0)
    store.post("fork", b'{"control":"stop"}')
    store.save_snapshot("parent", 10, b"state after ten")
    store.acquire("fork", "somebody", 1.0)
    for group, session in ((Group("poets"), "parent"), (Group("fork", own=True), "fork")):
        entries = [
            MemoryEntry(group, session, "Writer", 0, "Writer", "一首诗", {"score": 1}, 0.9, 120.0),
            MemoryEntry(group, session, "Writer", 1, "Writer", [{"text": "x"}], {}, None, 121.5),
        ]
        store.remember(Promotion(group, session, "Writer", entries), 0.0, 50)
    for session, content in (("parent", b"\x89PNG"), ("fork", "一首诗".encode())):
        store.hold(content, 4_000_000_000.0)
        store.refer(session, [sha256(content).hexdigest()])
    store.close()


def contents(path: Path) -> dict[str, Any]:
    """All that can be read from a journal, as JSON."""
    store = SqliteStore(path)
    found: dict[str, Any] = {}
    for row in store.sessions().rows:
        snapshot = store.latest_snapshot(row.id)
        found[row.id] = {
            "row": _known(row),
            "ticks": msgspec.to_builtins(store.read(row.id, 0)),
            "letters": [letter.control.decode() for letter in store.letters(row.id)],
            "snapshot": snapshot and [snapshot[0], snapshot[1].decode()],
        }
        if attached := store.attachments(row.id):
            kept = {digest: (store.attachment(digest) or b"").hex() for digest in attached}
            found[row.id]["attachments"] = kept
    for known in store.groups():
        entries = store.recall(known.group, 0.0, 50)
        key = f"{'own' if known.group.own else 'named'} group {known.group.name}"
        found[key] = msgspec.to_builtins(entries)
    store.close()
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def _known(row: SessionRow) -> dict[str, Any]:
    """A row without what it does not have and rows of earlier versions never had."""
    found: dict[str, Any] = msgspec.to_builtins(row)
    if row.due is None:
        del found["due"]
    return found


def dump(path: Path) -> str:
    """The file as SQL, with the two numbers of its header."""
    db = sqlite3.connect(path)
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    lines = [f"PRAGMA application_id = {application};", f"PRAGMA user_version = {version};"]
    lines += db.iterdump()
    db.close()
    return "\n".join(lines) + "\n"


def restore(sql: str, path: Path) -> None:
    """The file that the SQL makes."""
    db = sqlite3.connect(path)
    db.executescript(sql)
    db.close()


def main(folder: Path) -> None:
    """Write the fixture, unless there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "journal.sql").exists():
        raise SystemExit(f"{folder} has a fixture already; they are never changed")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "journal.db"
        fill(path)
        (folder / "journal.sql").write_text(dump(path), "utf-8")
        text = json.dumps(contents(path), ensure_ascii=False, indent=1)
        (folder / "expected.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
