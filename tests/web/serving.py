"""A real `rondel serve` process with a real journal, for the tests of the pages."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

READY = 60.0


class Server:
    """One server process; it can be stopped, killed and started again on the same journal."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.graphs = folder / "graphs"
        self.graphs.mkdir(parents=True, exist_ok=True)
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and be back when it answers."""
        command = [
            *(sys.executable, "-c", "from rondel.cli import main; main()", "serve"),
            *("--port", str(self.port), "--db", str(self.folder / "journal.db")),
            *("--graphs", str(self.graphs), *self._options),
        ]
        log = (self.folder / "server.log").open("ab")
        with log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        self._await_ready(self._process)

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + READY
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"{self.url}/healthz", timeout=2).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise AssertionError(f"no server: {(self.folder / 'server.log').read_text()}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process, kindly or not."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=30)
            self._process = None

    def put(self, text: str) -> None:
        """Store a graph as somebody would with an editor of text."""
        name = text.partition("id: ")[2].partition("\n")[0].strip()
        (self.graphs / f"{name}.yaml").write_text(text, "utf-8")

    def token(self, role: str) -> str:
        """A new token, made on the command line."""
        command = ["tokens", "create", role, "--role", role]
        command += ["--db", str(self.folder / "journal.db")]
        done = subprocess.run(
            [sys.executable, "-c", "from rondel.cli import main; main()", *command],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()[0]

    def call(self, path: str, body: Any = None, method: str | None = None, **headers: str) -> Any:
        """Call the API."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            data,
            {"Content-Type": "application/json", **headers},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def run(self, graph: str, inputs: str = "Why loops deserve names", **more: Any) -> str:
        """Start a session of a stored graph, or of a text; its id."""
        source = {"graph": graph} if "\n" in graph else {"graph_id": graph}
        return str(self.call("/sessions", {**source, "inputs": inputs, **more})["id"])

    def settled(self, session: str, *statuses: str) -> dict[str, Any]:
        """The session once it has one of these states."""
        deadline = time.monotonic() + 60
        while True:
            found: dict[str, Any] = self.call(f"/sessions/{session}")
            if found["status"] in statuses or time.monotonic() > deadline:
                assert found["status"] in statuses, found["status"]
                return found
            time.sleep(0.03)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
