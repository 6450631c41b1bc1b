"""The bound of a loop: the most rounds of one entry, and what sets that limit."""

from __future__ import annotations

from dataclasses import dataclass

from rondel.certificate.forest import Body, cap_of, contract_of
from rondel.certificate.proof import Proof, Prover
from rondel.graph.plan import Plan

CONTRACT = "contract"
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Bound:
    """What bounds a loop, and what does not."""

    rounds: int
    source: str
    seconds: float | None = None
    """If time bounds it: the loop ends in the first round after so many seconds."""
    timed_by: str = ""
    asks: bool = False
    """Whether a person is asked when the bound or a budget of the loop is used up."""
    unproven: tuple[str, ...] = ()
    """What was meant to bound the loop, and why that cannot be proven."""
    apart: frozenset[int] = frozenset()
    """The edges out of the loop that never fire in a round that triggers its head again."""


def bound_of(plan: Plan, body: Body, prover: Prover) -> Bound:
    """The bound of a loop: that of the engine, or a lower one that can be proven."""
    contract = contract_of(plan, body)
    cap = cap_of(plan, body)
    declared = contract is not None and contract.max_rounds is not None
    proofs = prover.proofs(body)
    held = [proof for proof in proofs if proof.holds and proof.guard.rounds is not None]
    best = min(held, key=lambda proof: proof.guard.rounds or 0, default=None)
    rounds, source = cap, CONTRACT if declared else DEFAULT
    if best is not None and best.guard.rounds is not None:
        reached = best.guard.rounds
        if reached < cap or (reached == cap and not declared):
            rounds, source = reached, best.source
    seconds, timed_by = _time(plan, body, proofs)
    if source == DEFAULT and timed_by:
        source = timed_by
    asks = contract is not None and contract.on_limit == "ask"
    return Bound(
        rounds,
        source,
        seconds,
        timed_by,
        asks=asks,
        unproven=tuple(_told(proof) for proof in proofs if not proof.holds),
        apart=prover.apart(body),
    )


def _time(plan: Plan, body: Body, proofs: list[Proof]) -> tuple[float | None, str]:
    """The shortest time after which the loop ends, and the text that names that limit."""
    found = [
        (proof.guard.seconds, proof.source)
        for proof in proofs
        if proof.holds and proof.guard.seconds is not None
    ]
    contract = contract_of(plan, body)
    if contract is not None and contract.budget.wall_time is not None:
        found.append((contract.budget.wall_time, f"{CONTRACT} (wall_time)"))
    return min(found, default=(None, ""))


def _told(proof: Proof) -> str:
    return f"{proof.source} is not proven to bound it: {proof.refuted}"
