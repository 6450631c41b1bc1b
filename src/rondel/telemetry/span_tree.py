"""The spans of one session: session, rounds, steps, model calls and tools, from its events."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from rondel.telemetry import names
from rondel.telemetry.ids import ROOT, STEP, DerivedIds, span_id, trace_id

OTHER = "_OTHER"
"""OpenTelemetry's name for an error of unknown type."""

ENDED = frozenset({"completed", "bounded", "failed", "cancelled"})
OVER = frozenset({"completed", "failed", "skipped"})
UNFINISHED = frozenset({"failed", "cancelled"})
"""Ends of loops that are not final: they go on if their session does."""

ROUND = re.compile(r"(.*)\[\d+\]", re.DOTALL)
TOLD = frozenset(
    {
        "human_input_required",
        "human_input_received",
        "circuit_breaker:warning",
        "circuit_breaker:tripped",
        "circuit_breaker:unlocked",
        "loop:regression",
        "loop:stagnation",
        "model_incomplete",
        "memory_error",
        "error",
    }
)
"""Events that are marked on the span they happen in."""

QUIET = frozenset({"answer", "risk_justification"})
"""The data of events that people wrote; it is not sent."""


class SpanEvent(Protocol):
    """The part of an event that spans need."""

    @property
    def event(self) -> str: ...
    @property
    def timestamp(self) -> str: ...
    @property
    def node_id(self) -> str | None: ...
    @property
    def address(self) -> str | None: ...
    @property
    def data(self) -> dict[str, Any]: ...


class TracedNode(NamedTuple):
    """The attributes of a node's spans."""

    type: str
    is_agent: bool = False
    operation: str = names.CHAT
    """The kind of its model calls."""
    provider: str = ""


class OpenSpan(NamedTuple):
    """A span that is under way, and what it takes to open it once more."""

    span: Span
    kind: str
    name: str
    attributes: dict[str, Any]
    began: int


class SpanTree:
    """Folds a session's events, in order, into spans; those that end while `live` are sent.

    What is under way when a process takes a session over has the same ids there, and its
    beginning: whoever sees its end sends it.
    """

    def __init__(
        self,
        tracer: Tracer,
        session: str,
        graph: str,
        node: Callable[[str], TracedNode],
        parent: str | None = None,
    ) -> None:
        self._tracer = tracer
        self._ids = tracer.id_generator
        self._session = session
        self._trace = trace_id(session)
        self._graph = graph
        self._node = node
        self._parent = parent
        self.live = False
        """Whether spans that end now are sent."""
        self.earlier: Callable[[str], int] = lambda _address: 0
        """The number of earlier attempts of a step, by address."""
        self._root: OpenSpan | None = None
        self._open: dict[str, OpenSpan] = {}
        self._done: dict[str, int] = {}
        """The end time of each loop's last round, until the loop's end is known."""
        self._cut: list[tuple[str, OpenSpan]] = []
        self._ends = 0
        self._calls: dict[str, SpanContext] = {}
        """By step, its last model call."""
        self._marks: dict[str, int] = {}
        """By step, when the last part of it ended."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._kinds: dict[str, str] = {}
        """The kind of the last error of each step."""
        self._spent = [0, 0, 0.0]

    def add(self, events: Iterable[SpanEvent], durations: Sequence[float] = ()) -> None:
        """Add the events of one tick; `durations` are those of its model calls."""
        calls = iter(durations)
        for event in events:
            at = _nanoseconds(event.timestamp)
            match event.event:
                case "session_state_change":
                    self._change(event, at)
                case "loop:round_started":
                    self._begin_round(event, at)
                case "loop:round_completed":
                    self._end_round(event, at)
                case "loop:exited":
                    self._leave_loop(event, at)
                case "node_state_change":
                    self._change_step(event, at)
                case "token_usage":
                    self._tell_call(event, at, next(calls, 0.0))
                case "tool_execution":
                    self._tell_tool(event, at)
            if event.event in TOLD:
                self._mark(event, at)

    def begin_anew(self, at: float) -> None:
        """A fork begins here: what came before is another session's past."""
        now = int(at * 1e9)
        self._cut, self._open, self._spent = list(self._open.items()), {}, [0, 0, 0.0]
        self._open_root(now)
        self._open_cut(now)

    # The session

    def _change(self, event: SpanEvent, at: int) -> None:
        status = str(event.data["status"])
        if self._root is None:
            self._open_root(at)
            self._open_cut(at)
        if status in ENDED:
            self._end_session(event, status, at)

    def _open_root(self, at: int) -> None:
        attributes = {
            names.OPERATION: names.INVOKE_WORKFLOW,
            names.WORKFLOW: self._graph,
            names.CONVERSATION: self._session,
            names.SESSION: self._session,
        }
        name = f"{names.INVOKE_WORKFLOW} {self._graph}"
        self._root = self._opened(ROOT, "", name, attributes, at, None, self._again)

    def _open_cut(self, at: int) -> None:
        for address, opened in self._cut:
            _, kind, name, attributes, _ = opened
            again = f"{self._again} again"
            context = self._around(address)
            self._open[address] = self._opened(kind, address, name, attributes, at, context, again)
        self._cut = []

    @property
    def _again(self) -> str:
        return str(self._ends or "")

    def _end_session(self, event: SpanEvent, status: str, at: int) -> None:
        self._cut = [entry for entry in self._open.items() if entry[0] not in self._done]
        for address in reversed(list(self._open)):
            self._end(address, at)
        self._done.clear()
        root, self._root = self._root, None
        self._ends += 1
        if root is None or not self.live:
            return
        given, received, usd = self._spent
        root.span.set_attributes(
            {
                names.STATUS: status,
                names.REASON: str(event.data.get("reason", "")),
                names.SESSION_INPUT: given,
                names.SESSION_OUTPUT: received,
                names.SESSION_USD: usd,
            }
        )
        if status == "failed":
            _fail(root.span, str(event.data.get("reason")), str(event.data.get("message", "")))
        root.span.end(at)

    # Rounds

    def _begin_round(self, event: SpanEvent, at: int) -> None:
        address, data = str(event.address), event.data
        self._finish_last(_loop_of(address))
        attributes = {
            names.SESSION: self._session,
            names.ADDRESS: address,
            names.LOOP: str(data["loop"]),
            names.ROUND: data["round"],
        }
        context = self._around(address)
        name = f"round {data['loop']}"
        opened = self._opened("round", address, name, attributes, at, context)
        self._open[address] = opened

    def _end_round(self, event: SpanEvent, at: int) -> None:
        opened = self._open.get(str(event.address))
        if opened is None:
            return
        data = event.data
        found = {
            names.SCORE: data["score"],
            names.DELTA: data["delta"],
            names.ROUND_USD: data["usd"],
            names.ROUND_INPUT: data["sent_tokens"],
            names.ROUND_OUTPUT: data["tokens"] - data["sent_tokens"],
        }
        opened.span.set_attributes(_known(found))
        self._done[str(event.address)] = at

    def _leave_loop(self, event: SpanEvent, at: int) -> None:
        loop = str(event.address)
        end = {name: event.data[key] for key, name in names.END.items()}
        for address, opened in list(self._open.items()):
            if opened.kind == "round" and _loop_of(address) == loop:
                opened.span.set_attributes(_known(end))
                if event.data["exit_reason"] not in UNFINISHED:
                    self._end(address, self._done.pop(address, at))

    def _finish_last(self, loop: str) -> None:
        """End the span of a loop's last round: the loop goes on."""
        for address in [each for each in self._done if _loop_of(each) == loop]:
            self._end(address, self._done.pop(address))

    # Steps

    def _change_step(self, event: SpanEvent, at: int) -> None:
        address, status = str(event.address), str(event.data["status"])
        if status == "running" and address not in self._open:
            self._begin_step(event, address, at)
        elif status in OVER and address in self._open:
            span = self._open[address].span
            span.set_attribute(names.STEP_STATUS, status)
            if status == "failed":
                _fail(span, self._kinds.get(address, ""), str(event.data.get("error", "")))
            self._end(address, at)

    def _begin_step(self, event: SpanEvent, address: str, at: int) -> None:
        name = str(event.node_id)
        node = self._node(name)
        attributes = {
            names.SESSION: self._session,
            names.ADDRESS: address,
            names.NODE: name,
            names.NODE_TYPE: node.type,
        }
        if node.is_agent:
            attributes |= {names.OPERATION: names.INVOKE_AGENT, names.AGENT: name}
        title = f"{names.INVOKE_AGENT if node.is_agent else node.type} {name}"
        again = str(self.earlier(address) or "") if self._ends else ""
        context = self._around(address)
        self._open[address] = self._opened(STEP, address, title, attributes, at, context, again)
        self._marks[address] = at

    # Parts of steps

    def _tell_call(self, event: SpanEvent, at: int, duration: float) -> None:
        data, address = event.data, str(event.address)
        self._spent[0] += data["input_tokens"]
        self._spent[1] += data["output_tokens"]
        self._spent[2] += data["usd"]
        node = self._node(str(event.node_id))
        attributes = {
            names.OPERATION: node.operation,
            names.PROVIDER: node.provider,
            names.REQUEST_MODEL: data["model"],
            names.INPUT_TOKENS: data["input_tokens"],
            names.OUTPUT_TOKENS: data["output_tokens"],
            names.USD: data["usd"],
            names.CACHED_TOKENS: data.get("cached_tokens"),
            names.REASONING_TOKENS: data.get("reasoning_tokens"),
            names.RESPONSE_ID: data.get("request_id"),
            names.ATTEMPT: data.get("attempt"),
            names.ESTIMATED: data.get("estimated"),
        }
        reason = data.get("finish_reason")
        if reason:
            attributes[names.FINISH_REASONS] = [reason]
        began = max(at - int(duration * 1e9), self._marks.get(address, 0)) if duration else at
        name = f"{node.operation} {data['model']}"
        span = self._part("call", event, name, attributes, began, SpanKind.CLIENT)
        if reason == "error":
            _fail(span, "error", "")
        self._calls[address] = span.get_span_context()
        self._marks[address] = at
        self._close(span, at)

    def _tell_tool(self, event: SpanEvent, at: int) -> None:
        tool, address = str(event.data.get("tool", "")), str(event.address)
        attributes = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL: tool}
        began = self._marks.get(address, at)
        name = f"{names.EXECUTE_TOOL} {tool}"
        span = self._part("tool", event, name, attributes, began, SpanKind.INTERNAL)
        if event.data.get("failed"):
            _fail(span, "error", "")
        self._close(span, at)

    def _part(
        self,
        kind: str,
        event: SpanEvent,
        name: str,
        attributes: dict[str, Any],
        began: int,
        span_kind: SpanKind,
    ) -> Span:
        """A model call in its step, or a tool under the call that asked for it."""
        address = str(event.address)
        self._counts[kind, address] += 1
        number = str(self._counts[kind, address])
        caller = self._calls.get(address) if kind == "tool" else None
        context = self._around(f"{address}/") if caller is None else _under(caller)
        found = _known({names.SESSION: self._session, names.ADDRESS: address, **attributes})
        return self._opened(kind, address, name, found, began, context, number, span_kind).span

    def _mark(self, event: SpanEvent, at: int) -> None:
        opened = self._open.get(str(event.address)) or self._root
        if opened is not None:
            plain = {
                key: value
                for key, value in event.data.items()
                if key not in QUIET and isinstance(value, str | bool | int | float)
            }
            opened.span.add_event(event.event, plain, at)
        if event.event == "human_input_received":
            self._marks[str(event.address)] = at
        elif event.event == "error":
            self._kinds[str(event.address)] = str(event.data["kind"])

    # Spans

    def _around(self, address: str) -> Context | None:
        """The span around an address."""
        parts = address.split("/")
        for size in range(len(parts) - 1, 0, -1):
            opened = self._open.get("/".join(parts[:size]))
            if opened is not None:
                return set_span_in_context(opened.span, Context())
        return None if self._root is None else set_span_in_context(self._root.span, Context())

    def _opened(
        self,
        kind: str,
        address: str,
        name: str,
        attributes: dict[str, Any],
        at: int,
        context: Context | None,
        again: str = "",
        span_kind: SpanKind = SpanKind.INTERNAL,
    ) -> OpenSpan:
        links = [Link(self._other(self._parent))] if self._parent and kind == ROOT else []
        if isinstance(self._ids, DerivedIds):
            self._ids.set_next(self._trace, span_id(self._session, kind, address, again))
        span = self._tracer.start_span(
            name, context or Context(), span_kind, attributes, links, start_time=at
        )
        return OpenSpan(span, kind, name, attributes, at)

    @staticmethod
    def _other(session: str) -> SpanContext:
        """The root span of another session."""
        flags = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(trace_id(session), span_id(session, ROOT), True, flags)

    def _end(self, address: str, at: int) -> None:
        self._close(self._open.pop(address).span, at)
        self._calls.pop(address, None)
        self._marks.pop(address, None)
        self._kinds.pop(address, None)

    def _close(self, span: Span, at: int) -> None:
        if self.live:
            span.end(at)


def _under(parent: SpanContext) -> Context:
    return set_span_in_context(NonRecordingSpan(parent), Context())


def _loop_of(address: str) -> str:
    found = ROUND.fullmatch(address)
    return found[1] if found else address


def _known(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None and value != ""}


def _fail(span: Span, kind: str, text: str) -> None:
    span.set_attribute(names.ERROR_TYPE, kind or OTHER)
    span.set_status(Status(StatusCode.ERROR, text or None))


def _nanoseconds(timestamp: str) -> int:
    return int(datetime.fromisoformat(timestamp).timestamp() * 1e6) * 1000
