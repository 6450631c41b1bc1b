"""Gemini in Google's cloud, with a service account whose tokens come from this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from rondel.errors import CallError, ModelError
from rondel.models.model import ToolResult, ToolSpec
from tests.exchanges import streamed, whole
from tests.openai_server import OpenAIServer
from tests.unit.models.asking import ask, model

VARIABLES = (
    *("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
    "GOOGLE_APPLICATION_CREDENTIALS",
)


class Tokens(BaseHTTPRequestHandler):
    """Gives whoever asks a token."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        said = json.dumps({"access_token": "of-the-account", "expires_in": 3600}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path / "gcloud"))
    monkeypatch.setenv("NO_GCE_CHECK", "true")


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A service account of the project `mine`."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), Tokens) as tokens:
        threading.Thread(target=tokens.serve_forever, daemon=True).start()
        file = tmp_path / "account.json"
        file.write_text(
            json.dumps(
                {
                    "type": "service_account",
                    "project_id": "mine",
                    "private_key_id": "1",
                    "private_key": key.decode(),
                    "client_email": "loops@mine.iam.gserviceaccount.com",
                    "client_id": "1",
                    "token_uri": f"http://127.0.0.1:{tokens.server_port}/token",
                }
            )
        )
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
        yield
        tokens.shutdown()


def vertex(server: OpenAIServer, **config: Any) -> Any:
    given = {"name": "gemini-2.5-flash", "base_url": server.url.removesuffix("/v1")}
    return model("vertex", **{**given, **config})


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize("stream", [True, False])
def test_vertex_is_asked_as_the_machines_own_account(stream: bool) -> None:
    thoughts: list[str] = []
    with OpenAIServer(streamed("gemini") if stream else whole("gemini")) as server:
        params = {"thinking": {"thinking_budget": 1024, "include_thoughts": True}}
        place = {"project": "theirs", "location": "europe-west4"}
        asked = vertex(server, stream=stream, params=params, **place)
        answer = ask(asked, system="You greet.", think=thoughts.append)
        (seen,) = server.seen
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    models = "/projects/theirs/locations/europe-west4/publishers/google/models"
    assert seen.path == f"/v1beta1{models}/gemini-2.5-flash:{method}"
    assert seen.headers["authorization"] == "Bearer of-the-account"
    assert seen.body["systemInstruction"]["parts"] == [{"text": "You greet."}]
    assert seen.body["generationConfig"]["thinkingConfig"]["thinking_budget"] == 1024
    assert (answer.content, "".join(thoughts)) == ("Hello there", "They greet.")
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens) == (12, 45)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (4, 40)


@pytest.mark.usefixtures("account")
def test_project_and_location_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "asia-south1")
    monkeypatch.setenv("GOOGLE_API_KEY", "of the Gemini API, not of the cloud")
    with OpenAIServer(whole("gemini")) as server:
        ask(vertex(server, stream=False))
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "ours")
        ask(vertex(server, stream=False))
    first, second = (seen.path for seen in server.seen)
    assert "/projects/mine/locations/asia-south1/" in first
    assert "/projects/ours/locations/asia-south1/" in second
    assert server.header("x-goog-api-key") == [None, None]


@pytest.mark.usefixtures("account")
def test_vertex_calls_tools() -> None:
    with OpenAIServer(whole("gemini", "call"), whole("gemini")) as server:
        asked = vertex(server, stream=False)
        first = ask(asked, tools=[ToolSpec("look")])
        assert first.calls[0].arguments == {"at": "the sea"}
        turn = first.turn([ToolResult(first.calls[0].id, "blue")])
        assert ask(asked, tools=[ToolSpec("look")], turns=[turn]).content == "Hello there"
        parts = server.bodies[1]["contents"][-1]["parts"]
    assert parts[0]["functionResponse"]["response"] == {"return_value": "blue"}


def test_a_key_of_the_cloud_is_sent_as_it_is() -> None:
    with OpenAIServer(whole("gemini")) as server:
        ask(vertex(server, stream=False, api_key="express"))
        (seen,) = server.seen
    assert seen.headers["x-goog-api-key"] == "express"
    assert seen.path == "/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent"


def test_without_credentials_the_step_says_so() -> None:
    with OpenAIServer(whole("gemini")) as server:
        with pytest.raises(ModelError, match=r"cannot be asked from here.*credentials") as caught:
            ask(vertex(server, stream=False, project="mine"))
        assert not server.seen
    assert not caught.value.retryable
    assert "\n" not in str(caught.value)


def test_what_the_machine_knows_goes_to_no_other_address() -> None:
    with pytest.raises(CallError, match=r"vertex at example.org needs api_key in the graph"):
        model("vertex", name="gemini-2.5-flash", base_url="https://example.org")
    assert model("vertex", name="gemini-2.5-flash", base_url="https://example.org", api_key="k")


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        (None, "us-central1-aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
    ],
)
def test_every_location_has_its_address(location: str | None, host: str) -> None:
    asked: Any = model("vertex", name="gemini-2.5-flash", location=location)
    assert asked._endpoint.address == f"https://{host}"
