"""What a server logs: one line a record, with its session."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import httpx2

from rondel.cli.logs import JsonLines, TextLines
from tests.unit.server.process import free_port
from tests.unit.server.running import PATIENCE


def test_every_line_is_a_record_and_sessions_are_named(folder: Path, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "rondel", "serve", "--port", str(port)]
    command += ["--graphs", str(folder), "--db", str(tmp_path / "s.db"), "--log-format", "json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        assert "rondel serves" in next(lines)
        until = (line for line in lines if "startup complete" in line)
        assert json.loads(next(until))["logger"] == "uvicorn.error"
        url = f"http://127.0.0.1:{port}/api/v1/sessions"
        body = {"graph_id": "asking", "inputs": "my secret task"}
        id = httpx2.post(url, json=body, timeout=PATIENCE).json()["id"]
        for line in lines:
            assert "my secret task" not in line
            record = json.loads(line)
            if record.get("status") == "waiting":
                break
        assert record["session"] == id
        assert record["address"] == "Person"
        assert record["level"] == "info"
    finally:
        process.kill()
        process.communicate()


def test_what_an_error_says_is_not_logged() -> None:
    try:
        raise ValueError("key sk-123")
    except ValueError:
        record = logging.LogRecord("rondel", 40, "x.py", 1, "it\nfailed", (), sys.exc_info())
    for form in (JsonLines(), TextLines()):
        line = form.format(record)
        assert "\n" not in line
        assert "sk-123" not in line
        assert "ValueError" in line
        assert "test_logs.py" in line
