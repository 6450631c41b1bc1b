"""Spans that a test collects, and the tree they make."""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler


class Collected:
    """A provider for engines, and the spans that came out of it."""

    def __init__(self, sampler: Sampler | None = None) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self) -> list[ReadableSpan]:
        """Those that ended, in the order of their ends."""
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> ReadableSpan:
        """The only span of that name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found


def drawn(spans: Iterable[ReadableSpan]) -> list[str]:
    """The names of all spans, each under its parent, two spaces deeper."""
    spans = list(spans)
    ids = {span.context.span_id for span in spans}
    assert len(ids) == len(spans), "a span was sent twice"

    def below(parent: int | None, depth: int) -> list[str]:
        lines = []
        for span in spans:
            if (span.parent.span_id if span.parent else None) == parent:
                lines += ["  " * depth + span.name, *below(span.context.span_id, depth + 1)]
        return lines

    lines = below(None, 0)
    assert len(lines) == len(spans), "a span has no parent"
    return lines
