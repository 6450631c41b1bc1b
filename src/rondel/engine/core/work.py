"""What is still to be followed up of a tick: small facts, taken up one by one (`fold.py`).

Whoever takes a fact up changes the state and returns the facts that follow from that, in the
order in which they are to be taken up, each with all that follows from it.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from rondel.engine.core.contract import Ruling
from rondel.engine.core.frame import Frame
from rondel.engine.core.step import Step


@mypyc_attr(free_list_len=1)
class ItemReady:
    """Every edge into an item is settled and enough of them fired: it begins."""

    __slots__ = ("frame", "item")

    def __init__(self, frame: Frame, item: int) -> None:
        self.frame = frame
        self.item = item


class ItemSkipped:
    """Every edge into an item is settled and too few of them fired: it does not run."""

    __slots__ = ("frame", "item")

    def __init__(self, frame: Frame, item: int) -> None:
        self.frame = frame
        self.item = item


@mypyc_attr(free_list_len=1)
class ItemSettled:
    """An item of a round has run or was skipped: the edges out of it are settled."""

    __slots__ = ("frame", "item")

    def __init__(self, frame: Frame, item: int) -> None:
        self.frame = frame
        self.item = item


class GraphReached:
    """A step of a node with an inner graph began: the graph is entered."""

    __slots__ = ("owner",)

    def __init__(self, owner: Step) -> None:
        self.owner = owner


class LevelsOver:
    """All else is followed up: levels that ended meanwhile make room for the next.

    `since` is how many levels had ended before what is followed up began.
    """

    __slots__ = ("since",)

    def __init__(self, since: int) -> None:
        self.since = since


class RoundDue:
    """A loop that waited after a round goes on with the next one."""

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame


class RoundOver:
    """Every item of a round, or of a graph, is settled."""

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        self.frame = frame


class LoopLeft:
    """A loop is over for this reason."""

    __slots__ = ("frame", "ruling")

    def __init__(self, frame: Frame, ruling: Ruling) -> None:
        self.frame = frame
        self.ruling = ruling


Work = (
    ItemReady
    | ItemSkipped
    | ItemSettled
    | GraphReached
    | LevelsOver
    | RoundDue
    | RoundOver
    | LoopLeft
)

DONE: Final[list[Work]] = []
"""Nothing follows; shared by all and never changed."""
