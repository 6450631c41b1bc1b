"""The examples that are packages or programs: installed, started and used as their READMEs say."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.command import BIN, ROOT, Ran, environment, rondel

EXAMPLES = ROOT / "examples"

Call = Callable[..., Ran]


def test_a_plug_in_is_installed_and_its_node_type_works(tmp_path: Path, database: str) -> None:
    graph = str(EXAMPLES / "18_plugin" / "graph.yaml")
    without = rondel("check", graph)
    assert without.code == 2
    assert "there is no node type 'shout'" in without.err
    install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    target = ["--target", str(tmp_path), str(EXAMPLES / "18_plugin")]
    subprocess.run([sys.executable, "-m", "pip", *install, *target], check=True)
    there = environment(PYTHONPATH=str(tmp_path))
    for db in (":memory:", database):
        ran = rondel("run", graph, "-i", "more loops", "--db", db, "--json", env=there)
        assert (ran.code, ran.err) == (0, "")
        assert ran.result["output"] == "MORE LOOPS!!!"
        assert ran.result["loops"][0]["exit_reason"] == "score_threshold_reached"
    assert '"shout"' in rondel("schema", env=there).out


@contextmanager
def application(db: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The FastAPI example, served by uvicorn in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [str(BIN / "uvicorn"), "app:app", "--port", str(port), "--log-level", "warning"],
        cwd=EXAMPLES / "19_fastapi",
        env=environment(DRAFTS_DB=db),
    )
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGINT)
        process.wait(30)


def asked(url: str, body: Any = None) -> tuple[int, Any]:
    """A request, once somebody listens there."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    for _ in range(600):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)
        except urllib.error.URLError:
            time.sleep(0.05)
    raise AssertionError(f"nobody listens at {url}")


def test_a_draft_of_the_fastapi_application_outlives_it(db: str) -> None:
    with application(db) as (url, process):
        status, draft = asked(f"{url}/drafts", {"topic": "tea"})
        assert (status, draft["status"]) == (202, "waiting")
        assert draft["asks"] == [{"node": "Editor", "text": "Shall it go out?"}]
        process.kill()
    with application(db) as (url, _):
        place = f"{url}/drafts/{draft['id']}"
        assert asked(place)[1]["status"] == "waiting"
        assert asked(f"{place}/answer", {"text": "revise: longer"})[1]["status"] == "waiting"
        assert (
            asked(f"{place}/answer", {"text": "approve"})[1]["output"] == "Tea is hot and on time."
        )
        assert asked(f"{place}/answer", {"text": "approve"})[0] == 409
        assert asked(f"{url}/drafts/none")[0] == 404


def test_the_breaker_example_goes_on_once_it_is_unlocked(call: Call, db: str) -> None:
    kept = ("--db", db)
    graph = str(EXAMPLES / "15_breaker" / "graph.yaml")
    locked = call("run", graph, "-i", "The build is red", "--json", *kept)
    assert locked.code == 5
    session = locked.result["session_id"]
    refused = call("unlock", session, "--because", " ", *kept)
    assert refused.code == 2
    ran = call("unlock", session, "--because", "the server was down", "--json", *kept)
    assert (ran.code, ran.result["output"]) == (0, "The build passed.")
    assert ran.result["loops"][0]["rounds"] == 4


def test_the_fork_example_goes_on_from_its_best_round(call: Call, db: str) -> None:
    kept = ("--db", db)
    first = call(
        "run", str(EXAMPLES / "16_fork_best" / "graph.yaml"), "-i", "Rain", "--json", *kept
    )
    session = first.result["session_id"]
    more = ("--set", "loops.Poet.max_rounds=5", "--json", *kept)
    for fork, calls in (
        (call("fork", session, "--at", "Poet[4]", *more), 4),
        (call("fork", session, *more), 2),
    ):
        assert fork.code == 0, fork.err
        assert fork.result["output"] == "Rain on the roof, and a light left on."
        assert fork.result["usage"]["model_calls"] == calls
