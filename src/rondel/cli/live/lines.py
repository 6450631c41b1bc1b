"""The session's present state as lines, loop by loop, fitted to the terminal's size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len

from rondel.certificate.bounds import DEFAULT
from rondel.certificate.loop_summaries import loops_of
from rondel.cli.cells import SPINNER, Line, Span, cut, flat, head, padded, sparkline, tail
from rondel.cli.language import words
from rondel.cli.live.session_now import LoopNow, SessionNow, StepNow
from rondel.cli.tables import length
from rondel.graph.plan import Plan
from rondel.graph.spec import BudgetSpec, LoopSpec

INDENT = "  "
DOT = " · "
NAMES = 0.4
"""The most of a line that names may take."""

LEAST_TEXT = 8
"""Columns below which an excerpt says nothing."""

UNBOUNDED = BudgetSpec()


@dataclass(frozen=True, slots=True)
class Space:
    """The terminal's size and the time of a picture."""

    columns: int
    rows: int
    now: float
    frame: int = 0


def lines_of(current: SessionNow, facts: GraphFacts, space: Space) -> list[Line]:
    """What is under way, a line each, loops around what is in them, and last the whole run."""
    lines = [*_inside(current, facts, space, "", 0)]
    kept = _folded(lines, space.rows - 1)
    return [cut(line, space.columns) for line in [*kept, _total(current, facts, space)]]


def loop_line(loop: LoopNow, facts: LoopFacts, width: int, indent: str = "") -> Line:
    """A loop: `Writer  round 4/6 · score 82 → 90 · $0.013 of $0.10  ▃▅▆▇`."""
    most = f"/{facts.most}" if facts.most else ""
    name = head(flat(loop.head), int(width * NAMES))
    parts = [words("round {round}", round=f"{loop.round}{most}")]
    if loop.scores:
        parts.append(score_text([*loop.scores][-2:], facts.target))
    spent = spent_text(loop.usd, loop.tokens, facts.budget)
    if spent:
        parts.append(spent)
    curve = sparkline([*loop.scores], facts.target)
    taken = cell_len(indent + name) + 2
    while len(parts) > 1 and taken + cell_len(DOT.join(parts)) > width:
        parts.pop()  # what it cost is the first to go, then the score
    text = DOT.join(parts)
    left = width - taken - cell_len(text) - 2
    curve = curve[-left:] if left > 1 else ""
    spans = [Span(indent), Span(name, "bold"), Span(f"  {text}")]
    return tuple([*spans, Span(f"  {curve}", "cyan")] if curve else spans)


def score_text(scores: Sequence[float], target: float | None) -> str:
    """The newest scores and the goal."""
    curve = " → ".join(f"{round(score, 2):g}" for score in scores)
    if target is None:
        return words("score {score}", score=curve)
    return words("score {score} of {target}", score=curve, target=f"{round(target, 2):g}")


def spent_text(usd: float, tokens: int, budget: BudgetSpec) -> str:
    """What was spent, of what may be spent."""
    if budget.usd is not None:
        return words("{spent} of {most}", spent=cost(usd), most=cost(budget.usd))
    if budget.tokens is not None:
        return words("{spent:,} of {most:,} tokens", spent=tokens, most=budget.tokens)
    if usd:
        return cost(usd)
    return words("{tokens:,} tokens", tokens=tokens) if tokens else ""


def cost(usd: float) -> str:
    """A price with only the digits it needs: $0.013, $0.10, $12.50."""
    if usd >= 1:
        return f"${usd:,.2f}"
    digits = f"{usd:.4f}".rstrip("0")
    return f"${digits.ljust(4, '0')}"


def _inside(
    current: SessionNow, facts: GraphFacts, space: Space, key: str, depth: int
) -> Iterator[Line]:
    """The lines inside a loop or the graph: its steps, then its loops with their lines."""
    steps = [step for step in current.running.values() if _innermost(current, step.address) == key]
    names = [_label(current, step) for step in steps]
    most = int(space.columns * NAMES)
    column = min(max(map(cell_len, names), default=0), most)
    for step, name in zip(steps, names, strict=True):
        yield _step(step, facts, space, (INDENT * depth, padded(name, column)))
    for loop in [*current.loops.values()]:
        if _innermost(current, loop.key) == key:
            yield loop_line(loop, facts.loop(loop.head), space.columns, INDENT * depth)
            yield from _inside(current, facts, space, loop.key, depth + 1)


def _innermost(current: SessionNow, address: str) -> str:
    return max((loop.key for loop in current.around(address)), key=len, default="")


def _label(current: SessionNow, step: StepNow) -> str:
    """The address of a step, without the part that lines above it show."""
    around = _innermost(current, step.address)
    rest = step.address[len(around) :]
    return flat(rest.partition("]/")[2] if around else rest)


def _step(step: StepNow, facts: GraphFacts, space: Space, start: tuple[str, str]) -> Line:
    indent, name = start
    mark = SPINNER[space.frame % len(SPINNER)]
    time = length(max(0.0, space.now - step.since))
    spans = [Span(f"{indent}{mark} ", "cyan"), Span(name), Span(f" {time:>6}", "dim")]
    used = len(indent) + 2 + cell_len(name) + 1 + max(6, len(time))
    said = "  ".join(_said(step, facts))
    if said:
        spans.append(Span(f"  {said}", "yellow" if step.attempt > 1 else ""))
        used += 2 + cell_len(said)
    left = space.columns - used - 2
    text = flat(step.text)
    if text and left >= LEAST_TEXT:
        spans.append(Span(f"  {tail(text, left)}", "dim"))
    return tuple(spans)


def _said(step: StepNow, facts: GraphFacts) -> Iterator[str]:
    node = facts.node(step.node)
    if step.attempt > 1:
        yield words("try {attempt} of {most}", attempt=step.attempt, most=node.attempts)
    if node.pairs:
        turn = f"{min(step.turns // node.pairs + 1, node.rounds)}/{node.rounds}"
        said = words("round {round}", round=turn)
        yield f"{said}{DOT}{flat(step.speaker)}" if step.speaker else said
    if step.waits:
        yield flat(step.waits)
    if step.tool:
        yield words("calls {tool}", tool=flat(step.tool))


def _total(current: SessionNow, facts: GraphFacts, space: Space) -> Line:
    """The whole run on one line."""
    time = length(max(0.0, space.now - (current.began or space.now)))
    parts = [time, words("steps done: {steps:,}", steps=current.steps)]
    if current.tokens and facts.budget.tokens is None:
        parts.append(words("{tokens:,} tokens", tokens=current.tokens))
    if current.usd or facts.budget.usd is not None or facts.budget.tokens is not None:
        parts.append(spent_text(current.usd, current.tokens, facts.budget))
    if current.asked:
        nodes = ", ".join(flat(node) for node in current.asked.values())
        parts.append(words("{nodes} waits for an answer", nodes=nodes))
    return (Span(DOT.join(parts), "dim"),)


def _folded(lines: list[Line], rows: int) -> list[Line]:
    """As many lines as there is room for; the rest is counted."""
    if len(lines) <= rows:
        return lines
    kept = max(0, rows - 1)
    more = words("... and {count} more lines", count=len(lines) - kept)
    return [*lines[:kept], (Span(more, "dim"),)][: max(0, rows)]


# Facts of a graph that help to show a run of it


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """A loop's bound, goal and budget, where it has them."""

    most: int | None = None
    target: float | None = None
    budget: BudgetSpec = UNBOUNDED


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node's attempts, and the rounds and turns of its debate."""

    attempts: int = 1
    rounds: int = 0
    pairs: int = 0


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The facts of a whole graph."""

    loops: dict[str, LoopFacts] = field(default_factory=dict)
    nodes: dict[str, NodeFacts] = field(default_factory=dict)
    budget: BudgetSpec = UNBOUNDED

    def loop(self, head: str) -> LoopFacts:
        """The facts of a loop."""
        return self.loops.get(head) or LoopFacts()

    def node(self, id: str) -> NodeFacts:
        """The facts of a node."""
        return self.nodes.get(id) or NodeFacts()


def facts_of(plan: Plan) -> GraphFacts:
    """The facts of a compiled graph."""
    contracts = _contracts(plan)
    loops: dict[str, LoopFacts] = {}
    for summary in loops_of(plan):
        contract = contracts.get(summary.head)
        most = None if summary.source == DEFAULT else summary.max_rounds
        target = contract.target if contract else None
        loops[summary.head] = LoopFacts(most, target, contract.budget if contract else UNBOUNDED)
    nodes: dict[str, NodeFacts] = {}
    for node in plan.nodes:
        config = node.spec.config
        pairs = getattr(config, "agent_pairs", None) or ()
        rounds = getattr(config, "max_rounds", 0) if pairs else 0
        nodes[node.id] = NodeFacts(node.spec.retry.max_attempts, rounds, len(pairs))
    return GraphFacts(loops, nodes, plan.spec.limits.budget)


def _contracts(plan: Plan) -> dict[str, LoopSpec]:
    """The contracts of loops by head, including those in subgraphs."""
    contracts: dict[str, LoopSpec] = {}
    for node in plan.nodes:
        graph = plan.spec if node.owner is None else plan.nodes[node.owner].spec.inner
        if graph is not None and node.name in graph.loops:
            contracts[node.id] = graph.loops[node.name]
    return contracts
