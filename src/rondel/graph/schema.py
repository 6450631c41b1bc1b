"""The document of a graph file, field by field: what is here works, anything else is an error.

Its annotations are not strings (no `from __future__ import annotations`): pydantic would compile
each string again on every start.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from rondel.graph import spec
from rondel.graph.quantities import Duration, Wait
from rondel.graph.variables import NAME, NAME_PATTERN

CONDITION_HINT = "for text that occurs in the message: {type: keyword, config: {any: [TEXT]}}"
COMPARES = re.compile(r"[<>=!]=|[<>]|&&|\|\|")
ARROW = re.compile(r"\s*(\S+)\s*-+>\s*(\S+)\s*")
RESERVED = frozenset("/[]")
ID_PATTERN = r"^[^/\[\]]*[^/\[\]\s][^/\[\]]*$"


def _name_list(value: Any) -> Any:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        hint = {"hint": "write it as [first, second]"}
        raise PydanticCustomError("names", "must be a node's id or a list of them", hint)
    return value


def _node_id(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("node_id", "must not be empty", {"hint": "give the node a name"})
    if not RESERVED.isdisjoint(value):
        message = "must not contain '/', '[' or ']': addresses are written with them"
        raise PydanticCustomError("node_id", message, {"hint": "use '-' or '_' in their place"})
    return value


def _call(value: Any) -> Any:
    if isinstance(value, bool):
        return {"type": str(value).lower()}
    if value in ("true", "false"):
        return {"type": value}
    if not isinstance(value, dict):
        message = "must be true, false, or a mapping with 'type' and 'config'"
        hint = CONDITION_HINT
        if isinstance(value, str) and COMPARES.search(value):
            quoted = json.dumps(value, ensure_ascii=False)
            hint = f"write it as {{type: expr, config: {{expr: {quoted}}}}}"
        raise PydanticCustomError("condition", message, {"hint": hint})
    return value


def _edge(value: Any) -> Any:
    arrow = ARROW.fullmatch(value) if isinstance(value, str) else None
    ends = list(arrow.groups()) if arrow else value
    if isinstance(ends, list) and len(ends) == 2:
        hint = f"write it as {{from: {ends[0]}, to: {ends[1]}}}"
        raise PydanticCustomError("edge", "must be a mapping with 'from' and 'to'", {"hint": hint})
    return value


def _score_path(value: str) -> str:
    keys = value.split(".")
    if keys[0] == "data":
        keys = keys[1:]
    if not keys or not all(key.strip() for key in keys):
        message = "must be a path in the data"
        raise PydanticCustomError("score_path", message, {"hint": "as in: data.score"})
    return value


def _version(value: Any) -> Any:
    if isinstance(value, bool) or value != 1:
        raise PydanticCustomError("version", "must be 1, the only version there is")
    return 1


def _variable_name(value: str) -> str:
    if not NAME.fullmatch(value):
        message = "is not a variable's name: use letters, digits and '_', no digit first"
        raise PydanticCustomError("variable_name", message, {"hint": "rename it"})
    return value


Id = Annotated[str, AfterValidator(_node_id), Field(json_schema_extra={"pattern": ID_PATTERN})]
Ids = Annotated[
    list[str],
    BeforeValidator(_name_list),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}},
                {"type": "null"},
            ]
        }
    ),
]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ScorePath = Annotated[str, AfterValidator(_score_path)]
VariableName = Annotated[str, AfterValidator(_variable_name)]


class Section(BaseModel):
    """A mapping of the document; a key it does not know is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)
    also_called: ClassVar[Mapping[str, str]] = {}
    """What newcomers and other systems call its keys, and what they are called here."""


class ConditionCall(Section):
    """When an edge fires."""

    type: str = Field(description="A condition's type.")
    config: dict[str, Any] | None = Field(None, description="The settings of that type.")


class ProcessCall(Section):
    """What happens to a message on its way along an edge."""

    type: str = Field(description="A process's type.")
    config: dict[str, Any] | None = Field(None, description="The settings of that type.")


class Retry(Section):
    """How a failed attempt is made again."""

    max_attempts: int = Field(1, ge=1, description="The most attempts, the first one included.")
    min_wait: Wait | None = Field(None, description="The wait after the first failure; default 1s.")
    max_wait: Wait | None = Field(None, description="The longest wait; default 6s.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        waits = self.as_spec()
        if waits.min_wait > waits.max_wait:
            message = "has a min_wait longer than its max_wait"
            raise PydanticCustomError("waits", message, {"hint": "exchange the two"})
        return self

    def as_spec(self) -> spec.RetrySpec:
        """The engine's form of it; a wait that is left out follows the one that is set."""
        default = spec.RetrySpec()
        shortest, longest = self.min_wait, self.max_wait
        if shortest is None:
            shortest = default.min_wait if longest is None else min(default.min_wait, longest)
        if longest is None:
            longest = max(default.max_wait, shortest)
        return spec.RetrySpec(self.max_attempts, shortest, longest)


class Node(Section):
    """One node of the graph."""

    also_called = {"name": "id", "kind": "type", "settings": "config", "params": "config"}

    id: Id = Field(description="Its name, unique in the graph; without '/', '[' and ']'.")
    type: str = Field(description="What it does.")
    config: dict[str, Any] | None = Field(None, description="The settings of its type.")
    description: str | None = Field(None, description="For people; the engine ignores it.")
    context_window: int = Field(
        0,
        ge=-1,
        description="Inputs kept between executions: 0 none but kept ones, N the newest N, -1 all.",
    )
    timeout: Duration | None = Field(None, description="The most time one attempt may take.")
    retry: Retry | None = Field(None, description="How a failed attempt is made again.")
    on_error: spec.OnError = Field(
        "fail", description="A failure fails the session, or becomes data and emits nothing."
    )
    join: spec.Join = Field(
        "any", description="Runs when any trigger edge fired, or only when all did."
    )
    breaker: Literal["off", "on"] | bool = Field(
        "on", description="Off: it may repeat itself (polling), the circuit breaker lets it."
    )


class SplitCall(Section):
    """How a message is split."""

    type: str = Field("message", description="A split's type.")
    config: dict[str, Any] | None = Field(None, description="The settings of that type.")


class DynamicConfig(Section):
    """How many at once."""

    max_parallel: int = Field(10, ge=1, description="The most runs of the target at once.")
    group_size: int = Field(3, ge=2, description="How many parts a run of a tree takes.")


class Dynamic(Section):
    """Fans the target out over the parts of what the edge carries."""

    type: spec.DynamicMode = Field(
        description="map: a run of the target for each part; tree: for groups, down to one."
    )
    split: SplitCall = Field(
        SplitCall.model_construct(), description="How a message is split into parts."
    )
    config: DynamicConfig | None = Field(None, description="How many at once.")


class Edge(Section):
    """One edge of the graph."""

    also_called = {"source": "from", "target": "to", "src": "from", "dst": "to"} | dict.fromkeys(
        ("when", "if", "expr"), "condition"
    )

    source: str = Field(alias="from", description="The id of the node it leaves.")
    target: str = Field(alias="to", description="The id of the node it enters.")
    label: str | None = Field(None, description="Free text; routers select by it.")
    condition: Annotated[ConditionCall, BeforeValidator(_call)] = Field(
        ConditionCall.model_construct(type="true"),
        description="Whether the edge fires for a message.",
    )
    trigger: bool = Field(True, description="False: carries data, never starts the target.")
    carry_data: bool = Field(True, description="Whether the message is delivered.")
    keep_message: bool = Field(False, description="Mark the delivered message as kept.")
    clear_context: bool = Field(False, description="First drop what the target retained.")
    clear_kept_context: bool = Field(False, description="First drop what the target kept.")
    process: ProcessCall | None = Field(None, description="What changes the message on its way.")
    dynamic: Dynamic | None = Field(None, description="Runs the target for each part.")


class ScorePlace(Section):
    """Where the score is, and whose score counts."""

    node: str | None = Field(None, description="The node whose score counts; else any in the loop.")
    path: ScorePath = Field("data.score", description="The path in the message's data.")


class Patience(Section):
    """How long a loop may go on without getting better."""

    rounds: int = Field(ge=1, description="That many rounds without that much gain.")
    min_delta: Finite = Field(0.0, ge=0, description="What counts as a gain.")


class Regression(Section):
    """What happens when a round is much worse than the best one."""

    drop: Finite = Field(gt=0, description="So far below the best round's score.")
    action: spec.OnRegression = Field(
        "warn", description="Tell, go back to where the best round ended, or end the loop."
    )


class Budget(Section):
    """What may be spent."""

    tokens: int | None = Field(None, ge=1, description="The most tokens, in and out.")
    usd: Finite | None = Field(None, gt=0, description="The most money.")
    wall_time: Duration | None = Field(None, description="The most time, waiting excluded.")

    def as_spec(self) -> spec.BudgetSpec:
        """The engine's form of it."""
        return spec.BudgetSpec(self.tokens, self.usd, self.wall_time)


class Window(Section):
    """The newest rounds."""

    window: int = Field(ge=1, description="How many.")


class Loop(Section):
    """The contract of one loop."""

    also_called = {
        **dict.fromkeys(("max_iterations", "iterations", "rounds", "max_loops"), "max_rounds"),
        **dict.fromkeys(("threshold", "score_threshold", "target", "goal"), "exit_on_score"),
        **dict.fromkeys(("stop_when", "exit_when", "condition"), "until"),
    }

    max_rounds: int | None = Field(None, ge=1, description="The most rounds per entry; 100.")
    exit_on_score: Finite | None = Field(
        None, description="The loop has reached its goal when a round's score is at least this."
    )
    score: ScorePath | ScorePlace = Field(
        "data.score", description="Where the score is: a path in the data, or a node's."
    )
    until: str | None = Field(
        None, description="An expression over data, text, round and score; true ends the loop."
    )
    patience: Patience | None = Field(None, description="How long without a gain.")
    on_stagnation: spec.OnStagnation = Field(
        "exit", description="When patience runs out: end the loop, or say so to the next round."
    )
    regression: Regression | None = Field(None, description="When a round is much worse.")
    budget: Budget | None = Field(None, description="What one entry of the loop may spend.")
    on_limit: Literal["last", "best", "human", "fail"] = Field(
        "best",
        description="What is handed on when the loop ends without reaching its goal; without any "
        "score, `best` is the last round.",
    )
    carry: Literal["all", "last"] | Window = Field(
        "all", description="Which rounds' retained messages go into the next one."
    )
    exit: spec.ExitRule = Field(
        "round_end", description="When an exit edge fired: end after the round, or now."
    )
    debug: bool = Field(False, description="Pause after every round that another one follows.")


class Limits(Budget):
    """Bounds on the whole run."""

    max_steps: int = Field(spec.DEFAULT_MAX_STEPS, ge=1, description="The most steps of a run.")


class Breaker(Section):
    """When the circuit breaker locks the session."""

    token_factor: Finite = Field(3.0, gt=0, description="Times the estimate of tokens.")
    estimated_tokens: int | None = Field(
        None, ge=1, description="The estimate; else what past sessions took, or the certificate."
    )
    repeats: int = Field(4, ge=2, description="The same output so many times in a row locks.")
    window: int = Field(3, ge=1, description="How many outputs of a node novelty is the mean of.")
    min_entropy: Finite = Field(0.1, ge=0, le=1, description="The least they must say that is new.")
    on_low_novelty: spec.OnLowNovelty = Field("warn", description="If they say less than that.")
    timeout: Duration = Field(600.0, description="The most running time, waiting excluded.")

    def as_spec(self) -> spec.BreakerSpec:
        """The engine's form of it."""
        return spec.BreakerSpec(**self.model_dump())


class MemoryRules(Section):
    """What the working memory of the session's group takes and keeps."""

    size: int = Field(50, ge=1, description="The newest that many entries are kept.")
    max_age: Duration = Field(86_400.0, description="How long an entry is kept; 24h.")
    min_confidence: Finite = Field(0.8, ge=0, le=1, description="The least an entry must have.")
    promote: Ids = Field(
        default_factory=list, description="Nodes whose messages are promoted when they finish."
    )

    def as_spec(self) -> spec.MemorySpec:
        """The engine's form of it."""
        promote = tuple(dict.fromkeys(self.promote))
        return spec.MemorySpec(self.size, self.max_age, self.min_confidence, promote)


class GraphBody(Section):
    """Nodes and directed edges, cycles allowed."""

    id: str = Field(min_length=1, description="The graph's name.")
    description: str | None = Field(None, description="For people; the engine ignores it.")
    start: Ids = Field(
        default_factory=list, description="Where it starts; else the nodes no edge enters."
    )
    end: Ids = Field(
        default_factory=list,
        description="Where the result is; the first with output wins; else the sinks.",
    )
    limits: Limits | None = Field(None, description="Bounds on the whole run.")
    loops: dict[str, Loop] | None = Field(
        None, description="The contracts of loops, by the id of the head."
    )
    breaker: Breaker | Literal["off", "on"] | bool | None = Field(
        None, description="When the circuit breaker trips, or off."
    )
    memory: MemoryRules | None = Field(None, description="What the group's working memory keeps.")
    dialect: Literal["chatdev"] | None = Field(
        None, description="Run it by the rules of the system it comes from."
    )
    nodes: list[Node] = Field(min_length=1, description="What works.")
    edges: list[Annotated[Edge, BeforeValidator(_edge)]] | None = Field(
        None, description="What leads from one node to another."
    )

    @property
    def breaker_spec(self) -> spec.BreakerSpec | None:
        """The breaker for the engine; YAML reads a bare `off` as false, JSON has it as a text."""
        if self.breaker in (False, "off"):
            return None
        return self.breaker.as_spec() if isinstance(self.breaker, Breaker) else spec.BreakerSpec()


class Price(Section):
    """What a million tokens of a model cost, in USD."""

    input: Usd = Field(description="What it reads.")
    output: Usd = Field(description="What it writes.")
    cache_read: Usd | None = Field(None, description="What it read before; as input without it.")
    cache_write: Usd | None = Field(None, description="What it is to keep; as input without it.")

    def as_spec(self) -> spec.PriceSpec:
        """The price for the engine."""
        return spec.PriceSpec(self.input, self.output, self.cache_read, self.cache_write)


class PriceList(Section):
    """Prices by model, as the graph or a file of its own has them."""

    prices: dict[str, Price] = Field(description="By model.")


class Envelope(Section):
    """What a graph file says besides its graph."""

    version: Annotated[Literal[1], BeforeValidator(_version)] = Field(
        1, description="The version of the format."
    )
    vars: dict[VariableName, str | int | float | bool | None] | None = Field(
        None,
        description="Values for ${NAME}.",
        json_schema_extra={"propertyNames": {"pattern": f"^{NAME_PATTERN}$"}},
    )
    prices: dict[str, Price] | str | None = Field(
        None, description="What models cost that nobody lists: by model, or a file of that."
    )


class Document(Envelope):
    """A graph file."""

    graph: GraphBody = Field(description="The graph.")


ENVELOPE = tuple(Envelope.model_fields)
"""The keys that stand beside `graph`."""
