"""What goes in and out over HTTP: the types of the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Status = Literal[
    "pending",
    "running",
    "paused",
    "waiting",
    "suspended_locked",
    "completed",
    "bounded",
    "failed",
    "cancelled",
]
Json = dict[str, Any]


class In(BaseModel):
    """A request; a field that is not known is an error."""

    model_config = ConfigDict(extra="forbid")


class ProblemLine(BaseModel):
    """One thing that is wrong."""

    model_config = ConfigDict(extra="allow")
    message: str
    path: str = ""
    hint: str = ""
    file: str = ""
    line: int | None = None


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemLine] | None = None


# Graphs


class GraphText(In):
    """A graph file as its author wrote it, comments and all."""

    text: str | None = Field(None, description="YAML or JSON text.")
    graph: Json | str | None = Field(None, description="Instead of the text: a document.")
    name: str = Field("", max_length=200, description="The file in the folder; default: its id.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "text": "graph:\n  id: hello\n  nodes:\n"
                    "    - {id: Writer, type: agent, config: {role: You write.}}\n"
                }
            ]
        },
    )


class GraphSource(In):
    """A graph to look at: a stored one, or a draft."""

    graph: Json | str | None = Field(None, description="A document, or YAML or JSON text.")
    graph_id: str | None = Field(None, description="A stored graph.")
    strict: bool = Field(False, description="A loop bounded only by the default cap is an error.")


class SimulationRequest(GraphSource):
    """A graph to run many times on simulated models."""

    n: int = Field(200, ge=1, description="How many runs.")
    seed: str = Field("0", max_length=100, description="The same seed gives the same runs.")
    inputs: Json | str | None = Field(None, description='Text is {"task": TEXT}.')


class NodeView(BaseModel):
    """A node, in the order in which a run comes to it."""

    id: str
    name: str
    type: str
    description: str
    loop: str | None = Field(description="The head of the innermost loop around it.")
    inside: str | None = Field(description="The subgraph node that it is in.")


class EdgeView(BaseModel):
    """An edge."""

    from_: str = Field(alias="from")
    to: str
    label: str
    condition: str
    trigger: bool


class WorstCase(BaseModel):
    """The most of everything; null is not bounded."""

    rounds: int | None = None
    steps: int
    model_calls: int | None
    tokens: int | None
    usd: float | None


class LoopView(BaseModel):
    """A loop: where it is entered, what is in it, and how often it may go round."""

    head: str
    nodes: list[str]
    parent: str | None
    max_rounds: int
    source: str
    worst_case: WorstCase
    each_continue: WorstCase | None = None
    contract: Json = {}
    target: float | None = None


class Structure(BaseModel):
    """A graph's nodes in logical order, its edges and its loops."""

    nodes: list[NodeView]
    edges: list[EdgeView]
    loops: list[LoopView]
    start: list[str]
    end: list[str]


class Findings(BaseModel):
    """What a check has found."""

    valid: bool
    errors: list[ProblemLine]
    warnings: list[ProblemLine]
    loops: list[LoopView]
    worst_case: WorstCase | None
    unbounded: list[str]
    structure: Structure | None = None


class GraphSummary(BaseModel):
    """A stored graph."""

    id: str
    name: str = Field(description="The file in the folder.")
    description: str
    etag: str


class GraphList(BaseModel):
    """All stored graphs."""

    graphs: list[GraphSummary]


class GraphDetail(GraphSummary):
    """A stored graph with its text and what a check of it finds."""

    text: str
    check: Findings


class Amounts(BaseModel):
    """Model calls, tokens and money; null is not bounded."""

    model_calls: float | None
    tokens: float | None
    usd: float | None


class EstimateReply(BaseModel):
    """The worst case, and what is to be expected."""

    graph: str
    worst_case: Amounts
    expected: Amounts
    source: str
    growing: list[str]


class TemplateView(BaseModel):
    """A commented graph file to start from."""

    name: str
    summary: str
    text: str


class TemplateList(BaseModel):
    """All templates."""

    templates: list[TemplateView]


# Sessions


class SessionRequest(In):
    """A session to start: of a stored graph, or of one sent along."""

    graph: Json | str | None = Field(None, description="A document, or YAML or JSON text.")
    graph_id: str | None = Field(None, description="A stored graph.")
    inputs: Json | str | None = Field(None, description='Text is {"task": TEXT}.')
    idempotency_key: str | None = Field(
        None, min_length=1, max_length=200, description="The same key never starts a second one."
    )
    debug: list[str] = Field([], description="Heads of loops that pause after every round.")
    labels: dict[str, str] = Field({}, max_length=50, description="To find it again.")
    group: str | None = Field(None, description="Whose it is, where tokens have several groups.")
    provider: str | None = Field(
        None, description="Replaces every agent's provider, e.g. `simulated`."
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"graph_id": "review_loop", "inputs": "Why loops?"}]},
    )


class SessionState(BaseModel):
    """A session and its state."""

    id: str
    status: Status


class SessionRowView(SessionState):
    """What is known of a session without reading its past."""

    graph_id: str
    reason: str
    driven_by: str | None
    created_at: str
    updated_at: str
    inputs: Json
    labels: dict[str, Any]
    parent: str | None


class SessionPage(BaseModel):
    """Some sessions, newest first."""

    sessions: list[SessionRowView]
    next: str | None = Field(description="The cursor of the next page; null on the last.")


class UsageView(BaseModel):
    """What model calls took together."""

    input_tokens: int
    output_tokens: int
    usd: float
    model_calls: int
    cached_tokens: int
    reasoning_tokens: int


class Meter(BaseModel):
    """What was spent of what may be; null is no limit."""

    spent: float
    limit: float | None


class LoopStanding(BaseModel):
    """A loop that was entered: as it stands, or how its last entry ended."""

    loop: str
    address: str
    under_way: bool
    round: int
    max_rounds: int | None
    score: float | None
    target: float | None
    best_round: int | None
    best_score: float | None
    budget: dict[str, Meter] | None
    end: Json | None


class MessageView(BaseModel):
    """A message."""

    source: str
    role: str
    content: Any
    data: Json


class QuestionView(BaseModel):
    """A question that waits for a person."""

    node_id: str
    address: str
    description: str
    actions: list[str]
    deadline: str | None
    messages: list[MessageView]


class OpenQuestion(QuestionView):
    """A question, and the session it is of."""

    session_id: str
    graph_id: str
    asked_at: str


class QuestionList(BaseModel):
    """Everything that waits for a person, oldest first."""

    questions: list[OpenQuestion]
    next: str | None = Field(description="The cursor of the next page; null on the last.")


class LockView(BaseModel):
    """Why the circuit breaker locked a session."""

    reason: str
    message: str
    figures: Json
    at: str


class BreakerView(BaseModel):
    """The circuit breaker."""

    on: bool
    lock: LockView | None


class SessionGraph(Structure):
    """The copy of its graph that a session keeps."""

    id: str
    text: str
    document: Json


class SessionDetail(SessionRowView):
    """All that there is to a session but its steps, rounds and events."""

    message: str
    output: str | None
    data: Json
    usage: UsageView
    steps: int
    loops: list[LoopStanding]
    limits: dict[str, Meter]
    breaker: BreakerView
    questions: list[QuestionView]
    graph: SessionGraph


class StepView(BaseModel):
    """One step."""

    address: str
    node_id: str
    status: str
    inputs: list[MessageView]
    recalled: list[MessageView]
    outputs: list[MessageView]
    duration: float
    usage: UsageView
    error: str | None


class StepList(BaseModel):
    """Steps in logical order."""

    steps: list[StepView]
    total: int


class RoundView(BaseModel):
    """One round of one entry of a loop."""

    loop: str
    address: str
    round: int
    score: float | None
    delta: float | None
    tokens: int
    sent_tokens: int
    cached_tokens: int
    new_tokens: int
    usd: float
    duration: float
    exit_reason: str | None
    best: bool


class RoundList(BaseModel):
    """Rounds in the order they began."""

    rounds: list[RoundView]


class StateAt(BaseModel):
    """A session as it was at an address."""

    at: str | None
    status: Status
    reason: str
    message: str
    output: str | None
    data: Json
    usage: UsageView
    loops: list[LoopStanding]
    questions: list[QuestionView]


# Controls


class ResumeRequest(In):
    """Go on."""

    free: bool = Field(False, description="Without further stops at the ends of rounds.")


class AnswerRequest(In):
    """An answer to a question."""

    text: Any = Field(description="The answer.")
    node: str | None = Field(None, description="Whose question; default: the oldest.")


class UnlockRequest(In):
    """Open a lock: say why, or confirm exactly three checks."""

    risk_justification: str = Field(
        "", max_length=10_000, description="Why it is safe to go on; what stands in the journal."
    )
    safety_checks: list[bool] = Field(
        [], max_length=10, description="In its place: three times true, one for each check."
    )


class SignalRequest(In):
    """Tell a session something that later steps can read."""

    name: str = Field(min_length=1, max_length=200, description="What it is called.")
    data: Any = Field(None, description="What it says.")


class ForkRequest(In):
    """A new session that shares this one's past up to an address."""

    at: str | None = Field(
        None,
        description="Before this step's outcome, or where this round begins; default: where what "
        "is set first makes a difference.",
    )
    set: Json = Field(
        {},
        description="What is different, by path: inputs.KEY, nodes.ID.config.KEY, loops.HEAD.KEY, "
        "limits.KEY, breaker.KEY, answer, output.",
    )
    run: bool = Field(True, description="Whether it goes on at once.")


class PromoteRequest(In):
    """Put what a step emitted into the working memory of its session's group."""

    address: str = Field(description="The step.")
    confidence: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="How sure it is; default: what its data says."
    )


class Promoted(BaseModel):
    """What is in working memory now."""

    entries: list[Json]


class Forked(SessionState):
    """The new session."""

    parent: str | None
