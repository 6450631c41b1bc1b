"""Finds budgets in USD over models without a price: such a budget would never end anything."""

from __future__ import annotations

from collections.abc import Iterator

from rondel.certificate.forest import contract_of, forest_of
from rondel.certificate.guaranteed import guarantee_of
from rondel.errors import Problem
from rondel.graph.plan import Plan


def unpriced(plan: Plan) -> list[Problem]:
    """The problems of the budgets in USD of a graph, each model named once."""
    found: dict[str, Problem] = {}
    for where, nodes in _in_money(plan):
        inside = set(nodes)
        for node in plan.nodes:
            if node.index not in inside and node.owner not in inside:
                continue
            inside.add(node.index)
            for model in guarantee_of(node.spec).calls.unpriced if node.inner is None else ():
                found.setdefault(model, _problem(plan, where, model, node.index))
    return list(found.values())


def _in_money(plan: Plan) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every budget that has a bound in USD, with the nodes it is for."""
    if plan.spec.limits.budget.usd is not None:
        yield "graph.limits.usd", tuple(node.index for node in plan.nodes)
        return
    for loop in forest_of(plan).loops:
        contract = contract_of(plan, loop)
        if contract is not None and contract.budget.usd is not None:
            yield f"the budget of loop {contract.head!r}", loop.nodes


def _problem(plan: Plan, where: str, model: str, node: int) -> Problem:
    spec = plan.nodes[node].spec
    return Problem(
        f"{where} bounds {plan.nodes[node].id!r}, and nobody lists a price for its model {model!r}",
        path="prices",
        hint=f"set it, in USD per million tokens: prices: {{{model}: {{input: 1.0, output: 4.0}}}}",
        file=plan.spec.file,
        line=spec.line,
    )
