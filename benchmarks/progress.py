"""Says what is under way: nothing slow is silent."""

from __future__ import annotations

import sys


def tell(progress: str) -> None:
    """Say on a terminal what is under way; the next word replaces it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{progress}")
        sys.stderr.flush()


def note(line: str) -> None:
    """Say something that stays."""
    tell("")
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
