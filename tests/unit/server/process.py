"""`rondel serve` as a process of its own, which can be killed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from tests.unit.server.running import PATIENCE


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def served(
    folder: Path,
    db: Path | str,
    *more: str,
    port: int | None = None,
    env: dict[str, str] | None = None,
) -> Iterator[tuple[subprocess.Popen[bytes], httpx2.Client]]:
    """The process, and a client of it."""
    port = port or free_port()
    command = [sys.executable, "-m", "rondel", "serve", "--port", str(port)]
    command += ["--graphs", str(folder), "--db", str(db), *more]
    process = subprocess.Popen(command, env={**os.environ, **(env or {})})
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            deadline = time.monotonic() + PATIENCE
            while not _answers(client):
                assert process.poll() is None, "the server has ended"
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield process, client
    finally:
        process.kill()
        process.wait()


def _answers(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False
