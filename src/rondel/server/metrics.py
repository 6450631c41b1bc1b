"""What happens in this process, counted for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import get_args

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client import Counter as Count

from rondel.server.schemas import Status
from rondel.sessions.insights import SessionFacts

STATUSES: tuple[str, ...] = get_args(Status)


class Metrics:
    """Counts what happens in this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._states = Count(
            "rondel_session_changes", "Changes of state.", ["status"], registry=self.registry
        )
        self._loops = Count(
            "rondel_loops", "Loops that ended.", ["exit_reason"], registry=self.registry
        )
        self._tokens = Count("rondel_tokens", "Tokens of sessions.", registry=self.registry)
        self._usd = Count("rondel_usd", "Cost of sessions.", registry=self.registry)
        self._steps = Histogram(
            "rondel_step_seconds",
            "How long steps took that ended here.",
            buckets=(0.001, 0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
            registry=self.registry,
        )
        self._sessions = Gauge(
            "rondel_sessions", "Sessions in the database.", ["status"], registry=self.registry
        )
        self._trips = Count(
            "rondel_breaker_trips", "Locks of the breaker.", ["reason"], registry=self.registry
        )
        self.seconds = Histogram(
            "rondel_session_seconds", "How long sessions took.", registry=self.registry
        )
        self.commits = Histogram(
            "rondel_commit_seconds",
            "How long a write to the journal took.",
            buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0),
            registry=self.registry,
        )
        self.driven = Gauge(
            "rondel_sessions_driven", "Sessions under way in this process.", registry=self.registry
        )
        self.streams = Gauge("rondel_stream_clients", "Open event streams.", registry=self.registry)

    def changed(self, _id: str, status: str | None) -> None:
        """A session has a new status."""
        if status is not None:
            self._states.labels(status).inc()

    def stepped(self, seconds: float) -> None:
        """A step has ended here after so many seconds."""
        self._steps.observe(seconds)

    def count(self, statuses: Mapping[str, int]) -> None:
        """So many sessions are in each status."""
        for status in STATUSES:
            self._sessions.labels(status).set(statuses.get(status, 0))

    def ended(self, facts: SessionFacts) -> None:
        """A session has ended with these facts."""
        self._tokens.inc(facts.tokens)
        self._usd.inc(facts.usd)
        self.seconds.observe(facts.seconds)
        for reason, count in Counter(loop.exit_reason for loop in facts.loops).items():
            self._loops.labels(reason).inc(count)
        for reason, count in Counter(facts.trips).items():
            self._trips.labels(reason).inc(count)
