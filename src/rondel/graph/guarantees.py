"""What node types, conditions and edge processes guarantee, for the checks before a run.

A config model may have the methods of these protocols: a node type's `guarantee`, an edge
process's `edge_guarantee`, a condition's `implies`, `words` and `holds_for`. Without them nothing
is assumed. A node type's `recalls` says what its nodes are shown besides their messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from rondel.graph.spec import Dialect, NodeSpec

Choice = Callable[[Sequence[Any]], Sequence[Any]]
"""Which of a node's edges it takes; an edge has a `label` and a `target`."""


Alternatives = Callable[[Sequence[Any]], Sequence[Sequence[Any]]]


class Calls(msgspec.Struct, frozen=True):
    """The most model calls of one attempt of a step; None means no bound."""

    most: int | None = 0
    tokens: int | None = 0
    """Tokens of one call, input and output together."""
    usd: float | None = 0.0
    """Cost of one call."""
    unpriced: tuple[str, ...] = ()
    """The models among those asked whose price nobody knows."""
    why: str = ""
    """Why the tokens of a call are not bounded, if they are not."""


UNKNOWN_CALLS = Calls(None, None, None, why="its own code may ask models")


class LoopGuard(msgspec.Struct, frozen=True):
    """What a node does to the loop it is in once a limit is reached.

    `rounds` is the last round that the loop can have if the node runs in every round that leads
    to another one. From then on it emits, and takes only the edges that `ways` chooses.
    """

    source: str
    """The text that names this bound in a certificate; `{}` stands for the node."""
    rounds: int | None = None
    seconds: float | None = None
    """For a limit of time: the seconds after its first execution."""
    silent: bool = False
    """Whether none of its edges fires before the limit."""
    by_round: bool = False
    """Whether it counts the loop's rounds; otherwise it counts its executions in the session."""
    ways: Choice | None = None
    """Chooses the edges it takes past the limit; None means all."""
    says: tuple[Mapping[str, Any], ...] | None = None
    """All data that it can emit past the limit; None means any."""
    open_keys: frozenset[str] = frozenset()
    """Further keys that this data may have, with any value."""
    misled_by: str = ""
    """A key of the input's data that takes the place of the loop's rounds, if it is there."""


class Guarantee(msgspec.Struct, frozen=True):
    """What holds for every execution of a node; the defaults guarantee nothing."""

    routes: bool = True
    """Whether it may choose among its edges."""
    alternatives: Alternatives | None = None
    """Sets of edges: every execution takes exactly one of the sets; None means any edges."""
    emits: bool = False
    """Whether an execution that does not fail emits a message."""
    keys: frozenset[str] | None = None
    """The keys of the data that it writes itself; None means any."""
    passes: bool = True
    """Whether it may emit the messages it got."""
    free_text: bool = True
    """Whether the text that it writes itself may be anything."""
    authored: bool = True
    """Whether a language model writes what it emits; otherwise its own code does."""
    says: tuple[tuple[Mapping[str, Any], str], ...] | None = None
    """Everything it can ever say, data and text, if that is known."""
    openings: tuple[str, ...] = ()
    """How its texts can begin, if that is known."""
    reads: str = ""
    """The key of the input's data that its goal needs."""
    calls: Calls = UNKNOWN_CALLS
    guard: LoopGuard | None = None


NO_KEYS: frozenset[str] = frozenset()
QUIET = Guarantee(routes=False, emits=True, keys=NO_KEYS, free_text=False, calls=Calls())
"""The guarantee of a node that only hands its input on."""


class EdgeGuarantee(msgspec.Struct, frozen=True):
    """What holds for every message that an edge's process changes."""

    drops: bool = True
    """Whether it may drop a message."""
    adds: bool = True
    """Whether it may add data."""


@runtime_checkable
class TellsGuarantee(Protocol):
    """A config or processor with a guarantee for its node."""

    def guarantee(self) -> Guarantee: ...


@runtime_checkable
class TellsEdgeGuarantee(Protocol):
    """A process's config with a guarantee for its edge."""

    def edge_guarantee(self) -> EdgeGuarantee: ...


@runtime_checkable
class Implying(Protocol):
    """A condition's config that can compare itself with another; it is a pure function then."""

    def implies(self, other: Any) -> bool:
        """Whether every message that passes this one passes the other, as far as can be told."""
        ...


@runtime_checkable
class Refusing(Protocol):
    """A condition's config that knows whether anything can pass at all."""

    def never(self) -> bool:
        """Whether no message passes, as far as can be told."""
        ...


@runtime_checkable
class Textual(Protocol):
    """A condition's config that looks only at words in a message's text."""

    def words(self) -> Sequence[str]:
        """The words that make a difference."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A condition's config that can decide from data alone."""

    def holds_for(self, data: Mapping[str, Any], open_keys: frozenset[str]) -> bool | None:
        """Whether a message with this data passes; None if more than the data decides."""
        ...


def keeps_to(thing: Any, protocol: Any) -> bool:
    """Whether a thing has the methods of a protocol; looked up once for each type."""
    kind: Any = type(thing)
    return _has_methods(kind, protocol)


@lru_cache
def _has_methods(kind: Any, protocol: Any) -> bool:
    return issubclass(kind, protocol)


ALL: Final = -1
"""All of its outputs."""


class Recall(msgspec.Struct, frozen=True):
    """Whether a node is shown the task, and how many of its own newest outputs."""

    task: bool = False
    own: int = 0
    """Outputs in the current entry of the innermost loop around the node; 0 is none, -1 all."""


NO_RECALL = Recall()
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
        return NO_RECALL
    asked: Recall | None = told.recalls()
    if asked is not None:
        return asked
    return BY_DEFAULT if dialect.recalls else NO_RECALL
