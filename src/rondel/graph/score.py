"""Where the score of a round is found."""

from __future__ import annotations

from typing import NamedTuple


class PlanScore(NamedTuple):
    """Where a loop's score is: a path in the data of one node's messages, or of anyone's."""

    path: tuple[str, ...]
    node: int | None = None
