"""A transcript that knows how old its messages are, for loops that forget older rounds."""

from __future__ import annotations

from collections.abc import Sequence

from rondel.engine.core.transcript import EVERYTHING, Transcript, survives
from rondel.engine.message import Message
from rondel.graph.plan import PlanEdge


class AgingTranscript(Transcript):
    """Each retained message carries the number of the step that retained it."""

    __slots__ = ("stamps",)

    def __init__(self, window: int, recalls: int = 0) -> None:
        super().__init__(window, recalls)
        self.stamps: list[int] = []
        """While a step is under way, those of all that it sees."""
        self.remembers = True

    def take(self, number: int, /) -> tuple[Sequence[Message], Sequence[Message]]:
        """Empty the inbox for a step; what is new belongs to it."""
        seen, new = super().take(number)
        self.stamps.extend([number] * len(new))
        return seen, new

    def retain(self, seen: Sequence[Message], output: Sequence[Message], number: int, /) -> None:
        """Keep what the window says, and how old it is."""
        super().retain(seen, output, number)
        own = [number] * len(output)
        if self.window == EVERYTHING:
            self.stamps.extend(own)
        elif self.window == 0:
            self.stamps = [s for s, m in zip(self.stamps, seen, strict=True) if m.kept]
        else:
            kept = self.retained[: len(self.retained) - len(output)]
            self.stamps = [*_stamps_of(kept, seen, self.stamps), *own]

    def forget_before(self, number: int) -> None:
        """Drop what was retained before that step, but for what is kept."""
        stamped = zip(self.retained, self.stamps, strict=True)
        left = [(m, stamp) for m, stamp in stamped if m.kept or stamp >= number]
        if len(left) < len(self.retained):
            self.replace([message for message, _ in left], keeps=self.keeps)
            self.stamps = [stamp for _, stamp in left]

    def _clear(self, old: list[Message], edge: PlanEdge) -> list[Message]:
        stamped = zip(old, self.stamps, strict=True)
        self.stamps = [stamp for message, stamp in stamped if survives(message, edge)]
        return super()._clear(old, edge)


def _stamps_of(
    kept: Sequence[Message], seen: Sequence[Message], stamps: Sequence[int]
) -> list[int]:
    """The stamps of those that were kept of what was seen, in the same order; newest first won."""
    found: list[int] = []
    place = len(seen)
    for message in reversed(kept):
        place -= 1
        while seen[place] is not message:
            place -= 1
        found.append(stamps[place])
    return found[::-1]
