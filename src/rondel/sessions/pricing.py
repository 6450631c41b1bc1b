"""The one rule about prices that a graph must keep to before it runs."""

from __future__ import annotations

from rondel.errors import GraphError
from rondel.graph.plan import Plan


def check_prices(plan: Plan) -> None:
    """Refuse budgets in money over models without a price."""
    graphs = [plan.spec, *(node.spec.inner for node in plan.nodes if node.spec.inner is not None)]
    budgets = [loop.budget for graph in graphs for loop in graph.loops.values()]
    if all(budget.usd is None for budget in (plan.spec.limits.budget, *budgets)):
        return
    from rondel.certificate.pricing import unpriced

    if problems := unpriced(plan):
        raise GraphError(problems)
