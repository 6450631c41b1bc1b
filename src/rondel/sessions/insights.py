"""Statistics over the sessions of a graph: rounds, ends, scores, cost and waiting times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from statistics import fmean
from typing import Any

import msgspec

from rondel.engine.ticks import AnyTick
from rondel.graph.plan import Plan
from rondel.sessions.event import Event
from rondel.sessions.events import Narrator

SUCCESS = "completed"
MOST_ROUNDS = 200
"""The most rounds whose scores are shown."""


class LoopEntryFacts(msgspec.Struct):
    """The figures of one entry of a loop."""

    loop: str
    rounds: int
    exit_reason: str
    bounded: bool
    scores: list[float | None] = []


class SessionFacts(msgspec.Struct):
    """The figures of one session."""

    status: str = ""
    seconds: float = 0.0
    tokens: int = 0
    usd: float = 0.0
    calls: int = 0
    loops: list[LoopEntryFacts] = []
    waits: dict[str, float] = {}
    """Seconds that questions were open, by the node that asked."""
    trips: list[str] = []
    unlocked: int = 0
    warnings: int = 0
    steps: int = 0
    step_seconds: float = 0.0


def facts_of(session: str, plan: Plan, journal: Iterable[AnyTick]) -> SessionFacts:
    """The figures of a session, read from its whole journal."""
    reader = _Reader(Narrator(session, plan))
    for tick in journal:
        reader.read(tick)
    return reader.facts


class _Reader:
    def __init__(self, narrator: Narrator) -> None:
        self.facts = SessionFacts()
        self._narrator = narrator
        self._began: float | None = None
        self._scores: dict[str, list[float | None]] = defaultdict(list)
        self._asked: dict[str, float] = {}

    def read(self, tick: AnyTick) -> None:
        if self._began is None:
            self._began = tick.at
        self.facts.seconds = max(0.0, tick.at - self._began)
        took = getattr(tick, "took", None)
        if took is not None:
            self.facts.steps += 1
            self.facts.step_seconds += took
        for event in self._narrator.fold(tick):
            self._note(event)

    def _note(self, event: Event) -> None:
        facts, data, address = self.facts, event.data, str(event.address)
        match event.event:
            case "session_state_change":
                facts.status = data["status"]
            case "token_usage":
                facts.tokens += data["input_tokens"] + data["output_tokens"]
                facts.usd += data["usd"]
                facts.calls += 1
            case "loop:round_completed":
                self._scores[address.rpartition("[")[0]].append(data["score"])
            case "loop:exited":
                scores = self._scores.pop(address, [])[:MOST_ROUNDS]
                facts.loops.append(
                    LoopEntryFacts(
                        data["loop"], data["rounds"], data["exit_reason"], data["bounded"], scores
                    )
                )
            case "human_input_required":
                self._asked[address] = _seconds(event)
            case "human_input_received":
                since = self._asked.pop(address, None)
                node = str(event.node_id)
                if since is not None:
                    facts.waits[node] = facts.waits.get(node, 0.0) + _seconds(event) - since
            case _:
                self._note_breaker(event)

    def _note_breaker(self, event: Event) -> None:
        match event.event:
            case "circuit_breaker:tripped":
                self.facts.trips.append(str(event.data["reason"]))
            case "circuit_breaker:unlocked":
                self.facts.unlocked += 1
            case "circuit_breaker:warning":
                self.facts.warnings += 1


def _seconds(event: Event) -> float:
    return datetime.fromisoformat(event.timestamp).timestamp()


def summary_of(graph_id: str, facts: Iterable[SessionFacts]) -> dict[str, Any]:
    """The statistics over many sessions of one graph."""
    all_facts = list(facts)
    statuses = Counter(each.status for each in all_facts)
    usd = sum(each.usd for each in all_facts)
    successes = statuses[SUCCESS]
    count = len(all_facts)
    return {
        "graph_id": graph_id,
        "sessions": count,
        "statuses": dict(statuses.most_common()),
        "cost": {
            "usd": usd,
            "usd_per_success": usd / successes if successes else None,
            "tokens": sum(each.tokens for each in all_facts),
            "model_calls": sum(each.calls for each in all_facts),
        },
        "seconds": fmean([each.seconds for each in all_facts]) if count else 0.0,
        "loops": _loops(all_facts),
        "waits": _waits(all_facts),
        "breaker": {
            "trips": dict(Counter(trip for each in all_facts for trip in each.trips)),
            "unlocked": sum(each.unlocked for each in all_facts),
            "warnings": sum(each.warnings for each in all_facts),
        },
    }


def _loops(facts: list[SessionFacts]) -> list[dict[str, Any]]:
    entries: dict[str, list[LoopEntryFacts]] = defaultdict(list)
    for each in facts:
        for loop in each.loops:
            entries[loop.loop].append(loop)
    return [_loop(head, found) for head, found in sorted(entries.items())]


def _loop(head: str, entries: list[LoopEntryFacts]) -> dict[str, Any]:
    rounds = [entry.rounds for entry in entries]
    by_round: dict[int, list[float]] = defaultdict(list)
    for entry in entries:
        for number, score in enumerate(entry.scores, 1):
            if score is not None:
                by_round[number].append(score)
    scores = [
        {"round": n, "count": len(v), "mean": fmean(v), "min": min(v), "max": max(v)}
        for n, v in sorted(by_round.items())
    ]
    return {
        "loop": head,
        "entries": len(entries),
        "rounds": {
            "mean": fmean(rounds),
            "max": max(rounds),
            "histogram": {str(n): c for n, c in sorted(Counter(rounds).items())},
        },
        "exit_reasons": dict(Counter(entry.exit_reason for entry in entries).most_common()),
        "bounded": sum(entry.bounded for entry in entries),
        "scores": scores,
    }


def _waits(facts: list[SessionFacts]) -> list[dict[str, Any]]:
    waits: dict[str, list[float]] = defaultdict(list)
    for each in facts:
        for node, seconds in each.waits.items():
            waits[node].append(seconds)
    return [
        {"node_id": node, "sessions": len(found), "mean": fmean(found), "max": max(found)}
        for node, found in sorted(waits.items())
    ]
