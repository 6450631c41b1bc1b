"""The ids of traces and spans, derived so that they are the same in every process."""

from __future__ import annotations

from hashlib import sha256
from threading import local

from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

ROOT = "session"
STEP = "step"


def trace_id(session: str) -> int:
    """The trace of a session."""
    return _number(16, session)


def span_id(session: str, kind: str, address: str = "", again: str = "") -> int:
    """The span of a part of a session; `again` tells apart what was begun more than once."""
    return _number(8, session, kind, address, again)


def step_id(session: str, address: str, earlier: int) -> int:
    """The span of a step, which had failed for good after so many attempts before."""
    return span_id(session, STEP, address, str(earlier or ""))


def _number(size: int, *parts: str) -> int:
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:size], "big") or 1


class DerivedIds(IdGenerator):
    """Gives the next span of this thread the ids that were set for it."""

    def __init__(self) -> None:
        self._next = local()

    def set_next(self, trace: int, span: int) -> None:
        """Set the ids of the next span."""
        self._next.ids = trace, span

    def generate_trace_id(self) -> int:
        """The trace of the next span."""
        trace: int = self._next.ids[0]
        return trace

    def generate_span_id(self) -> int:
        """The next span."""
        span: int = self._next.ids[1]
        return span


def inside_step(session: str, address: str, earlier: int) -> Context:
    """The current context, with the step's span as the current one."""
    span = step_id(session, address, earlier)
    flags = TraceFlags(TraceFlags.SAMPLED)
    known = SpanContext(trace_id(session), span, is_remote=False, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(known))
