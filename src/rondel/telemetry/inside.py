"""The parent of spans that are made inside a step."""

from __future__ import annotations

from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from rondel.telemetry.ids import step_id, trace_id


def inside_step(session: str, address: str, earlier: int) -> Context:
    """The current context, with the step's span as the current one."""
    span = step_id(session, address, earlier)
    flags = TraceFlags(TraceFlags.SAMPLED)
    known = SpanContext(trace_id(session), span, is_remote=False, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(known))
