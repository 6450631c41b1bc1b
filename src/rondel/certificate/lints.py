"""All lints of a graph: what is allowed but probably not meant."""

from __future__ import annotations

from rondel.certificate import exit_lints, guard_lints
from rondel.certificate.certificate import Certificate, certify
from rondel.certificate.forest import forest_of
from rondel.certificate.lint_context import Lint, LintContext, Places
from rondel.engine.registry import Registry
from rondel.graph.plan import Plan

LINTS = (
    exit_lints.no_exit,
    exit_lints.dead_exit,
    exit_lints.near_label,
    exit_lints.fires_together,
    guard_lints.guard_outside,
    guard_lints.guard_in_the_way,
    guard_lints.left_to_nobody,
    guard_lints.unfed_score,
    guard_lints.forgets,
    exit_lints.two_entries,
    guard_lints.out_of_reach,
    exit_lints.unproven_guard,
)
"""The code of a lint is the name of its function."""


NO_GOAL = frozenset(
    ("unfed_score", "out_of_reach", "near_label", "forgets", "fires_together", "guard_in_the_way")
)
NO_OUTPUT = frozenset(
    ("no_exit", "dead_exit", "near_label", "left_to_nobody", "guard_outside", "guard_in_the_way")
)
EXPLAINED_BY: dict[str, frozenset[str]] = {
    "bounded": NO_GOAL,
    "no_output": NO_OUTPUT,
    "max_rounds_reached": NO_GOAL,
    "stagnated": NO_GOAL,
    "regressed": NO_GOAL,
    "budget_exhausted": NO_GOAL,
    "max_steps_reached": frozenset(("no_exit", "dead_exit", "unproven_guard", "unfed_score")),
    "two_entries": frozenset(("two_entries",)),
}
"""The lints that may explain a bad end of a run, by its status or reason."""


def lints_explaining(end: str, plan: Plan, registry: Registry) -> list[Lint]:
    """The lints of a graph that may explain why a run of it ended so."""
    codes = EXPLAINED_BY.get(end)
    if codes is None:
        return []
    return [lint for lint in lints_of(plan, certify(plan), registry) if lint.code in codes]


def lints_of(plan: Plan, certificate: Certificate, registry: Registry) -> list[Lint]:
    """All lints of a graph in the order of its lines, each message once."""
    guarantees = certificate.guarantees
    known = LintContext(plan, forest_of(plan), guarantees, certificate, registry, Places(plan))
    found = {problem: Lint(check.__name__, problem) for check in LINTS for problem in check(known)}
    return sorted(found.values(), key=lambda lint: (lint.problem.file, lint.problem.line or 0))
