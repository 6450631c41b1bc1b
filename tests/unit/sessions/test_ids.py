"""The ids of sessions: well-formed, and each once."""

from __future__ import annotations

import re

from rondel.sessions.labels import new_id


def test_an_id_is_16_hex_digits_and_there_is_no_second_one() -> None:
    found = [new_id() for _ in range(1000)]
    assert all(re.fullmatch("[0-9a-f]{16}", id) for id in found)
    assert len(set(found)) == 1000
