"""The ids of sessions: well-formed, each once, and none shared with a forked process."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from rondel.sessions.ids import BATCH, new_id

MANY = 3 * BATCH + 1


def ids(count: int) -> list[str]:
    return [new_id() for _ in range(count)]


def test_an_id_is_16_hex_digits_and_there_is_no_second_one() -> None:
    found = ids(MANY)
    assert all(re.fullmatch("[0-9a-f]{16}", id) for id in found)
    assert len(set(found)) == MANY


def test_threads_share_no_id() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = [id for part in pool.map(ids, [MANY] * 8) for id in part]
    assert len(set(found)) == len(found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_shares_no_id_with_its_parent() -> None:
    new_id()  # now some are drawn
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, " ".join(ids(BATCH)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        theirs = pipe.read().split()
    os.waitpid(child, 0)
    assert len(theirs) == BATCH
    assert not set(theirs) & set(ids(BATCH))
