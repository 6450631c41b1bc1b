"""A graph as the engine takes it: checked, plain, and independent of the file it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DEFAULT_MAX_ROUNDS = 100
DEFAULT_MAX_STEPS = 10_000

ExitRule = Literal["round_end", "now"]
Join = Literal["any", "all"]
OnError = Literal["fail", "continue"]


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed attempt is made again, and how long to wait in between."""

    max_attempts: int = 1
    min_wait: float = 1.0
    max_wait: float = 6.0


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node; `config` is the validated model of its type, `inner` the graph inside it."""

    id: str
    type: str
    config: Any = None
    description: str = ""
    context_window: int = 0
    timeout: float | None = None
    retry: Retry = Retry()
    on_error: OnError = "fail"
    join: Join = "any"
    inner: GraphSpec | None = None
    processor: Any = None
    """A ready-made processor, for nodes written in Python; its type is not looked up then."""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A condition or an edge process: its type's name and config, or the ready-made thing."""

    type: str
    config: Any = None
    ready: Any = None


ALWAYS = Call("true")


@dataclass(frozen=True, slots=True)
class EdgeSpec:
    """One edge; its place in `GraphSpec.edges` is its place in the file."""

    source: str
    target: str
    label: str = ""
    condition: Call = ALWAYS
    trigger: bool = True
    carry_data: bool = True
    keep_message: bool = False
    clear_context: bool = False
    clear_kept_context: bool = False
    process: Call | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class LoopSpec:
    """The contract of the loop headed by `head`."""

    head: str
    max_rounds: int | None = None
    exit: ExitRule = "round_end"
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on the whole run."""

    max_steps: int = DEFAULT_MAX_STEPS


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """Nodes and directed edges, cycles allowed."""

    id: str
    nodes: tuple[NodeSpec, ...]
    edges: tuple[EdgeSpec, ...]
    start: tuple[str, ...]
    end: tuple[str, ...]
    description: str = ""
    loops: Mapping[str, LoopSpec] = field(default_factory=dict)
    limits: Limits = Limits()
    file: str = ""
