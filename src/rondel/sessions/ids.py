"""The ids of sessions: 16 hex digits that nobody can guess."""

from __future__ import annotations

import secrets


def new_id() -> str:
    """An id that no session has."""
    return secrets.token_hex(8)
