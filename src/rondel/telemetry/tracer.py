"""The tracer of this process, if traces are wanted."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from logging import getLogger
from threading import Thread
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from rondel.errors import CallError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import TracerProvider as AnyTracerProvider

log = getLogger("rondel.telemetry")

DISABLED = "OTEL_SDK_DISABLED"
EXPORTERS = "OTEL_TRACES_EXPORTER"
ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
GROUP = "opentelemetry_traces_exporter"
OTLP, NONE = "otlp", "none"
OTLP_BY_PROTOCOL = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
EXTRA = "pip install 'rondel[otel]'"
PATIENCE = 3.0
"""The most seconds that closing an engine waits for spans to be sent."""

_stuck: WeakSet[Any] = WeakSet()
"""Providers whose collector does not respond."""


def traces_are_wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether traces are wanted: by the environment, or by a provider that is set up already."""
    if environment.get(DISABLED, "").strip().lower() == "true":
        return False
    named = environment.get(EXPORTERS, "").strip().lower()
    if named == NONE:
        return False
    return bool(named) or any(environment.get(name) for name in ENDPOINTS) or _is_set_up()


def provider_of_process(environment: Mapping[str, str] = os.environ) -> TracerProvider | None:
    """The provider of this process, set up from the environment unless somebody did before.

    None, and a word in the log, if OpenTelemetry is asked for and not installed.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError:
        log.warning("traces are asked for, and OpenTelemetry's SDK is not installed: %s", EXTRA)
        return None
    current = trace.get_tracer_provider()
    if isinstance(current, TracerProvider):
        return current
    provider = _made(environment)
    trace.set_tracer_provider(provider)
    return provider


def send(provider: TracerProvider) -> None:
    """Send all spans; a missing collector delays this only briefly."""
    if provider in _stuck:
        return
    sending = Thread(target=_flush, args=(provider,), daemon=True)
    sending.start()
    sending.join(PATIENCE)
    if sending.is_alive():
        _stuck.add(provider)
        log.warning("spans could not be sent in %g s and are lost", PATIENCE)


def _flush(provider: TracerProvider) -> None:
    try:
        provider.force_flush()
    except Exception:  # who takes the spans may be anybody's code
        log.exception("spans could not be sent")


def sdk_provider(provider: AnyTracerProvider) -> TracerProvider:
    """The provider that was passed; raises CallError if it is not the SDK's."""
    try:
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError:
        raise CallError(f"tracer_provider needs OpenTelemetry's SDK: {EXTRA}") from None
    if not isinstance(provider, TracerProvider):
        raise CallError(
            "tracer_provider is not a TracerProvider of OpenTelemetry's SDK; "
            "make one: opentelemetry.sdk.trace.TracerProvider()"
        )
    return provider


def _is_set_up() -> bool:
    """Whether this program has set up a provider of the SDK."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return False
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    return isinstance(trace.get_tracer_provider(), TracerProvider)


def _made(environment: Mapping[str, str]) -> TracerProvider:
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create()
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "rondel"}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    atexit.register(send, provider)
    for name in (environment.get(EXPORTERS) or OTLP).split(","):
        exporter = _exporter(name.strip().lower(), environment)
        if exporter is not None:
            provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _exporter(name: str, environment: Mapping[str, str]) -> Any:
    if name == OTLP:
        protocol = next(filter(None, map(environment.get, PROTOCOLS)), "http/protobuf")
        name = OTLP_BY_PROTOCOL.get(protocol, protocol)
    from importlib.metadata import entry_points  # not before somebody asks for traces

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        log.warning("no exporter %r for traces is installed; they are not sent: %s", name, EXTRA)
        return None
    return found[0].load()()
