"""A journal after a sudden death has all that it said was durable, and no gap."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rondel.errors import UnknownSession
from rondel.journal.sqlite.store import SqliteStore
from rondel.sessions.stores import is_address, open_store
from rondel.testing.crash_points import POINTS, armed, run_until_crash
from rondel.testing.journal_suite import row, tick

DRIVER = [sys.executable, "-m", "tests.fault.journal.driver"]


def command(path: Path | str, durability: str, sessions: int, count: int) -> list[str]:
    return [*DRIVER, str(path), durability, str(sessions), str(count)]


def acknowledged(output: str) -> dict[str, int]:
    """How many ticks of each session were said to be durable."""
    told: dict[str, int] = {}
    for line in output.splitlines():
        name, n = line.split()
        told[name] = int(n) + 1
    return told


def check(path: Path, told: dict[str, int], sessions: int, under_way: int = 1) -> None:
    """Nothing is missing or made up, and the file is whole."""
    check_ticks(str(path), told, sessions, under_way)
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def check_ticks(database: str, told: dict[str, int], sessions: int, under_way: int = 1) -> None:
    """Nothing that was told is missing, nothing is out of place, nothing was made up."""
    store = open_store(database, "normal")
    for name in (f"s{n}" for n in range(sessions)):
        try:
            found = store.read(name, 0)
        except UnknownSession:
            found = []
        assert found == [tick(n, name) for n in range(len(found))]
        assert told.get(name, 0) <= len(found) <= told.get(name, 0) + under_way
        kept = store.session(name)
        if kept is not None and found:
            assert kept.status == f"step {(len(found) - 1) // 7 * 7}"
    store.close()


@pytest.mark.parametrize("sessions", [1, 5])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_named_point_and_taken_up_again(
    tmp_path: Path, point: str, sessions: int
) -> None:
    path = tmp_path / "journal.db"
    crashes = 0
    told: dict[str, int] = {}
    for count in (1, 4, 9):
        run = run_until_crash(command(path, "normal", sessions, 30), point, count)
        assert run.crashed or not run.stderr
        crashes += run.crashed
        told |= acknowledged(run.stdout)
        check(path, told, sessions)
        if run.crashed:
            store = SqliteStore(path)
            told = {f"s{n}": _length(store, f"s{n}") for n in range(sessions)}
            store.close()
    alone = sessions == 1  # then a commit is told by returning, and nobody has to be woken
    assert crashes >= (1 if alone and point == "before_wake" else 2)
    last = subprocess.run(command(path, "normal", sessions, 30), check=True)
    assert last.returncode == 0
    check(path, {f"s{n}": 30 for n in range(sessions)}, sessions)


def _length(store: SqliteStore, name: str) -> int:
    kept = store.session(name)
    return 0 if kept is None else kept.length


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_killed_at_any_moment(tmp_path: Path, durability: str) -> None:
    chance = random.Random(durability)
    for attempt in range(3):
        path = tmp_path / f"{attempt}.db"
        process = subprocess.Popen(
            command(path, durability, 8, 100_000), stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
        process.stdout.close()
        process.wait()
        whole = (first + rest).rpartition("\n")[0]
        told = acknowledged(whole)
        assert told
        check(path, told, 8)


def test_a_copy_made_while_writing_has_a_whole_beginning(tmp_path: Path) -> None:
    """As after a power cut: the file and its log, caught at some moment of their lives."""
    path = tmp_path / "journal.db"
    process = subprocess.Popen(
        command(path, "normal", 3, 100_000), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    for attempt in range(5):
        copy = tmp_path / f"copy{attempt}"
        copy.mkdir()
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        subprocess.run(["cp", path, f"{path}-wal", copy], check=True)
        process.send_signal(signal.SIGCONT)
        store = SqliteStore(copy / "journal.db")
        for name in ("s0", "s1", "s2"):
            kept = store.session(name)
            found = store.read(name, 0) if kept is not None else []
            assert found == [tick(n, name) for n in range(len(found))]
        store.close()
        for _ in range(50):
            process.stdout.readline()
    process.kill()
    process.stdout.close()
    process.wait()


def test_a_log_that_is_torn_at_any_byte_has_a_whole_beginning(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    run = run_until_crash(command(path, "normal", 3, 40), "after_commit", 30)
    assert run.crashed
    told = acknowledged(run.stdout)
    main, log = path.read_bytes(), path.with_name("journal.db-wal").read_bytes()
    chance = random.Random(1)
    lengths: list[int] = []
    for cut in [*sorted(chance.sample(range(len(log)), 15)), len(log)]:
        place = tmp_path / f"cut{cut}"
        place.mkdir()
        (place / "journal.db").write_bytes(main)
        (place / "journal.db-wal").write_bytes(log[:cut])
        store = SqliteStore(place / "journal.db")
        total = 0
        for name in told:
            kept = store.session(name)
            found = store.read(name, 0) if kept is not None else []
            assert found == [tick(n, name) for n in range(len(found))]
            total += len(found)
        store.close()
        lengths.append(total)
    assert lengths == sorted(lengths)
    assert lengths[-1] >= sum(told.values())


_CONTEND = """
import sys, time
from rondel.sessions.stores import open_store
from rondel.testing.journal_suite import tick
database, me, most = sys.argv[1:]
store = open_store(database, "normal")
print("ready", flush=True)
sys.stdin.readline()
turns = 0
while turns < int(most):
    if store.acquire("a", me, 600).granted:
        n = len(store.read("a", 0))
        for more in range(3):
            store.append("a", tick(n + more, me))
        store.release("a", me)
        turns += 1
    time.sleep(0.0005)
store.close()
"""


def test_two_processes_never_drive_one_session_at_once(db: str) -> None:
    turns = 10 if is_address(db) else 50
    store = open_store(db, "normal")
    store.create(row("a"))
    names = ["one", "two", "three"]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _CONTEND, db, name, str(turns)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate()
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    found = store.read("a", 0)
    assert len(found) == 3 * turns * 3
    for first in range(0, len(found), 3):
        turn = found[first : first + 3]
        assert any(turn == [tick(first + n, name) for n in range(3)] for name in names)
    store.close()


def test_the_lease_of_a_killed_process_runs_out(db: str) -> None:
    run = run_until_crash(command(db, "normal", 1, 10), "after_commit", 4)
    assert run.crashed
    store = open_store(db, "normal")
    refused = store.acquire("s0", "rescuer", 60)
    assert not refused.granted
    assert refused.owner == "driver"
    assert 0 < refused.until - time.time() <= 60
    store.close()


def test_an_unknown_crash_point_is_refused() -> None:
    with pytest.raises(ValueError, match="before_commit"):
        armed("before_lunch")
    run = subprocess.run(
        [sys.executable, "-c", "import rondel.journal.crash"],
        env={**armed("before_commit"), "RONDEL_CRASH_AT": "before_lunch:1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "no crash point 'before_lunch'" in run.stderr


@pytest.mark.parametrize("point", POINTS)
def test_so_it_is_on_postgresql(database: str, point: str) -> None:
    run = run_until_crash(command(database, "normal", 5, 30), point, 9)
    assert run.crashed, run.stderr
    check_ticks(database, acknowledged(run.stdout), 5)
    subprocess.run(command(database, "normal", 5, 30), check=True, stdout=subprocess.DEVNULL)
    check_ticks(database, {f"s{n}": 30 for n in range(5)}, 5)


def test_killed_at_any_moment_on_postgresql(database: str) -> None:
    writing = command(database, "normal", 8, 100_000)
    process = subprocess.Popen(writing, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(0.15)
    process.send_signal(signal.SIGKILL)
    told = acknowledged((first + process.stdout.read()).rpartition("\n")[0])
    process.stdout.close()
    process.wait()
    assert told
    check_ticks(database, told, 8)
