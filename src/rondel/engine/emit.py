"""The outcome of most steps. It is a file of its own, because it is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from mypy_extensions import mypyc_attr

from rondel.engine.message import Message

if TYPE_CHECKING:
    from rondel.engine.protocols import Verdict

UNCHANGED: Final = msgspec.UNSET
"""The default of an outcome's `state`: the node's private state stays as it is."""


@mypyc_attr(free_list_len=1)
class Emit:
    """The step produced messages; they go along the edges that hold for them."""

    __slots__ = ("messages", "report", "state", "verdict")

    def __init__(
        self,
        messages: Sequence[Message],
        state: Any = UNCHANGED,
        verdict: Verdict | None = None,
        report: dict[str, Any] | None = None,
    ) -> None:
        self.messages = messages
        self.state = state
        self.verdict = verdict
        self.report = report

    def __repr__(self) -> str:
        return f"Emit({self.messages!r}, {self.state!r}, {self.verdict!r}, {self.report!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Emit):
            return NotImplemented
        mine = (self.messages, self.state, self.verdict, self.report)
        return mine == (other.messages, other.state, other.verdict, other.report)

    __hash__ = None  # type: ignore[assignment]
