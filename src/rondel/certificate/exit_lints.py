"""Lints about the ways into and out of loops."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from rondel.certificate.bounds import DEFAULT
from rondel.certificate.forest import Body
from rondel.certificate.guaranteed import fires_along, is_contract_way, may_fire
from rondel.certificate.lint_context import LintContext
from rondel.errors import Problem
from rondel.graph.plan import CONTRACT_LABELS, NO_CONTRACT, PlanEdge, Scope

NEAR = 0.7
"""From this similarity on, a label was probably meant to be one of the contract's."""


def no_exit(known: LintContext) -> Iterator[Problem]:
    """A loop that nothing leaves, without an end node in it."""
    for body, scope, head in known.loops:
        ends = known.graph_of(head).ends
        if scope.limit_ways or any(node in scope.item_of for node in ends):
            continue
        if any(_can_fire(known, known.plan.edges[index]) for index in scope.exits):
            continue
        message = f"the loop {known.name(head)} has no way out, and no end node is in it"
        hint = "lead an edge out of it, or name one of its nodes in 'end'"
        yield known.places.loop(body, message, hint)


def dead_exit(known: LintContext) -> Iterator[Problem]:
    """An edge out of a loop that neither a message nor a contract takes."""
    for body, scope, head in known.loops:
        for index in scope.exits:
            edge = known.plan.edges[index]
            why = _why_dead(known, edge, scope)
            if why and not _taken_further_in(body, index):
                message = (
                    f"the exit {known.edge_name(edge)} of the loop {known.name(head)} can never "
                    f"be taken: {why}"
                )
                hint = "mend its condition or its label, or remove it"
                yield known.places.edge(index, message, hint)


def _why_dead(known: LintContext, edge: PlanEdge, scope: Scope) -> str:
    if is_contract_way(edge):
        if edge.spec.label == "goal" and not scope.contract.has_goal:
            return "only a goal takes an edge labelled goal, and the loop's contract has none"
        return ""
    if edge.index in scope.limit_ways:
        return ""
    if edge.index in scope.goal_ways and scope.contract.has_goal:
        return ""
    if not may_fire(edge):
        return "no message passes its condition"
    if known.never_taken(edge):
        return f"{edge.spec.source!r} takes other edges whatever it decides"
    return ""


def _taken_further_in(body: Body, index: int) -> bool:
    """Whether some loop inside takes the edge as its own way out."""
    work = body.inner
    while work:
        loop = work.pop()
        if loop.scope is None or index in loop.scope.ways:
            return True
        work.extend(loop.inner)
    return False


def _can_fire(known: LintContext, edge: PlanEdge) -> bool:
    return may_fire(edge) and not is_contract_way(edge) and not known.never_taken(edge)


def fires_together(known: LintContext) -> Iterator[Problem]:
    """An edge that stays in a loop and one that leaves it, which fire for the same messages."""
    for body, _, head in known.loops:
        inside = set(body.nodes)
        for node in body.plain:
            guarantee = known.guarantees[node]
            if guarantee.routes or (guarantee.guard is not None and guarantee.guard.silent):
                continue
            edges = [edge for edge in known.out(node) if may_fire(edge)]
            staying = [edge for edge in edges if edge.target in inside]
            leaving = [e for e in edges if e.target not in inside and not is_contract_way(e)]
            pairs = ((stay, leave) for leave in leaving for stay in staying)
            both = next((pair for pair in pairs if fires_along(*pair)), None)
            if both is not None:
                yield _together(known, body, head, *both)


def near_label(known: LintContext) -> Iterator[Problem]:
    """An exit of a loop with a contract, whose label is nearly one that the contract takes."""
    for body, scope, head in known.loops:
        if body.contract is NO_CONTRACT:
            continue
        for index in scope.exits:
            edge = known.plan.edges[index]
            label = edge.spec.label
            near = get_close_matches(label.strip().casefold(), CONTRACT_LABELS, 1, NEAR)
            if label in CONTRACT_LABELS or not near:
                continue
            message = (
                f"the exit {known.edge_name(edge)} of the loop {known.name(head)} is labelled "
                f"{label!r}, which its contract does not know: the edge fires by its condition"
            )
            yield known.places.edge(index, message, f"did you mean {near[0]!r}?")


def _together(
    known: LintContext, body: Body, head: int, stay: PlanEdge, leave: PlanEdge
) -> Problem:
    message = (
        f"whenever {known.edge_name(stay)} fires, {known.edge_name(leave)} does too, and ends "
        f"the loop {known.name(head)}"
    )
    hint = "give them conditions that exclude each other, or set trigger: false on the one out"
    if body.contract.has_goal or body.contract.ends_at_limit:
        hint = "label the one out 'goal' or 'limit', so that only the contract takes it, or " + hint
    return known.places.edge(leave.index, message, hint)


def two_entries(known: LintContext) -> Iterator[Problem]:
    """A loop that is entered at several nodes."""
    for body in known.forest.loops:
        group = body.group
        if group is None or len(group.entries) < 2 or body.head != group.entries[0]:
            continue
        names = [known.name(entry) for entry in group.entries]
        shown = ", ".join(names[:5]) + (" and more" if len(names) > 5 else "")
        message = f"a loop can be entered at several nodes: {shown}; at two at once it fails"
        hint = "lead all edges into the loop to one node"
        yield known.places.node(group.entries[1], message, hint)


def unproven_guard(known: LintContext) -> Iterator[Problem]:
    """A loop that only the default cap bounds, though a node is there to bound it."""
    bodies = {known.plan.nodes[head].id: body for body, _, head in known.loops}
    for loop in known.certificate.loops:
        if loop.bound.source != DEFAULT or loop.head not in bodies:
            continue
        for told in loop.bound.unproven:
            message = f"the loop {loop.head!r}: {told}"
            hint = "set max_rounds in the loop's contract"
            yield known.places.loop(bodies[loop.head], message, hint)
