"""Who drives sessions: this process, told apart from one that is gone."""

from __future__ import annotations

import os
import secrets
import socket
from pathlib import Path

_PARTS = 4


def new_owner() -> str:
    """A name for this engine: host, process, when that process began, and a random part."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_began(pid)}:{secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether that owner was a process of this machine that does not live any more."""
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) != _PARTS or parts[0] != socket.gethostname() or not parts[1].isdigit():
        return False
    pid = int(parts[1])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return parts[2] != _began(pid) or _is_dead(pid)


def process_of(owner: str) -> str:
    """An owner in words: its process, and its machine unless it is this one."""
    parts = owner.rsplit(":", _PARTS - 1)
    if len(parts) != _PARTS:
        return owner
    here = parts[0] == socket.gethostname()
    return f"process {parts[1]}" + ("" if here else f" on {parts[0]}")


def _began(pid: int) -> str:
    """When a process began, in ticks since boot; empty where the system does not tell."""
    fields = _stat(pid)
    return fields[19] if fields else ""


def _is_dead(pid: int) -> bool:
    """Whether a process has ended already, and only its parent has not noticed."""
    return _stat(pid)[:1] in (["Z"], ["X"])


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
