"""The ids of sessions, and of the processes that drive them."""

from __future__ import annotations

import os
import secrets
import socket

from rondel.journal.process import began


def new_id() -> str:
    """An id that no session has."""
    return secrets.token_hex(8)


_PARTS = 4


def new_owner() -> str:
    """A name for this engine: host, process, when that process began, and a random part."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{began(pid)}:{secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether that owner was a process of this machine that does not live any more."""
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) != _PARTS or parts[0] != socket.gethostname() or not parts[1].isdigit():
        return False
    return parts[2] != began(int(parts[1]))


def process_of(owner: str) -> str:
    """An owner in words: its process, and its machine unless it is this one."""
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) != _PARTS:
        return owner
    here = parts[0] == socket.gethostname()
    return f"process {parts[1]}" + ("" if here else f" on {parts[0]}")
