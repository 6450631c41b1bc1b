"""Ids of sessions, and who drives them: a process that is gone is told from one out of sight."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rondel.journal import process
from rondel.sessions.labels import new_id
from rondel.sessions.lease import is_gone, new_owner, process_of


@pytest.fixture(autouse=True)
def _forget() -> None:
    process.processes.cache_clear()


def owner_of_a_process_that_ended() -> str:
    program = "from rondel.sessions.lease import new_owner; print(new_owner())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_process_of_this_machine_that_ended_is_gone() -> None:
    assert is_gone(owner_of_a_process_that_ended())
    assert not is_gone(new_owner())


def test_two_containers_of_one_name_do_not_take_each_other_for_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = owner_of_a_process_that_ended()  # as good as alive: nobody in another container can see
    real = os.stat
    inode = real("/proc/self/ns/pid").st_ino

    def stat(path: object, **options: object) -> object:
        if path == "/proc/self/ns/pid":
            return SimpleNamespace(st_ino=inode + 1)
        return real(path, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(process.os, "stat", stat)
    process.processes.cache_clear()
    assert not is_gone(there)
    assert process_of(there).endswith(f" on {socket.gethostname()}")
    assert not is_gone(new_owner())


def test_an_id_is_16_hex_digits_and_there_is_no_second_one() -> None:
    found = [new_id() for _ in range(1000)]
    assert all(re.fullmatch("[0-9a-f]{16}", id) for id in found)
    assert len(set(found)) == 1000
