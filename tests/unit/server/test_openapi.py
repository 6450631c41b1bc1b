"""The OpenAPI document: every answer is as it says, whatever is sent."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.server.process import served
from tests.unit.server.running import Running

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
ENDLESS = ("watchAll", "simulateGraph")
"""A stream that never ends, and what takes long."""


@pytest.mark.timeout(600)
def test_schemathesis_finds_no_server_error_and_no_undocumented_answer(
    folder: Path, tmp_path: Path
) -> None:
    with served(folder, tmp_path / "s.db") as (_, client):
        address = f"{client.base_url}/openapi.json".replace("//open", "/open")
        every_route = schemathesis(tmp_path, address, "--max-examples", "1")
        found = re.search(r"Selected: (\d+)/(\d+)\s+Tested: (\d+)", every_route)
        assert found, every_route
        selected, there, tested = map(int, found.groups())
        assert tested == selected == there - len(ENDLESS), "some routes were never called"
        schemathesis(tmp_path, address, "--max-examples", "6", "--max-time", "45")
        assert client.get("/healthz").status_code == 200


def schemathesis(folder: Path, address: str, *options: str) -> str:
    """What it prints of calls made up from the document at this address; it finds no fault."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", address, *options]
    command += ["--phases", "examples,fuzzing", "--seed", "7", "--checks", ",".join(CHECKS)]
    command += ["--no-shrink", "--request-timeout", "30", "--warnings", "off"]
    for operation in ENDLESS:
        command += ["--exclude-operation-id", operation]
    ran = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, timeout=280, check=False
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
    return ran.stdout


def test_every_operation_has_a_stable_id_and_says_what_it_is_for(
    folder: Path, tmp_path: Path
) -> None:
    with served(folder, tmp_path / "s.db") as (_, client):
        document = client.get("/openapi.json").json()
        found = [
            operation
            for path in document["paths"].values()
            for method, operation in path.items()
            if method in ("get", "post", "put", "delete")
        ]
        ids = [operation["operationId"] for operation in found]
        assert len(set(ids)) == len(ids)
        assert {"startSession", "watchSession", "answerSession", "getInsights"} <= set(ids)
        assert all(operation["description"] for operation in found)
        page = (Path(__file__).parents[3] / "docs" / "reference" / "http.md").read_text()
        for path, operations in document["paths"].items():
            for method in operations:
                assert f"`{method.upper()} {path}`" in page
        assert document["components"]["schemas"]["Problem"]["properties"]["detail"]


def test_every_call_may_be_too_slow_or_find_the_disk_full_and_says_so(server: Running) -> None:
    document = server.client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path.startswith("/api/v1"):
                assert {"408", "507"} <= set(operation["responses"]), path
