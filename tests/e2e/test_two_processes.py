"""Sessions that outlive their process, and processes that share a session."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import pytest

from tests.e2e import graphs
from tests.e2e.command import Ran, environment, rondel, start

Call = Callable[..., Ran]
Write = Callable[..., Path]
Run = subprocess.Popen[str]


@contextmanager
def running(*arguments: str, until: str, **variables: str) -> Iterator[tuple[Run, str]]:
    """A `rondel` with --json that has printed what is waited for, and its session."""
    with start(*arguments, "--json", env=environment(**variables)) as process:
        try:
            session = read_until(process, until)["session_id"]
            Drain.of(process)
            yield process, session
        finally:
            process.kill()
            Drain.of(process).join()


class Drain(threading.Thread):
    """Reads on what a process prints: one that nobody reads stops at a full pipe."""

    running: ClassVar[WeakKeyDictionary[Run, Drain]] = WeakKeyDictionary()

    def __init__(self, process: Run) -> None:
        super().__init__(daemon=True)
        assert process.stdout is not None
        self._stdout = process.stdout
        self.out = ""

    @classmethod
    def of(cls, process: Run) -> Drain:
        """The one that reads this process."""
        if process not in cls.running:
            cls.running[process] = cls(process)
            cls.running[process].start()
        return cls.running[process]

    def run(self) -> None:
        self.out = self._stdout.read()


def read_until(process: Run, sign: str) -> dict[str, Any]:
    """The first line with that in it."""
    assert process.stdout is not None
    for line in process.stdout:
        if sign in line:
            found: dict[str, Any] = json.loads(line)
            return found
    assert process.stderr is not None
    raise AssertionError(f"it never said {sign}: {process.stderr.read()}")


def ended(process: Run) -> Ran:
    """What it printed after what was waited for."""
    assert process.stderr is not None
    drain = Drain.of(process)
    with process:
        err = process.stderr.read()
        drain.join()
    return Ran(process.returncode, drain.out, err)


def stop_between_writes(process: Run) -> None:
    """Stop it where it does not hold the lock without which nobody else can write."""
    journal = sqlite3.connect(os.environ["RONDEL_DB"], timeout=0, isolation_level=None)
    with closing(journal):
        while True:
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            try:
                journal.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                process.send_signal(signal.SIGCONT)
                time.sleep(0.01)
            else:
                return


def test_a_question_is_answered_by_another_process(graph_file: Write) -> None:
    ran = rondel("run", str(graph_file(graphs.REVIEW)), "-i", "tea", "--no-input", "--json")
    assert ran.code == 4
    answered = rondel("answer", ran.result["session_id"], "approve")
    assert answered.code == 0
    assert "status  completed" in answered.out


def test_a_question_on_the_screen_is_answered_from_elsewhere(graph_file: Write) -> None:
    file = str(graph_file(graphs.REVIEW))
    with running("run", file, until="human_input_required") as (first, session):
        answered = rondel("answer", session, "approve")
        assert answered.code == 0
        ran = ended(first)
    assert ran.code == 0
    assert ran.result["status"] == "completed"


def test_after_a_kill_resume_goes_on_and_nothing_runs_twice(
    graph_file: Write, tmp_path: Path
) -> None:
    file, effects = str(graph_file(graphs.EFFECTS, "effects.py")), tmp_path / "effects"
    with running("run", file, until="token_stream", EFFECTS=str(effects)) as (first, session):
        first.send_signal(signal.SIGKILL)
        first.wait(60)
    assert effects.read_text() == "first\nsecond after one\n"
    (tmp_path / "effects.go").touch()
    assert "  nobody\n" in rondel("sessions").out
    ran = rondel("resume", session, file, "--json", env=environment(EFFECTS=str(effects)))
    assert (ran.code, ran.err) == (0, "")
    assert ran.result["output"] == "done"
    assert effects.read_text() == "first\nsecond after one\nlast after slow\n"
    steps = json.loads(rondel("show", session, "--steps", "--json").out)["steps"]
    assert [(step["address"], step["status"]) for step in steps] == [
        ("first", "completed"),
        ("second", "completed"),
        ("slow", "completed"),
        ("last", "completed"),
    ]


def test_after_ctrl_c_resume_goes_on(graph_file: Write, tmp_path: Path) -> None:
    file, variables = (
        str(graph_file(graphs.EFFECTS, "e.py")),
        {"EFFECTS": str(tmp_path / "effects")},
    )
    with running("run", file, until="token_stream", **variables) as (first, session):
        first.send_signal(signal.SIGINT)
        ran = ended(first)
    assert ran.code == 130
    assert f"go on with: rondel resume {session} FILE.py" in ran.err
    (tmp_path / "effects.go").touch()
    resumed = rondel("resume", session, file, env=environment(**variables))
    assert resumed.code == 0
    assert (tmp_path / "effects").read_text().count("first\n") == 1


def test_events_of_a_session_that_another_process_drives(graph_file: Write) -> None:
    change = "graph.nodes.Gate.config.max_rounds=12"
    arguments = ("run", str(graph_file(graphs.STEADY)), "--set", change)
    with running(*arguments, until="Tick[2]") as (first, session):
        followed = rondel("events", session, "--follow", "--json")
        ran = ended(first)
    assert (followed.code, followed.err) == (0, "")
    assert followed.result["data"]["status"] == ran.result["status"]
    assert followed.out == rondel("events", session, "--json").out


def test_another_process_pauses_and_resumes_and_stops(graph_file: Write) -> None:
    file = str(graph_file(graphs.STEADY))
    with running("run", file, until="Tick[2]") as (first, session):
        assert f"process {first.pid}" in rondel("sessions").out
        assert f"driven by  process {first.pid}\n" in rondel("show", session).out
        signalled = rondel("signal", session, "hurry")
        assert (
            signalled.out == f"session {session} has the signal 'hurry' (by process {first.pid})\n"
        )
        paused = rondel("pause", session)
        assert (paused.code, paused.err) == (0, "")
        by = rf"( \(by process {first.pid}\))?"  # unless it has let go of the session by then
        assert re.match(f"session {session} is paused{by}; ", paused.out)
        ran = ended(first)
    assert (ran.code, ran.result["status"]) == (130, "paused")
    assert f"go on with: rondel resume {session}\n" in ran.err
    assert ran.lines[-2]["event"] != "result"
    with running("resume", session, until="token_stream") as (second, _):
        stopped = rondel("stop", session, "--by", "Ada")
        told = f"session {session} is cancelled (by process {second.pid})\n"
        assert (stopped.out, stopped.err) == (told, "")
        ran = ended(second)
    assert (ran.code, ran.result["message"]) == (130, "stopped by Ada")


def test_a_session_has_one_driver(graph_file: Write) -> None:
    with running("run", str(graph_file(graphs.STEADY)), until="Tick[1]") as (first, session):
        for arguments in (["resume", session],):
            ran = rondel(*arguments)
            assert (ran.code, ran.out) == (2, "")
            assert f"another process drives session {session} (process {first.pid}); " in ran.err
            assert ran.err.count("\n") == 1
        wrong = rondel("answer", session, "x")
        assert (wrong.code, wrong.out) == (2, "")
        assert "no open question to answer" in wrong.err


def test_of_two_that_resume_at_once_one_is_refused(graph_file: Write) -> None:
    with running("run", str(graph_file(graphs.STEADY)), until="Tick[1]") as (first, session):
        first.kill()
        first.wait(60)
    both = [start("resume", session, "--json") for _ in range(2)]
    for process in both:
        Drain.of(process)
    while all(process.poll() is None for process in both):
        time.sleep(0.01)
    assert rondel("stop", session).code == 0
    driver, refused = sorted((ended(process) for process in both), key=lambda ran: -ran.code)
    assert (driver.code, driver.result["status"]) == (130, "cancelled")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert f"another process drives session {session}" in refused.err


def test_a_control_for_a_process_that_does_not_listen_is_left_for_it(
    graph_file: Write, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondel.cli.control.PATIENCE", 0.3)
    with running("run", str(graph_file(graphs.STEADY)), until="Tick[1]") as (first, session):
        stop_between_writes(first)
        ran = call("pause", session)
        assert ran.code == 0
        assert ran.out.startswith(f"left for process {first.pid}, which has not acted on it yet")
        first.send_signal(signal.SIGCONT)
        assert ended(first).result["status"] == "paused"


def test_what_a_dead_process_did_not_read_is_not_lost(
    graph_file: Write, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondel.cli.control.PATIENCE", 0.3)
    with running("run", str(graph_file(graphs.STEADY)), until="Tick[1]") as (first, session):
        stop_between_writes(first)
        assert "has not acted" in call("stop", session, "--by", "Ada").out
        first.kill()
        first.wait(60)
    resumed = call("resume", session)
    assert resumed.code == 130
    assert "cancelled: stopped by Ada" in resumed.out
