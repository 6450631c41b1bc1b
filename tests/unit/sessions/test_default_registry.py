"""Threads that ask first at once get one registry."""

from __future__ import annotations

from tests.plain import run_plain

ASK = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from rondel.sessions.registry import default_registry

together = Barrier(8)

def ask(_):
    together.wait()
    return id(default_registry())

with ThreadPoolExecutor(8) as threads:
    print(len(set(threads.map(ask, range(8)))))
"""


def test_all_threads_get_the_same_registry() -> None:
    assert run_plain("-c", ASK).strip() == "1"
