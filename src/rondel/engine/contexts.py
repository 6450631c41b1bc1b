"""What every node carries through a session: its context, its inbox, its private state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rondel.engine.transcript import Transcript
from rondel.graph.plan import Plan


class NodeState:
    """What a node carries through the session."""

    __slots__ = ("private", "transcript")

    def __init__(self, window: int) -> None:
        self.transcript = Transcript(window)
        self.private: Any = None


class Contexts:
    """The states of a session's nodes, made when they are first needed."""

    __slots__ = ("_plan", "_states")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._states: list[NodeState | None] = [None] * len(plan.nodes)

    def __getitem__(self, node: int) -> NodeState:
        state = self._states[node]
        if state is None:
            state = self._states[node] = NodeState(self._plan.nodes[node].window)
        return state

    def items(self) -> Iterator[tuple[int, NodeState]]:
        """The states that were needed so far, by node."""
        for node, state in enumerate(self._states):
            if state is not None:
                yield node, state

    def drop_pending(self, nodes: Iterable[int]) -> None:
        """A loop is over: nothing undelivered in it may turn up on its next entry."""
        states = self._states
        for node in nodes:
            state = states[node]
            if state is not None and state.transcript.inbox:
                state.transcript.inbox = []

    def forget(self, nodes: Iterable[int]) -> None:
        """An inner graph is over: its next call starts with empty contexts, private state stays."""
        for node in nodes:
            state = self._states[node]
            if state is not None:
                state.transcript = Transcript(state.transcript.window)
