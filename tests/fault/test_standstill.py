"""A process that stood still for longer than its lease begins nothing that another has finished."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from rondel import Engine
from rondel.errors import SessionBusy
from rondel.sessions import local_sessions
from tests.e2e.command import ROOT
from tests.fault.standstill import LEASE, registry

PATIENCE = 60.0
SESSION = "still"


async def stopped(process: subprocess.Popen[str]) -> None:
    await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


async def taken_over(db: str, marks: Path) -> None:
    """Go on with the session to its end, as soon as it is free."""
    async with Engine(db, registry=registry(str(marks))) as engine, asyncio.timeout(PATIENCE):
        while True:
            try:
                session = await engine.resume(SESSION)
                break
            except SessionBusy:
                await asyncio.sleep(0.1)
        assert (await session.result()).status == "completed"


@pytest.mark.parametrize(
    "where",
    ["1", "4", "first[1]/parts two"],  # before steps beside each other, before one, in a part
)
async def test_who_stood_still_begins_nothing_that_is_over(
    db: str, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_sessions, "LEASE", LEASE)
    marks = tmp_path / "marks"
    program = [sys.executable, "-m", "tests.fault.standstill", db, SESSION, str(marks), where]
    pipe = subprocess.PIPE
    still = await asyncio.to_thread(
        partial(subprocess.Popen, program, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)
    )
    try:
        await asyncio.wait_for(stopped(still), PATIENCE)
        await taken_over(db, marks)
        known = marks.read_text()
        still.send_signal(signal.SIGCONT)
        told, error = await asyncio.to_thread(still.communicate, timeout=PATIENCE)
    finally:
        still.kill()
        still.communicate()
    assert marks.read_text() == known
    assert "LeaseLost" in error or told == "completed\n"
