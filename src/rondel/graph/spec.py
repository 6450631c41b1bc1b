"""A graph as the engine takes it: checked, plain, and independent of the file it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

DEFAULT_MAX_ROUNDS = 100
DEFAULT_MAX_STEPS = 10_000

ExitRule = Literal["round_end", "now"]
OnStagnation = Literal["exit", "nudge"]
OnRegression = Literal["warn", "rollback", "exit"]
OnLowNovelty = Literal["warn", "lock"]
OnLimit = Literal["last", "best", "ask", "fail"]
DynamicMode = Literal["map", "tree"]
Join = Literal["any", "all"]
OnError = Literal["fail", "continue"]


class RetrySpec(msgspec.Struct, frozen=True):
    """How often a failed attempt is made again, and how long to wait in between."""

    max_attempts: int = 1
    min_wait: float = 1.0
    max_wait: float = 6.0


class NodeSpec(msgspec.Struct, frozen=True):
    """One node; `config` is the validated model of its type, `inner` the graph inside it."""

    id: str
    type: str
    config: Any = None
    description: str = ""
    context_window: int = 0
    timeout: float | None = None
    retry: RetrySpec = RetrySpec()
    on_error: OnError = "fail"
    join: Join = "any"
    breaker: bool = True
    """Whether the circuit breaker watches it for repetition."""
    inner: GraphSpec | None = None
    processor: Any = None
    """A ready-made processor, for nodes written in Python; its type is not looked up then."""
    line: int | None = None


class Call(msgspec.Struct, frozen=True):
    """A condition or an edge process: its type's name and config, or the ready-made thing."""

    type: str
    config: Any = None
    ready: Any = None


ALWAYS = Call("true")


class DynamicSpec(msgspec.Struct, frozen=True):
    """How an edge fans its target out: over the parts of a message, or in groups of them."""

    mode: DynamicMode
    split: Call
    max_parallel: int = 10
    group_size: int = 3


class EdgeSpec(msgspec.Struct, frozen=True):
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
    dynamic: DynamicSpec | None = None
    line: int | None = None


class ScoreSpec(msgspec.Struct, frozen=True):
    """Where a round's score is: a path in the data of a message, of any node or of one."""

    path: tuple[str, ...] = ("score",)
    node: str | None = None


class PatienceSpec(msgspec.Struct, frozen=True):
    """How many rounds may pass without a gain of `min_delta`, and what follows."""

    rounds: int
    min_delta: float = 0.0
    then: OnStagnation = "exit"


class RegressionSpec(msgspec.Struct, frozen=True):
    """How far below the best a round may fall, and what follows."""

    drop: float
    action: OnRegression = "warn"


class BudgetSpec(msgspec.Struct, frozen=True):
    """The most that may be spent; None is no bound."""

    tokens: int | None = None
    usd: float | None = None
    wall_time: float | None = None

    @property
    def bounds(self) -> bool:
        """Whether it bounds anything."""
        return (self.tokens, self.usd, self.wall_time) != (None, None, None)


class LoopSpec(msgspec.Struct, frozen=True):
    """The contract of the loop headed by `head`."""

    head: str
    max_rounds: int | None = None
    exit: ExitRule = "round_end"
    target: float | None = None
    """The value at which the loop has reached its goal."""
    score: ScoreSpec = ScoreSpec()
    until: Call | None = None
    patience: PatienceSpec | None = None
    regression: RegressionSpec | None = None
    budget: BudgetSpec = BudgetSpec()
    on_limit: OnLimit = "best"
    """What happens when a bound is reached; without any score, `best` is the last round."""
    carry: int | None = None
    """For how many rounds retained messages are kept; None is for all."""
    debug: bool = False
    """Whether the session pauses after every round but the last."""
    line: int | None = None

    @property
    def has_goal(self) -> bool:
        """Whether the contract has a goal."""
        return self.target is not None or self.until is not None

    @property
    def ends_at_limit(self) -> bool:
        """Whether the contract has a bound that can end the loop."""
        gives_up = self.patience is not None and self.patience.then == "exit"
        turns_back = self.regression is not None and self.regression.action == "exit"
        return self.max_rounds is not None or gives_up or turns_back or self.budget.bounds


class PriceSpec(msgspec.Struct, frozen=True):
    """What a million tokens of a model cost, in USD; None is the price of other input."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class LimitsSpec(msgspec.Struct, frozen=True):
    """Bounds on the whole run."""

    max_steps: int = DEFAULT_MAX_STEPS
    budget: BudgetSpec = BudgetSpec()


class BreakerSpec(msgspec.Struct, frozen=True):
    """When the circuit breaker trips."""

    token_factor: float = 3.0
    estimated_tokens: int | None = None
    repeats: int = 4
    window: int = 3
    min_entropy: float = 0.1
    on_low_novelty: OnLowNovelty = "warn"
    timeout: float = 600.0


class MemorySpec(msgspec.Struct, frozen=True):
    """What a group's working memory takes and keeps; `promote` are ids of the graph's nodes."""

    size: int = 50
    max_age: float = 86_400.0
    min_confidence: float = 0.8
    promote: tuple[str, ...] = ()


class Dialect(msgspec.Struct, frozen=True):
    """Rules of running that differ between systems; the defaults are Rondel's."""

    by_level: bool = False
    """Everything runs level by level; a loop ends after the level in which an edge out of it
    fired, whatever its contract says."""
    silent_limit: bool = False
    """A loop that has used up its rounds ends without taking any way out."""
    data_edges_bind: bool = False
    """Edges that only carry data form and order the outermost level as triggers do, and order
    nothing inside a loop."""
    state_per_call: bool = False
    """Nodes of an inner graph start each call with no private state."""
    sinks_yield: bool = False
    """If no end node produced anything, not even an empty message, the first sink's output counts,
    else an empty message."""
    trees_reduce: bool = False
    """A tree over one part hands it on as it is, and only its first layer sees what came by other
    edges."""
    recalls: bool = True
    """Nodes whose type asks for it are shown the task and what they said before, unless told
    otherwise."""


OWN = Dialect()

DIALECTS = {
    "chatdev": Dialect(
        by_level=True,
        silent_limit=True,
        data_edges_bind=True,
        state_per_call=True,
        sinks_yield=True,
        trees_reduce=True,
        recalls=False,
    )
}
"""The dialects that a graph file can name."""


class GraphSpec(msgspec.Struct, frozen=True):
    """Nodes and directed edges, cycles allowed."""

    id: str
    nodes: tuple[NodeSpec, ...]
    edges: tuple[EdgeSpec, ...]
    start: tuple[str, ...]
    end: tuple[str, ...]
    description: str = ""
    loops: Mapping[str, LoopSpec] = msgspec.field(default_factory=dict)
    limits: LimitsSpec = LimitsSpec()
    breaker: BreakerSpec | None = BreakerSpec()
    """None means that it is off."""
    memory: MemorySpec = MemorySpec()
    dialect: Dialect = OWN
    file: str = ""


class PlanScore(NamedTuple):
    """Where a loop's score is: a path in the data of one node's messages, or of anyone's."""

    path: tuple[str, ...]
    node: int | None = None


EXIT_EDGE = "exit_edge"
TARGET_REACHED = "score_threshold_reached"
CONDITION_MET = "condition_met"
MAX_ROUNDS = "max_rounds_reached"
STAGNATED = "stagnated"
REGRESSED = "regressed"
BUDGET_EXHAUSTED = "budget_exhausted"
NO_RETRIGGER = "no_retrigger"
BREAKER_TRIPPED = "breaker_tripped"
CANCELLED = "cancelled"
FAILED = "failed"
