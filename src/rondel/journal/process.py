"""Names for processes of this machine that are never used again."""

from __future__ import annotations

import os
import uuid
from functools import cache
from hashlib import sha256

import psutil

from rondel.journal.clock import boot

_NAMESPACE = "/proc/self/ns/pid"


def began(pid: int) -> str:
    """When a living process began, in seconds since the machine did; empty if it has ended.

    It does not depend on the system's clock.
    """
    try:
        process = psutil.Process(pid)
        is_dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return "" if is_dead else f"{process.create_time() - psutil.boot_time():.2f}"
    except psutil.NoSuchProcess:
        return ""


@cache
def processes() -> str:
    """A name for the group of processes whose numbers this process can see.

    Two containers may have the same host name, and each its own process 7.
    """
    try:
        seen = f"{boot()}:{os.stat(_NAMESPACE).st_ino}"
    except OSError:
        seen = f"{boot()}:{uuid.getnode()}"
    return sha256(seen.encode()).hexdigest()[:8]


def this_process() -> str:
    """A name for this process that no other ever has."""
    pid = os.getpid()
    return f"{pid}:{began(pid)}:{boot()}"


def is_alive(name: str) -> bool:
    """Whether the process of that name lives."""
    pid, _, rest = name.partition(":")
    return pid.isdigit() and rest == f"{began(int(pid))}:{boot()}"
