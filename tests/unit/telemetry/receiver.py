"""A collector on a loopback port: it keeps what is sent to it over OTLP/HTTP."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Receiver(ThreadingHTTPServer):
    """Takes spans."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[ExportTraceServiceRequest] = []

    @property
    def endpoint(self) -> str:
        """What OTEL_EXPORTER_OTLP_ENDPOINT is to be."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def spans(self) -> list[Any]:
        """All spans of ours that came; FastAPI tells of requests too."""
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            if scope.scope.name == "rondel"
            for span in scope.spans
        ]

    @property
    def services(self) -> set[str]:
        """The names under which processes sent them."""
        return {
            each.value.string_value
            for request in self.requests
            for resource in request.resource_spans
            for each in resource.resource.attributes
            if each.key == "service.name"
        }


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.path == "/v1/traces"
        self.server.requests.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A collector that listens."""
    receiver = Receiver()
    thread = Thread(target=receiver.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        thread.join()
        receiver.server_close()
