"""What every node carries through a session: its context, its inbox, its private state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rondel.engine.aging import AgingTranscript
from rondel.engine.checkpoint import NOTHING, Remembered
from rondel.engine.transcript import Transcript
from rondel.graph.plan import Plan


class NodeState:
    """What a node carries through the session."""

    __slots__ = ("private", "transcript")

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.private: Any = None


class Contexts(dict[int, NodeState]):
    """The states of a session's nodes by number, made when they are first needed."""

    __slots__ = ("_plan",)

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    def __missing__(self, node: int) -> NodeState:
        state = self[node] = NodeState(self._transcript(node))
        return state

    def drop_pending(self, nodes: Iterable[int]) -> None:
        """A loop is over: nothing undelivered in it may turn up on its next entry."""
        for node in nodes:
            state = self.get(node)
            if state is not None and state.transcript.inbox:
                state.transcript.inbox = []

    def forget(self, nodes: Iterable[int], *, private: bool) -> None:
        """An inner graph is over: its next call starts with empty contexts.

        Private state stays, unless that is to be forgotten too.
        """
        for node in nodes:
            state = self.get(node)
            if state is not None:
                state.transcript = self._transcript(node)
                if private:
                    state.private = None

    def age(self, nodes: Iterable[int], number: int) -> None:
        """Forget what these nodes retained before that step."""
        for node in nodes:
            state = self.get(node)
            if state is not None and isinstance(state.transcript, AgingTranscript):
                state.transcript.forget_before(number)

    def remember(self, nodes: Iterable[int]) -> dict[int, Remembered]:
        """What these nodes retain, and what waits for them."""
        remembered = {}
        for node in nodes:
            state = self.get(node)
            if state is not None:
                remembered[node] = _remembered(state.transcript)
        return remembered

    def restore(self, nodes: Iterable[int], remembered: Mapping[int, Remembered]) -> None:
        """Put that back."""
        for node in nodes:
            state = self.get(node)
            if state is None:
                continue
            transcript, then = state.transcript, remembered.get(node, NOTHING)
            transcript.replace(then.retained[: then.length], keeps=then.keeps)
            transcript.inbox = list(then.inbox)
            if isinstance(transcript, AgingTranscript):
                transcript.stamps = then.stamps[: then.length]

    def _transcript(self, node: int) -> Transcript:
        window = self._plan.nodes[node].window
        return AgingTranscript(window) if self._plan.ages else Transcript(window)


def _remembered(transcript: Transcript) -> Remembered:
    """Lists that only ever grow are not copied: their length says what they held."""
    stamps = transcript.stamps if isinstance(transcript, AgingTranscript) else []
    retained = transcript.retained
    return Remembered(retained, len(retained), stamps, transcript.keeps, list(transcript.inbox))
