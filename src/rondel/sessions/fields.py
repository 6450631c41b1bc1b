"""The keys of a graph file as typed keyword arguments, for graphs that are written in Python.

A test compares them with the document's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Required, TypedDict

from rondel.engine.message import Message

Duration = float | int | str
"""Seconds, or as in `500ms`, `90s`, `10m`, `2h`."""

NodeId = str | Callable[..., Any]
"""A node's id, or the function that it was made of."""


class RetryFields(TypedDict, total=False):
    """How a failed attempt is made again."""

    max_attempts: int
    min_wait: Duration
    max_wait: Duration


class NodeFields(TypedDict, total=False):
    """What a node's file entry may have besides `id`, `type` and `config`."""

    description: str
    context_window: int
    timeout: Duration
    retry: RetryFields
    on_error: Literal["fail", "continue"]
    join: Literal["any", "all"]
    breaker: Literal["off", "on"] | bool


class CallFields(TypedDict, total=False):
    """A condition, process or split: its type and settings."""

    type: Required[str]
    config: dict[str, Any]


class DynamicConfigFields(TypedDict, total=False):
    """How many runs at once, or parts in a group."""

    max_parallel: int
    group_size: int


class DynamicFields(TypedDict, total=False):
    """How an edge fans out."""

    type: Required[Literal["map", "tree"]]
    split: CallFields
    config: DynamicConfigFields


class EdgeFields(TypedDict, total=False):
    """What an edge's file entry may have besides `from` and `to`."""

    label: str
    condition: bool | CallFields
    trigger: bool
    carry_data: bool
    keep_message: bool
    clear_context: bool
    clear_kept_context: bool
    process: CallFields | Callable[..., Any]
    dynamic: DynamicFields


When = str | bool | CallFields | Callable[[Message], Any] | None
"""An expression, a function of the message, or a condition as in a file."""


class ScoreFields(TypedDict, total=False):
    """Whose score counts, and where it is."""

    node: str
    path: str


class PatienceFields(TypedDict, total=False):
    """How long a loop may go on without a gain."""

    rounds: Required[int]
    min_delta: float


class RegressionFields(TypedDict, total=False):
    """What happens when a round is much worse than the best."""

    drop: Required[float]
    action: Literal["warn", "rollback", "exit"]


class BudgetFields(TypedDict, total=False):
    """What may be spent."""

    tokens: int
    usd: float
    wall_time: Duration


class LimitFields(BudgetFields, total=False):
    """Bounds on the whole run."""

    max_steps: int


class WindowFields(TypedDict):
    """The newest rounds."""

    window: int


class LoopFields(TypedDict, total=False):
    """The contract of a loop."""

    max_rounds: int
    exit_on_score: float
    score: str | ScoreFields
    until: str
    patience: PatienceFields
    on_stagnation: Literal["exit", "nudge"]
    regression: RegressionFields
    budget: BudgetFields
    on_limit: Literal["last", "best", "human", "fail"]
    carry: Literal["all", "last"] | WindowFields
    exit: Literal["round_end", "now"]
    debug: bool


class BreakerFields(TypedDict, total=False):
    """When the circuit breaker trips."""

    token_factor: float
    estimated_tokens: int
    repeats: int
    window: int
    min_entropy: float
    on_low_novelty: Literal["warn", "lock"]
    timeout: Duration


class MemoryFields(TypedDict, total=False):
    """What working memory takes and keeps."""

    size: int
    max_age: Duration
    min_confidence: float
    promote: str | Sequence[str]
