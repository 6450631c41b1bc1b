"""Traces of `rondel run`, `serve` and `worker`, sent over OTLP/HTTP as the environment says."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from rondel.dispatch.dispatchers import dispatcher
from rondel.dispatch.submitting import SubmittingEngine
from rondel.telemetry.tracer import traces_are_wanted
from tests.e2e.command import ROOT, environment, start
from tests.unit.server.process import free_port, served
from tests.unit.server.running import REVIEW
from tests.unit.telemetry.receiver import Receiver, receiving

EXAMPLE = ROOT / "examples" / "01_review_loop" / "graph.yaml"
PATIENCE = 60.0


def rondel(*arguments: str, **more: str) -> tuple[int, str]:
    """The exit code of a command, and what it said on stderr."""
    process = start(*arguments, env=environment(**more))
    _, told = process.communicate(timeout=PATIENCE)
    return process.returncode, told


def test_rondel_run_sends_its_trace_before_it_ends() -> None:
    with receiving() as receiver:
        code, _ = rondel(
            "run", str(EXAMPLE), "-i", "tea", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint
        )
        assert code == 0
        count = Counter(span.name.split()[0] for span in receiver.spans)
        assert count["invoke_workflow"] == 1
        assert count["round"] == 4
        assert count["chat"] > 0
        assert receiver.services == {"rondel"}


def test_a_server_and_the_one_after_it_send_one_trace(tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    (folder / "asking.yaml").write_text(ASKED, "utf-8")
    with receiving() as receiver:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint, "OTEL_SERVICE_NAME": "mine"}
        with served(folder, tmp_path / "s.db", env=env) as (process, client):
            body = {"graph_id": "asking", "inputs": {"task": "tea"}}
            session = client.post("/api/v1/sessions", json=body).json()["id"]
            _until(client, session, "waiting")
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        assert [span.name for span in receiver.spans] == ["literal Draft"]
        with served(folder, tmp_path / "s.db", env=env) as (process, client):
            client.post(f"/api/v1/sessions/{session}/answer", json={"text": "yes"})
            _until(client, session, "completed")
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        assert _shape(receiver) == {
            "literal Draft": "invoke_workflow asking",
            "human Person": "invoke_workflow asking",
            "passthrough End": "invoke_workflow asking",
            "invoke_workflow asking": "",
        }
        assert receiver.services == {"mine"}


def test_a_worker_sends_the_traces_of_what_it_drives(new_database: str) -> None:
    with receiving() as receiver:
        env = environment(OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint)
        worker = start("worker", "--db", new_database, env=env)
        try:
            asyncio.run(_submit(new_database))
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=PATIENCE)
        assert Counter(span.name for span in receiver.spans)["round Writer"] == 4


async def _submit(database: str) -> None:
    bringing = dispatcher("procrastinate", database)
    await bringing.open()
    try:
        async with SubmittingEngine(database, bringing) as engine, asyncio.timeout(PATIENCE):
            session = await engine.start(EXAMPLE, "a poem")
            assert (await session.result()).status == "completed"
    finally:
        await bringing.close()


def test_a_collector_that_is_not_there_costs_a_warning_and_not_the_run(tmp_path: Path) -> None:
    endpoint, began = f"http://127.0.0.1:{free_port()}", time.monotonic()
    code, told = rondel("run", str(EXAMPLE), "-i", "tea", OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
    assert code == 0
    assert told.splitlines()[-1].startswith("warning: spans could not be sent in 3 s")
    assert time.monotonic() - began < 20


def test_simulated_runs_are_not_traced() -> None:
    with receiving() as receiver:
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint}
        code, _ = rondel("simulate", str(EXAMPLE), "-n", "5", **env)
        assert code == 0
        assert receiver.spans == []


def test_nothing_of_opentelemetry_is_loaded_unless_it_is_configured(tmp_path: Path) -> None:
    (tmp_path / "graph.yaml").write_text(REVIEW, "utf-8")
    script = (
        "import sys, rondel\n"
        "rondel.run(rondel.Graph.load('graph.yaml'), 'tea')\n"
        "assert not any(name.startswith('opentelemetry.sdk') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=PATIENCE)


def test_without_the_extra_it_is_said_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "graph.yaml").write_text(REVIEW, "utf-8")
    script = (
        "import sys\n"
        "sys.modules['opentelemetry.sdk'] = None\n"
        "from rondel.cli import main\n"
        "sys.exit(main(['run', 'graph.yaml', '-i', 'tea', '--db', ':memory:']))\n"
    )
    env = environment(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    command = [sys.executable, "-c", script]
    ran = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert ran.stderr.count("pip install 'rondel[otel]'") == 1
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
    ],
)
def test_the_environment_says_whether_there_are_traces(
    environment: dict[str, str], expected: bool
) -> None:
    assert traces_are_wanted(environment) is expected


def _until(client: httpx2.Client, session: str, status: str) -> None:
    for _ in range(600):
        found = client.get(f"/api/v1/sessions/{session}").json()["status"]
        if found == status:
            return
        assert found in ("pending", "running", "waiting")
    raise AssertionError(f"the session is not {status}")


def _shape(receiver: Receiver) -> dict[str, str]:
    """Every span, with the name of its parent."""
    names = {span.span_id: span.name for span in receiver.spans}
    assert len({span.trace_id for span in receiver.spans}) == 1
    return {
        span.name: names[span.parent_span_id] if span.parent_span_id else ""
        for span in receiver.spans
    }


ASKED = """\
graph:
  id: asking
  nodes:
    - {id: Draft, type: literal, config: {content: a draft}}
    - {id: Person, type: human, config: {description: "Is it good?"}}
    - {id: End, type: passthrough}
  edges:
    - {from: Draft, to: Person}
    - {from: Person, to: End}
"""
