"""The ids of sessions: 16 hex digits that nobody can guess."""

from __future__ import annotations

import os

DIGITS = 16

BATCH = 256
"""How many ids are drawn at once: every draw is a system call."""

_drawn: list[str] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)  # they are the parent's


def new_id() -> str:
    """An id that no session has."""
    try:
        return _drawn.pop()
    except IndexError:
        return _draw()


def _draw() -> str:
    """One id, and more for those who come next."""
    digits = os.urandom(BATCH * DIGITS // 2).hex()
    mine, *others = (digits[at : at + DIGITS] for at in range(0, len(digits), DIGITS))
    _drawn.extend(others)
    return mine
