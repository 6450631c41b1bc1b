"""What most steps come to, as short as it gets. It is a file of its own, because it is compiled."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from rondel.engine.message import Message
from rondel.engine.ticks import Finished


@mypyc_attr(acyclic=True)
class Said:
    """A step produced one message, and nothing else is to be told.

    It is short for a `Finished`. Sessions hand it to their store, which may keep it so; whoever
    reads the store is given the tick. Compiled, it holds its times and its number itself.
    """

    __slots__ = ("at", "fired", "message", "step", "took")

    def __init__(
        self, at: float, step: int, message: Message, fired: tuple[int, ...], took: float
    ) -> None:
        self.at = at
        self.step = step
        self.message = message
        self.fired = fired
        self.took = took

    def __repr__(self) -> str:
        return f"Said({self.at}, {self.step}, {self.message!r}, {self.fired}, {self.took})"

    @property
    def tick(self) -> Finished:
        """The same at length."""
        return Finished(self.at, self.step, (self.message,), self.fired, took=self.took)
