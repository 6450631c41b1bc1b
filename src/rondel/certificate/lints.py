"""All lints of a graph: what is allowed and probably not meant."""

from __future__ import annotations

from rondel.certificate import exit_lints, guard_lints, recall_lints
from rondel.certificate.certificate import Certificate
from rondel.certificate.forest import forest_of
from rondel.certificate.places import Places
from rondel.certificate.scene import Lint, Scene
from rondel.engine.registry import Registry
from rondel.graph.plan import Plan

LINTS = (
    exit_lints.no_exit,
    exit_lints.dead_exit,
    exit_lints.fires_together,
    guard_lints.guard_outside,
    guard_lints.guard_in_the_way,
    guard_lints.left_to_nobody,
    guard_lints.unfed_score,
    recall_lints.forgets,
    exit_lints.two_entries,
    guard_lints.out_of_reach,
    exit_lints.unproven_guard,
)


def lints_of(plan: Plan, certificate: Certificate, registry: Registry) -> list[Lint]:
    """What is odd about a graph, in the order of the lines; of the same message, one."""
    promises = certificate.promises
    scene = Scene(plan, forest_of(plan), promises, certificate, registry, Places(plan))
    found = {lint.problem: lint for check in LINTS for lint in check(scene)}
    return sorted(found.values(), key=lambda lint: (lint.problem.file, lint.problem.line or 0))
