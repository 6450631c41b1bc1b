"""The context of a tool's call, for functions that ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where a tool is called; a function gets it in an argument with this annotation.

    `idempotency_key` is the same whenever this very call is made again, after a crash too.
    """

    idempotency_key: str
    session_id: str = ""
    node_id: str = ""
    address: str = ""
    round: int = 1
    inputs: Mapping[str, Any] = field(default_factory=dict)


NOWHERE = ToolContext("")
"""The context of a call outside any step."""
