"""What goes wrong is said in one sentence, and nothing that was durable is lost."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from rondel.errors import (
    JournalCorrupt,
    JournalError,
    JournalFull,
    JournalLocked,
    JournalNewer,
    JournalUnwritable,
)
from rondel.journal.sqlite.store import SqliteStore
from rondel.testing.journal_suite import done, in_loop, row, tick

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def said(refused: pytest.ExceptionInfo[JournalError], path: Path) -> str:
    """The sentence: one line, and it names the file."""
    text = str(refused.value)
    assert str(path) in text
    assert "\n" not in text
    return text


# Places that cannot be written


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write anywhere; take that away for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may enter, and only its owner may change."""
    folder = Path(tempfile.mkdtemp(prefix="rondel-test-"))
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written(public: Path) -> None:
    path = public / "journal.db"
    with as_nobody(), pytest.raises(JournalUnwritable) as refused:
        SqliteStore(path)
    assert "ermission" in said(refused, path)


def test_a_file_that_cannot_be_written(public: Path) -> None:
    path = public / "journal.db"
    public.chmod(0o755)
    store = SqliteStore(path)
    store.create(row("a"))
    store.close()
    path.chmod(0o444)
    public.chmod(0o555)
    with as_nobody(), pytest.raises(JournalUnwritable) as refused:
        SqliteStore(path)
    assert "permissions" in said(refused, path)


def test_a_path_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    path = tmp_path / "file" / "journal.db"
    with pytest.raises(JournalUnwritable) as refused:
        SqliteStore(path)
    assert "Not a directory" in said(refused, path)


def test_a_path_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(JournalUnwritable) as refused:
        SqliteStore(tmp_path)
    assert "folder" in said(refused, tmp_path)


# Files that are no journals


def test_a_file_that_is_no_database(path: Path) -> None:
    path.write_text("Dear diary, " * 1000)
    with pytest.raises(JournalCorrupt) as refused:
        SqliteStore(path)
    assert "not a database" in said(refused, path)
    assert path.read_text().startswith("Dear diary")


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE cookies (name)")
    db.commit()
    db.close()
    before = path.read_bytes()
    with pytest.raises(JournalCorrupt) as refused:
        SqliteStore(path)
    assert "another program's" in said(refused, path)
    assert path.read_bytes() == before


def test_a_journal_of_a_newer_version(path: Path) -> None:
    SqliteStore(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(JournalNewer) as refused:
        SqliteStore(path)
    assert "version 99" in said(refused, path)


def test_a_damaged_file_says_so_when_it_is_read(path: Path) -> None:
    store = SqliteStore(path)
    store.create(row("a"))
    store.extend("a", [tick(n) for n in range(2000)])
    store.close()
    with path.open("r+b") as file:
        for page in range(20, 60):
            file.seek(page * 4096)
            file.write(os.urandom(4096))
    store = SqliteStore(path)
    with pytest.raises(JournalCorrupt):
        store.read("a", 0)
    store.close()


def test_a_tick_that_is_missing_is_not_passed_over(path: Path) -> None:
    store = SqliteStore(path)
    store.create(row("a"))
    store.extend("a", [tick(n) for n in range(10)])
    db = sqlite3.connect(path)
    db.execute("DELETE FROM tick WHERE n = 4")
    db.commit()
    db.close()
    with pytest.raises(JournalCorrupt, match="session 'a' has 5 of its ticks 0 to 9"):
        store.read("a", 0)
    store.close()


# No space


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.call(command, stderr=subprocess.DEVNULL):
        if os.environ.get("CI"):
            pytest.fail("CI must be able to mount a small file system")
        pytest.skip("mounting needs root; the test with a page limit runs everywhere")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_loses_nothing_that_was_durable(small_disk: Path) -> None:
    _fill(small_disk / "journal.db", limit=None)


def test_a_full_database_loses_nothing_that_was_durable_and_goes_on_when_there_is_room(
    path: Path,
) -> None:
    _fill(path, limit=100)


def _fill(path: Path, limit: int | None) -> None:
    store = SqliteStore(path)
    if limit is not None:
        store._writer._db.execute(f"PRAGMA max_page_count = {limit}")
    store.create(row("a"))
    kept = 0

    def fill() -> None:
        nonlocal kept
        while True:
            store.append("a", tick(kept, "x" * 500))
            kept += 1

    with pytest.raises(JournalFull) as refused:
        fill()
    assert "full" in said(refused, path)
    assert kept > 10
    with pytest.raises(JournalFull):
        store.append("a", tick(kept, "x" * 500))
    assert isinstance(store.trouble, JournalFull)
    expected = [tick(n, "x" * 500) for n in range(kept)]
    assert store.read("a", 0) == expected
    if limit is not None:
        store._writer._db.execute(f"PRAGMA max_page_count = {2 * limit}")
        assert store.acquire("a", "me", 60).granted
        store.append("a", tick(kept, "x" * 500))
        expected.append(tick(kept, "x" * 500))
    store.close()
    store = SqliteStore(path)
    assert store.read("a", 0) == expected
    store.close()


@in_loop
async def test_a_brisk_session_loses_nothing_that_was_durable_when_the_disk_is_full(
    path: Path,
) -> None:
    store = SqliteStore(path)
    await done(store.create(row("a"), "me", 60))
    store._writer._db.execute("PRAGMA max_page_count = 100")
    kept = 0

    async def fill() -> None:
        nonlocal kept
        while True:
            await done(store.append("a", tick(kept, "x" * 500)))
            kept += 1

    with pytest.raises(JournalFull):
        await fill()
    assert kept > 10
    assert store.read("a", 0) == [tick(n, "x" * 500) for n in range(kept)]
    store.close()
    store = SqliteStore(path)
    assert store.read("a", 0) == [tick(n, "x" * 500) for n in range(kept)]
    store.close()


@in_loop
async def test_everybody_who_waits_hears_that_the_disk_is_full(path: Path) -> None:
    store = SqliteStore(path)
    names = [f"s{n}" for n in range(50)]
    for wait in [store.create(row(name)) for name in names]:
        await done(wait)
    store._writer._db.execute("PRAGMA max_page_count = 60")
    kept = dict.fromkeys(names, 0)

    async def run(name: str) -> None:
        for n in range(1000):
            await done(store.append(name, tick(n, "x" * 200)))
            kept[name] += 1

    outcomes = await asyncio.gather(*map(run, names), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {JournalFull}
    for name in names:
        assert store.read(name, 0) == [tick(n, "x" * 200) for n in range(kept[name])]
    store.close()


# Locks


_HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[str]]:
    """The file, while another process is in the middle of writing to it."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    with holder:
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.stdin.close()


def test_a_lock_that_is_not_given_up_is_an_error_and_no_more(path: Path) -> None:
    store = SqliteStore(path, patience=0.1)
    store.create(row("a"), "me", 60)
    store.append("a", tick(0))
    with held(path):
        with pytest.raises(JournalLocked) as refused:
            store.append("a", tick(1))
        assert "another process" in said(refused, path)
        assert store.read("a", 0) == [tick(0)]
        with pytest.raises(JournalLocked):
            store.acquire("a", "you", 60)
    store.append("a", tick(1))
    assert store.read("a", 0) == [tick(0), tick(1)]
    store.close()


@in_loop
async def test_the_loop_runs_on_while_another_process_writes(path: Path) -> None:
    store = SqliteStore(path)
    await done(store.create(row("a")))
    await done(store.append("a", tick(0)))
    with held(path) as holder:
        wait = store.append("a", tick(1))
        assert wait is not None
        beats = 0
        while beats < 20:
            await asyncio.sleep(0.005)
            beats += 1
        assert store.read("a", 0) == [tick(0)]
        assert holder.stdin is not None
        threading.Timer(0.05, holder.stdin.close).start()
        await done(wait)
        assert store.read("a", 0) == [tick(0), tick(1)]
    store.close()


@in_loop
async def test_a_lock_of_any_length_ends_no_session(path: Path) -> None:
    store = SqliteStore(path, patience=0.05)
    names = ["a", "b", "c"]
    for name in names:
        await done(store.create(row(name), "me", 60))
    with held(path) as holder:
        waits = [store.append(name, tick(0)) for name in names]
        store.release("c", "me")
        for _ in range(60):
            await asyncio.sleep(0.005)
        assert not any(wait is None or wait.done() for wait in waits)  # type: ignore[attr-defined]
        ready = store.ready()
        assert ready is not None
        with pytest.raises(JournalLocked):
            await done(store.create(row("new"), "me", 60))
        assert holder.stdin is not None
        holder.stdin.close()
        await ready
        for wait in waits:
            await done(wait)
    assert store.ready() is None
    for name in names:
        assert store.read(name, 0) == [tick(0)]
    await done(store.append("a", tick(1)))
    assert store.lease("c") is None
    assert store.session("new") is None
    await done(store.create(row("new"), "me", 60))
    store.close()


# A file that is not there any more


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    copy.replace(path)


@pytest.mark.parametrize("gone", [deleted, replaced])
@in_loop
async def test_a_file_that_goes_while_sessions_write_is_noticed_by_the_next_tick(
    path: Path, gone: Callable[[Path], None]
) -> None:
    store = SqliteStore(path)
    for name in ("a", "b"):
        await done(store.create(row(name), "me", 60))
    for n in range(5):
        await done(store.append("a", tick(n)))
    gone(path)
    with pytest.raises(JournalUnwritable) as refused:
        await done(store.append("a", tick(5)))
    assert "deleted or replaced" in said(refused, path)
    with pytest.raises(JournalUnwritable):
        await done(store.append("b", tick(0)))
    with pytest.raises(JournalUnwritable):
        store.post("a", b"{}")
    store.close()


_OPEN = """
import sys
from rondel.journal.sqlite.store import SqliteStore
from rondel.testing.journal_suite import row, tick
print("ready", flush=True)
for path in sys.stdin:
    store = SqliteStore(path.strip())
    store.create(row(sys.argv[1]))
    for n in range(5):
        store.append(sys.argv[1], tick(n))
    store.close()
    print("done", flush=True)
"""


def test_many_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    names = [f"p{n}" for n in range(6)]
    with ExitStack() as stack:
        openers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", _OPEN, name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for name in names
        ]
        paths = [tmp_path / f"{n}.db" for n in range(15)]
        for path in [None, *paths]:
            for opener in openers if path is not None else []:
                assert opener.stdin is not None
                opener.stdin.write(f"{path}\n")
                opener.stdin.flush()
            for opener in openers:
                assert opener.stdout is not None
                assert opener.stderr is not None
                line = opener.stdout.readline().strip()
                assert line == ("ready" if path is None else "done"), opener.stderr.read()
    for path in paths:
        store = SqliteStore(path)
        for name in names:
            assert store.read(name, 0) == [tick(n) for n in range(5)]
        store.close()
