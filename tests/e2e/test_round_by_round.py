"""`rondel run --debug-loop`: round by round, in a terminal and without one."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.command import BIN, Ran, environment

Call = Callable[..., Ran]
Write = Callable[..., Path]

LOOP = """
graph:
  id: refine
  start: Writer
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [one, two, three, four]}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Writer, to: Writer}
    - {from: Writer, to: Done, label: limit}
  loops: {Writer: {max_rounds: 4}}
"""


def test_resume_goes_on_for_one_round_and_free_to_the_end(call: Call, graph_file: Write) -> None:
    file = graph_file(LOOP)
    ran = call("run", file, "--debug-loop", "Writer", "--json")
    assert (ran.code, ran.result["status"], ran.result["reason"]) == (130, "paused", "round_end")
    session = ran.result["session_id"]
    assert f"go on with: rondel resume {session}" in ran.err
    assert "paused: round_end" in call("show", session).out
    again = call("resume", session, "--json")
    assert (again.code, again.result["reason"]) == (130, "round_end")
    assert len(call("rounds", session, "--json").document) == 2
    free = call("resume", session, "--free", "--json")
    assert (free.code, free.result["output"]) == (0, "four")


def test_a_loop_that_is_not_there_is_refused(call: Call, graph_file: Write) -> None:
    ran = call("run", graph_file(LOOP), "--debug-loop", "Wirter")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: debug: 'Wirter' heads no loop; did you mean 'Writer'?\n"


@contextmanager
def terminal(*arguments: str) -> Iterator[Callable[[str, bytes], str]]:
    """A command at a terminal: read until a text has come, then type a line."""
    controller, screen = pty.openpty()
    process = subprocess.Popen(
        [str(BIN / "rondel"), *arguments],
        stdin=screen,
        stdout=screen,
        stderr=screen,
        env=environment(NO_COLOR="1"),
    )
    os.close(screen)
    shown = ""

    def until(text: str, line: bytes) -> str:
        nonlocal shown
        while text not in shown:
            shown += os.read(controller, 65536).decode()
        before, _, shown = shown.partition(text)
        os.write(controller, line)
        return before

    try:
        yield until
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
        os.close(controller)


@pytest.mark.skipif(os.name != "posix", reason="there are no such terminals elsewhere")
def test_a_terminal_shows_the_round_and_waits_for_enter(graph_file: Write, tmp_path: Path) -> None:
    file, db = str(graph_file(LOOP)), str(tmp_path / "a.db")
    with terminal("run", file, "--debug-loop", "Writer", "--db", db) as until:
        assert "one" in until("Enter for the next round", b"\n")
        second = until("Enter for the next round", b"f\n")
        assert "two" in second
        assert "three" not in second
        assert "four" in until("status  completed", b"")
