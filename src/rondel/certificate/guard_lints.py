"""Lints about nodes that steer loops, about scores, and about words that no edge waits for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from rondel.certificate.bounds import MOST_GUARDS
from rondel.certificate.flow import Flow, Gives, gives_key
from rondel.certificate.guaranteed import may_fire
from rondel.certificate.lint_context import LintContext
from rondel.certificate.loop_paths import LoopPaths
from rondel.engine.message import Message
from rondel.errors import Problem
from rondel.graph.components import reached
from rondel.graph.guarantees import NO_RECALL, Guarantee, Recalling, Textual, keeps_to
from rondel.graph.plan import PlanEdge
from rondel.graph.spec import LoopSpec
from rondel.graph.values import STRUCTURED, spoken_value, value_of

MOST_PROBES = 200
MOST_SPEAKERS = 200
"""The most nodes that are checked for words that no edge waits for."""


def guard_outside(known: LintContext) -> Iterator[Problem]:
    """A node that counts rounds, outside the loop that it was to guard."""
    looped = {node for body, _, _ in known.loops for node in body.nodes}
    for node, guarantee in enumerate(known.guarantees):
        guard = guarantee.guard
        if guard is None or node in looped or known.certificate.executions[node] > 1:
            continue
        if guard.says is not None or (guard.rounds == 1 and not guard.by_round):
            continue
        entering = [edge for edge in known.into(node) if edge.trigger and edge.source in looped]
        for edge in entering[:1]:
            head = next(h for body, _, h in known.loops if edge.source in body.nodes)
            message = (
                f"{known.name(node)} is outside the loop {known.name(head)}: the edge "
                f"{known.edge_name(edge)} ends the loop instead of counting a round"
            )
            target = known.plan.nodes[head].name
            hint = f"lead an edge from it back to {target!r}, so that it is in the loop"
            yield known.places.node(node, message, hint)


def guard_in_the_way(known: LintContext) -> Iterator[Problem]:
    """A node that is silent below its limit, on every way round."""
    for body, _, head in known.loops:
        guards = [node for node in body.plain if _is_silent_at_first(known.guarantees[node])]
        ways = LoopPaths(known.plan, body) if guards else None
        for node in guards[:MOST_GUARDS]:
            if ways is not None and ways.around(node, lambda _source, _edge: True) is None:
                message = (
                    f"every way round the loop {known.name(head)} leads through "
                    f"{known.name(node)}, which is silent until its limit: the loop ends in round 1"
                )
                hint = "lead an edge past it back to the head, and one beside that to it"
                yield known.places.node(node, message, hint)


def _is_silent_at_first(guarantee: Guarantee) -> bool:
    guard = guarantee.guard
    return guard is not None and guard.silent and guard.rounds != 1


def out_of_reach(known: LintContext) -> Iterator[Problem]:
    """A limit that needs more rounds than its loop can have."""
    for body, _, head in known.loops:
        for node in body.plain:
            guard = known.guarantees[node].guard
            if guard is None or guard.rounds is None or guard.says is not None:
                continue
            most = body.cap if guard.by_round else known.certificate.executions[node]
            if most >= guard.rounds:
                continue
            source = guard.source.format(known.name(node))
            what = "rounds" if guard.by_round else "executions"
            message = (
                f"{source} needs {guard.rounds:,} {what}, and the loop {known.name(head)} gives "
                f"it {most:,} at most"
            )
            hint = f"raise max_rounds of the loop to {guard.rounds:,}, or lower its own limit"
            yield known.places.loop(body, message, hint)


# Scores


def unfed_score(known: LintContext) -> Iterator[Problem]:
    """A threshold for a score that no message in the loop can have."""
    flows: dict[tuple[str, ...], Flow] = {}
    for body, scope, head in known.loops:
        wanted = _wanted(scope.contract)
        if not wanted:
            continue
        wanted_score = scope.scores[0]
        if wanted_score.path not in flows:
            flows[wanted_score.path] = Flow(
                known.plan, known.guarantees, _gives_value(wanted_score.path)
            )
        measured = body.nodes if wanted_score.node is None else (wanted_score.node,)
        if not any(flows[wanted_score.path].says(node) for node in measured):
            whose = "no node in it" if wanted_score.node is None else known.name(wanted_score.node)
            verb = "gives" if wanted_score.node is None else "does not give"
            path = ".".join(wanted_score.path)
            message = (
                f"{wanted} of the loop {known.name(head)} needs data.{path}, which {whose} {verb}"
            )
            hint = (
                f"let an agent of the loop end with '{path.capitalize()}: N', a function return "
                f"{{'{path}': N}}, or set where it is with 'score'"
            )
            yield known.places.loop(body, message, hint)
    yield from _unfed_nodes(known)


def _unfed_nodes(known: LintContext) -> Iterator[Problem]:
    flows: dict[str, Flow] = {}
    for node, guarantee in enumerate(known.guarantees):
        key = guarantee.reads
        if not key:
            continue
        if key not in flows:
            flows[key] = Flow(known.plan, known.guarantees, gives_key(key))
        if flows[key].source(node) is None:
            message = f"{known.name(node)} waits for data.{key}, which nothing that reaches it has"
            hint = f"let a node before it emit {key!r}, or drop the threshold"
            yield known.places.node(node, message, hint)


def _wanted(contract: LoopSpec) -> str:
    if contract.target is not None:
        return "exit_on_score"
    if contract.patience is not None:
        return "patience"
    return "" if contract.regression is None else "regression"


def _gives_value(path: tuple[str, ...]) -> Gives:
    def gives(guarantee: Guarantee) -> bool:
        if guarantee.says is not None:
            return any(_has_value(dict(data), text, path) for data, text in guarantee.says)
        if guarantee.keys is None or guarantee.free_text:
            return True
        return path[0] in guarantee.keys or STRUCTURED in guarantee.keys

    return gives


def _has_value(data: dict[str, Any], text: str, path: tuple[str, ...]) -> bool:
    return value_of(data, text, path) is not None or spoken_value(text, path) is not None


# Words


def left_to_nobody(known: LintContext) -> Iterator[Problem]:
    """A node that the result depends on, whose words may pass none of its edges."""
    looked = 0
    for node, guarantee in enumerate(known.guarantees):
        edges = [edge for edge in known.out(node) if edge.trigger]
        if not edges or guarantee.routes or node in known.graph_of(node).ends:
            continue
        if not all(keeps_to(edge.spec.condition.config, Textual) for edge in edges):
            continue
        looked += 1
        unheard = _unheard(known, edges, guarantee)
        if unheard is not None and looked <= MOST_SPEAKERS and _is_needed(known, node):
            said = f"{unheard!r}" if unheard else "a message without any of their words"
            message = f"no edge out of {known.name(node)} fires for {said}; the run may end there"
            hint = "add an edge for it, or make one condition the opposite of the others"
            yield known.places.node(node, message, hint)


def _unheard(known: LintContext, edges: Sequence[PlanEdge], guarantee: Guarantee) -> str | None:
    """A text that passes none of the edges' conditions, if one is found."""
    conditions = []
    for edge in edges:
        call = edge.spec.condition
        conditions.append(known.registry.build("condition", call.type, call.config))
    for text in _probes(edges, guarantee):
        message = Message(text)
        if not any(holds(message, 1) for holds in conditions):
            return text
    return None


def _probes(edges: Sequence[PlanEdge], guarantee: Guarantee) -> list[str]:
    if guarantee.says is not None:
        return [text for _, text in guarantee.says]
    if guarantee.openings:
        return list(guarantee.openings)
    words = list(dict.fromkeys(w for edge in edges for w in edge.spec.condition.config.words()))
    pairs = [f"{one} {other}" for one, other in combinations(words[:20], 2)]
    return ["", *words, *pairs][:MOST_PROBES]


def _is_needed(known: LintContext, node: int) -> bool:
    """Whether no end node can be reached without this one."""
    graph = known.graph_of(node)

    def after(at: int) -> list[int]:
        return [e.target for e in known.out(at) if may_fire(e) and e.target != node]

    without = reached([start for start in graph.starts if start != node], after)
    return without.isdisjoint(graph.ends)


def forgets(known: LintContext) -> Iterator[Problem]:
    """A head that is shown neither the task nor what it said in the round before."""
    for _, scope, head in known.loops:
        node = known.plan.nodes[head]
        if not scope.dialect.recalls or not keeps_to(node.spec.config, Recalling):
            continue
        keeps = node.window != 0 or any(edge.keep for edge in known.into(head))
        if node.recall != NO_RECALL or keeps:
            continue
        message = (
            f"from round 2 on {known.name(head)} sees neither the task nor what it said before: "
            "its recall is off, and its context_window is 0"
        )
        hint = "drop recall from its config, or set a context_window"
        yield known.places.node(head, message, hint)
