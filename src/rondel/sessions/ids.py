"""The ids of sessions, and of the processes that drive them."""

from __future__ import annotations

import os
import secrets
import socket

from rondel.journal.process import began, processes


def new_id() -> str:
    """A new id for a session."""
    return secrets.token_hex(8)


_PARTS = 4


def new_owner() -> str:
    """A name for this engine: machine, process, when that process began, and a random part."""
    pid = os.getpid()
    return f"{_machine()}:{pid}:{began(pid)}:{secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether that owner was a process of this machine that has ended.

    False for another machine, or a container whose processes cannot be seen: its leases run out.
    """
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) != _PARTS or parts[0] != _machine() or not parts[1].isdigit():
        return False
    return parts[2] != began(int(parts[1]))


def process_of(owner: str) -> str:
    """An owner as text: its process, and its machine unless it is this one."""
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) != _PARTS:
        return owner
    here = parts[0] == _machine()
    return f"process {parts[1]}" + ("" if here else f" on {parts[0].partition('/')[0]}")


def _machine() -> str:
    """The name of this machine and of its group of processes; containers may share a name."""
    return f"{socket.gethostname()}/{processes()}"
