"""What happens in this process, counted for Prometheus."""

from __future__ import annotations

from collections import Counter

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client import Counter as Count

from rondel.sessions.insights import SessionFacts


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
        self._steps = Count("rondel_steps", "Steps of sessions that ended.", registry=self.registry)
        self._step_seconds = Count(
            "rondel_step_seconds", "What these steps took together.", registry=self.registry
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

    def ended(self, facts: SessionFacts) -> None:
        """A session has ended with these facts."""
        self._tokens.inc(facts.tokens)
        self._usd.inc(facts.usd)
        self._steps.inc(facts.steps)
        self._step_seconds.inc(facts.step_seconds)
        self.seconds.observe(facts.seconds)
        for reason, count in Counter(loop.exit_reason for loop in facts.loops).items():
            self._loops.labels(reason).inc(count)
        for reason, count in Counter(facts.trips).items():
            self._trips.labels(reason).inc(count)
