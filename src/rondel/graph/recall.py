"""What a node is shown besides its messages: the session's task, and what it said before."""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from rondel.graph.guarantees import keeps_to
from rondel.graph.spec import Dialect, NodeSpec

ALL: Final = -1
"""All of its outputs."""


class Recall(msgspec.Struct, frozen=True):
    """Whether a node is shown the task, and how many of its own newest outputs."""

    task: bool = False
    own: int = 0
    """Outputs in the current entry of the innermost loop around the node; 0 is none, -1 all."""


NOTHING = Recall()
BY_DEFAULT = Recall(task=True, own=1)


@runtime_checkable
class Recalling(Protocol):
    """A config or processor whose node is shown more than its messages."""

    def recalls(self) -> Recall | None:
        """What it asks for; None means the default of the graph's dialect."""
        ...


def recall_of(spec: NodeSpec, dialect: Dialect) -> Recall:
    """What a node is shown besides its messages; nothing unless its type asks for it."""
    told: Any = spec.config if spec.processor is None else spec.processor
    if not keeps_to(told, Recalling):
        return NOTHING
    asked: Recall | None = told.recalls()
    if asked is not None:
        return asked
    return BY_DEFAULT if dialect.recalls else NOTHING
