"""What a node sees and retains: deliveries applied in logical order, then the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, overload

import msgspec
from mypy_extensions import mypyc_attr

from rondel.engine.message import Message, merged_data
from rondel.graph.plan import PlanEdge

EVERYTHING: Final = -1
"""The context window that forgets nothing."""


@mypyc_attr(free_list_len=1)
class Delivery:
    """One message, or a bare clear, on its way to a node, and when it was sent.

    The edge is given where it marks or clears something.
    """

    __slots__ = ("edge", "level", "message", "number", "place", "prefix", "round")

    def __init__(
        self,
        prefix: tuple[int, ...],
        round: int,
        level: int,
        place: int,
        number: int,
        message: Message | None,
        edge: PlanEdge | None,
    ) -> None:
        self.prefix = prefix
        self.round = round
        self.level = level
        self.place = place
        self.number = number
        self.message = message
        self.edge = edge


def logical_time(sent: Delivery) -> tuple[int, ...]:
    """The order in which a node sees its messages, whatever came first by the clock.

    The 0 sorts a plain node before an inner loop of the same level, whose rounds start at 1.
    """
    return (*sent.prefix, sent.round, sent.level, 0, sent.place, sent.number)


class Prefix(Sequence[Message]):
    """The first `length` messages of a list that only ever grows."""

    __slots__ = ("_length", "_messages")

    def __init__(self, messages: list[Message], length: int) -> None:
        self._messages = messages
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self._messages[i] for i in range(*index.indices(self._length))]
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(index)
        return self._messages[index]

    def __iter__(self) -> Iterator[Message]:
        return islice(iter(self._messages), self._length)


NO_DELIVERIES: Final[list[Delivery]] = []
NO_MESSAGES: Final[list[Message]] = []
NO_OUTPUTS: Final[list[tuple[Message, ...]]] = []
NOTHING_MERGED: Final[dict[str, Any]] = {}
"""What every transcript begins with, shared by all and never changed."""


class Transcript:
    """What a node carries through a session: its inbox, what it retains, its private state."""

    __slots__ = (
        "_merged",
        "_merged_length",
        "inbox",
        "keeps",
        "own",
        "own_entry",
        "private",
        "recalls",
        "remembers",
        "retained",
        "window",
    )

    def __init__(self, window: int, recalls: int = 0) -> None:
        self.window = window
        self.recalls = recalls
        """How many of its own newest outputs the node is shown again; -1 all."""
        self.own: list[tuple[Message, ...]] = NO_OUTPUTS
        """Those, oldest first: what it said in one entry of a loop."""
        self.own_entry = 0
        self.inbox: list[Delivery] = NO_DELIVERIES
        self.retained: list[Message] = [] if window == EVERYTHING else NO_MESSAGES
        self.private: Any = None
        self.keeps = False
        """Whether any message so far was kept."""
        self.remembers = window != 0
        """Whether `retain` may change anything."""
        self._merged = NOTHING_MERGED
        self._merged_length = 0

    @property
    def grows(self) -> bool:
        """Whether what it retains is never forgotten, but for what an edge clears."""
        return self.window == EVERYTHING

    def put(self, delivery: Delivery) -> None:
        """Keep a delivery for the node's next step."""
        if self.inbox is NO_DELIVERIES:
            self.inbox = []
        self.inbox.append(delivery)

    def replace(self, retained: list[Message], *, keeps: bool) -> None:
        """Retain something else."""
        self.retained = retained
        self.keeps = keeps
        self.remembers = self.remembers or keeps
        self._merged, self._merged_length = NOTHING_MERGED, 0

    def take(self, _number: int, /) -> tuple[Sequence[Message], Sequence[Message]]:
        """Empty the inbox for a step: all the node sees, and the part of it that is new."""
        inbox = self.inbox
        if len(inbox) == 1 and self.retained is NO_MESSAGES:
            sent = inbox[0]
            only = sent.message
            if only is not None and sent.edge is None and not only.kept:
                seen: Sequence[Message] = (only,)
                inbox.clear()
                return seen, seen
        self.inbox = NO_DELIVERIES
        return self._take_in(inbox)

    def _take_in(self, inbox: list[Delivery]) -> tuple[Sequence[Message], Sequence[Message]]:
        """Apply deliveries in logical order."""
        if len(inbox) > 1:
            inbox.sort(key=logical_time)
        old = self.retained
        new: list[Message] = []
        for delivery in inbox:
            message, edge = delivery.message, delivery.edge
            if edge is not None:
                if edge.clear or edge.clear_kept:
                    old, new = self._clear(old, edge), _cleared(new, edge)
                if edge.keep and message is not None and not message.kept:
                    message = msgspec.structs.replace(message, kept=True)
            if message is None:
                continue
            if message.kept:
                self.keeps = self.remembers = True
            new.append(message)
        if self.window == EVERYTHING:
            self.retained = old
            old.extend(new)
            return Prefix(old, len(old)), new
        return (old + new if old else new), new

    def retain(self, seen: Sequence[Message], output: Sequence[Message], _number: int, /) -> None:
        """After a step of the node: keep what its window says."""
        if self.window == 0:
            if self.retained or self.keeps:
                self.retained = [message for message in seen if message.kept]
        elif self.window == EVERYTHING:
            self.retained.extend(output)
        else:
            self.retained = [*_newest(seen, self.window), *output]

    def note_own(self, output: tuple[Message, ...], entry: int) -> None:
        """Keep what the node said in this entry of its loop; of an earlier one nothing is left."""
        if self.own_entry != entry:
            self.own, self.own_entry = [], entry
        self.own.append(output)
        if 0 < self.recalls < len(self.own):
            del self.own[0]

    def own_in(self, entry: int) -> list[Message]:
        """What the node said in this entry of its loop, as far as it is shown it again."""
        if self.own_entry != entry:
            return []
        return [message for output in self.own for message in output]

    def data(self, seen: Sequence[Message]) -> dict[str, Any]:
        """The merged data of what the node sees, at a cost that does not grow with its past."""
        if self.window != EVERYTHING:
            return merged_data(seen)
        length = len(seen)
        if length < self._merged_length or self._merged is NOTHING_MERGED:
            self._merged, self._merged_length = {}, 0
        for number in range(self._merged_length, length):
            if self.retained[number].data:
                self._merged.update(self.retained[number].data)
        self._merged_length = length
        return dict(self._merged)

    def _clear(self, old: list[Message], edge: PlanEdge) -> list[Message]:
        left = _cleared(old, edge)
        if left is not old:
            self._merged, self._merged_length = NOTHING_MERGED, 0
        return left


def _cleared(messages: list[Message], edge: PlanEdge) -> list[Message]:
    if not (edge.clear or edge.clear_kept):
        return messages
    return [message for message in messages if survives(message, edge)]


def survives(message: Message, edge: PlanEdge) -> bool:
    """Whether what an edge clears leaves the message."""
    return not (edge.clear_kept if message.kept else edge.clear)


def _newest(messages: Sequence[Message], window: int) -> list[Message]:
    """The newest `window` messages; kept ones always stay, and take places."""
    places = window - sum(message.kept for message in messages)
    newest: list[Message] = []
    for message in reversed(messages):
        if message.kept:
            newest.append(message)
        elif places > 0:
            places -= 1
            newest.append(message)
    newest.reverse()
    return newest


class AgingTranscript(Transcript):
    """Each retained message carries the number of the step that retained it."""

    __slots__ = ("stamps",)

    def __init__(self, window: int, recalls: int = 0) -> None:
        super().__init__(window, recalls)
        self.stamps: list[int] = []
        """While a step is under way, those of all that it sees."""
        self.remembers = True

    @property
    def grows(self) -> bool:
        """Rounds are forgotten."""
        return False

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
