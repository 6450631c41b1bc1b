"""Somebody who is told by webhooks."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.unit.server.running import PATIENCE


class Receiver:
    """Hears, and answers 204 or what it is told to."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.hold = threading.Event()
        self.hold.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.heard.append(({k.lower(): v for k, v in self.headers.items()}, body))
                receiver.hold.wait(PATIENCE)
                self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def ids(self) -> list[str]:
        """The ids of what was heard."""
        return [headers["webhook-id"] for headers, _ in self.heard]

    def wait(self, count: int) -> list[dict[str, Any]]:
        """What was heard, once it is so much."""
        deadline = time.monotonic() + PATIENCE
        while len(self.heard) < count:
            assert time.monotonic() < deadline, self.heard
            time.sleep(0.01)
        return [json.loads(body) for _, body in self.heard]

    def close(self) -> None:
        """Hear no more."""
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()
