"""What node types, conditions and edge processes guarantee, for whoever reasons before a run.

A config model may have the methods of these protocols: a node type's `guarantee`, an edge
process's `edge_guarantee`, a condition's `implies`, `words` and `holds_for`. Without them nothing
is taken for granted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import msgspec


class Way(Protocol):
    """An edge out of a node, as a router sees it."""

    @property
    def label(self) -> str: ...

    @property
    def target(self) -> str: ...


Choice = Callable[[Sequence[Any]], Sequence[Any]]
"""Which of a node's edges it takes; the edges are `Way`s."""


Alternatives = Callable[[Sequence[Any]], Sequence[Sequence[Any]]]


class Calls(msgspec.Struct, frozen=True):
    """The most that one attempt of a step asks of language models; None is not bounded."""

    most: int | None = 0
    tokens: int | None = 0
    """Of one call, in and out."""
    usd: float | None = 0.0
    """Of one call."""
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
    """Where a bound comes from that it gives; `{}` stands for the node."""
    rounds: int | None = None
    seconds: float | None = None
    """The limit is one of time: that long after its first execution."""
    silent: bool = False
    """Whether no edge of it fires before the limit."""
    by_round: bool = False
    """Whether it goes by the loop's rounds; else it counts its executions in the session."""
    ways: Choice | None = None
    """None: all its edges."""
    says: tuple[Mapping[str, Any], ...] | None = None
    """All data that it can emit past the limit; None: any."""
    open_keys: frozenset[str] = frozenset()
    """Keys that this data may have besides."""
    misled_by: str = ""
    """A key of its input's data that it would go by instead of the loop's rounds."""


class Guarantee(msgspec.Struct, frozen=True):
    """What every execution of a node keeps to; as it stands, it guarantees nothing."""

    routes: bool = True
    """Whether it may choose among its edges."""
    alternatives: Alternatives | None = None
    """The sets of edges of which every execution takes one; None: any edges."""
    emits: bool = False
    """Whether an execution that does not fail emits a message."""
    keys: frozenset[str] | None = None
    """The keys of data that it emits of its own; None: any."""
    passes: bool = True
    """Whether what it emits may be what came in."""
    free_text: bool = True
    """Whether its own text may be anything."""
    authored: bool = True
    """Whether a model that it asks writes what it emits; else its own code does."""
    says: tuple[tuple[Mapping[str, Any], str], ...] | None = None
    """All that it ever says, data and text, where that is known."""
    openings: tuple[str, ...] = ()
    """What its texts begin with, if that is known."""
    reads: str = ""
    """A key of its input's data without which its goal is never reached."""
    calls: Calls = UNKNOWN_CALLS
    guard: LoopGuard | None = None


NO_KEYS: frozenset[str] = frozenset()
QUIET = Guarantee(routes=False, emits=True, keys=NO_KEYS, free_text=False, calls=Calls())
"""What a node guarantees that hands its input on and does nothing else."""


class EdgeGuarantee(msgspec.Struct, frozen=True):
    """What an edge's process keeps to."""

    drops: bool = True
    """Whether it may drop a message."""
    adds: bool = True
    """Whether it may add data."""


@runtime_checkable
class TellsGuarantee(Protocol):
    """A config, or a processor, that tells what its node keeps to."""

    def guarantee(self) -> Guarantee: ...


@runtime_checkable
class TellsEdgeGuarantee(Protocol):
    """A process's config that tells what it does to messages."""

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
    """A condition's config that goes by words in a message's text and by nothing else."""

    def words(self) -> Sequence[str]:
        """The words that make a difference."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A condition's config that can say what it makes of data alone."""

    def holds_for(self, data: Mapping[str, Any], open_keys: frozenset[str]) -> bool | None:
        """Whether a message with this data passes; None if more than the data decides."""
        ...


def keeps_to(thing: Any, protocol: Any) -> bool:
    """Whether something has the methods of one of these protocols; asked once a type."""
    kind: Any = type(thing)
    return _has_methods(kind, protocol)


@lru_cache
def _has_methods(kind: Any, protocol: Any) -> bool:
    return issubclass(kind, protocol)
