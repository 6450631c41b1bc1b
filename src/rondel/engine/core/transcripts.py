"""What every node carries through a session: its context, its inbox, its private state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rondel.engine.core.checkpoint import NOTHING, Remembered
from rondel.engine.core.transcript import NO_DELIVERIES, AgingTranscript, Transcript
from rondel.graph.plan import Plan


class Transcripts:
    """The transcripts of a session's nodes by number, made when they are first needed."""

    __slots__ = ("_plan", "_transcripts")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._transcripts: list[Transcript | None] = [None] * len(plan.nodes)

    def of(self, node: int) -> Transcript:
        """The transcript of a node."""
        transcript = self._transcripts[node]
        if transcript is None:
            transcript = self._transcripts[node] = self._new(node)
        return transcript

    def items(self) -> list[tuple[int, Transcript]]:
        """All that there are, by number."""
        return [(node, found) for node, found in enumerate(self._transcripts) if found is not None]

    def drop_pending(self, nodes: Iterable[int]) -> None:
        """A loop is over: nothing undelivered in it may turn up on its next entry."""
        for node in nodes:
            transcript = self._transcripts[node]
            if transcript is not None and transcript.inbox:
                transcript.inbox = NO_DELIVERIES

    def forget(self, nodes: Iterable[int], *, private: bool) -> None:
        """An inner graph is over: its next call starts with empty contexts.

        Private state stays, unless that is to be forgotten too; and so does what a node said,
        which is shown to it as long as the loop around goes on.
        """
        for node in nodes:
            old = self._transcripts[node]
            if old is not None:
                new = self._transcripts[node] = self._new(node)
                new.own, new.own_entry = old.own, old.own_entry
                if not private:
                    new.private = old.private

    def age(self, nodes: Iterable[int], number: int) -> None:
        """Forget what these nodes retained before that step."""
        for node in nodes:
            transcript = self._transcripts[node]
            if isinstance(transcript, AgingTranscript):
                transcript.forget_before(number)

    def remember(self, nodes: Iterable[int]) -> dict[int, Remembered]:
        """What these nodes retain, what waits for them, and what they said."""
        remembered = {}
        for node in self._with_inner(nodes):
            transcript = self._transcripts[node]
            if transcript is not None:
                remembered[node] = _remembered(transcript)
        return remembered

    def restore(self, nodes: Iterable[int], remembered: Mapping[int, Remembered]) -> None:
        """Put that back."""
        for node in self._with_inner(nodes):
            transcript = self._transcripts[node]
            if transcript is None:
                continue
            then = remembered.get(node, NOTHING)
            transcript.replace(then.retained[: then.length], keeps=then.keeps)
            transcript.inbox = list(then.inbox)
            transcript.own, transcript.own_entry = list(then.own), then.own_entry
            if isinstance(transcript, AgingTranscript):
                transcript.stamps = then.stamps[: then.length]

    def _with_inner(self, nodes: Iterable[int]) -> list[int]:
        """These nodes, and those of the graphs inside them."""
        found = list(nodes)
        for node in found:
            inner = self._plan.nodes[node].inner
            if inner is not None:
                found.extend(inner.nodes)
        return found

    def _new(self, node: int) -> Transcript:
        plan_node = self._plan.nodes[node]
        window, recalls = plan_node.window, plan_node.recall.own
        return AgingTranscript(window, recalls) if self._plan.ages else Transcript(window, recalls)


def _remembered(transcript: Transcript) -> Remembered:
    """Lists that only ever grow are not copied: their length says what they held."""
    stamps = transcript.stamps if isinstance(transcript, AgingTranscript) else []
    retained, own = transcript.retained, list(transcript.own)
    return Remembered(
        retained,
        len(retained),
        stamps,
        transcript.keeps,
        list(transcript.inbox),
        own,
        transcript.own_entry,
    )
