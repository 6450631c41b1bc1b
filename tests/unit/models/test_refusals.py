"""What providers refuse, in their own words, is told in one line that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from rondel.errors import ModelError
from tests.openai_server import OpenAIServer, Reply
from tests.unit.models.asking import ask, model

NGINX = "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body><h1>404 Not Found</h1>"


def openai(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


def anthropic(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    said = {"type": kind, "message": message}
    return {"type": "error", "error": said, "request_id": "req_1"}


def google(message: str, status: str = "INVALID_ARGUMENT", code: int = 400) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status}}


TOO_LONG = [
    (
        "openai",
        openai("This model's maximum context length is 128000 tokens.", "context_length_exceeded"),
    ),
    ("anthropic", anthropic("prompt is too long: 215000 tokens > 200000 maximum")),
    (
        "google",
        google("The input token count (1200000) exceeds the maximum number of tokens allowed (9)."),
    ),
]
UNWANTED = [
    ("openai", openai("The response was filtered.", "content_filter")),
    ("openai", openai("Content Exists Risk")),
    ("anthropic", anthropic("Output blocked by content filtering policy")),
]


def refused(name: str, reply: Reply) -> ModelError:
    """The one error that a call ends with that is made once."""
    with OpenAIServer(reply) as server:
        address = server.url if name == "openai" else server.url.removesuffix("/v1")
        asked = model(name, name="m", base_url=address, api_key="k")
        with pytest.raises(ModelError) as caught:
            ask(asked)
        assert len(server.seen) == 1
    assert "\n" not in str(caught.value)
    assert not caught.value.retryable
    return caught.value


@pytest.mark.parametrize(("name", "body"), TOO_LONG)
def test_what_is_too_long_says_how_to_send_less(name: str, body: dict[str, Any]) -> None:
    error = str(refused(name, Reply(status=400, body=body)))
    assert error.startswith("'m' cannot read so much at once (status 400: ")
    assert "; send less by compact, carry or context_window, or take" in error


@pytest.mark.parametrize(("name", "body"), UNWANTED)
def test_what_is_not_wanted_says_so(name: str, body: dict[str, Any]) -> None:
    error = str(refused(name, Reply(status=400, body=body)))
    assert "refused the call to 'm'" in error
    assert error.endswith("; change the input or the role")


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (404, openai("The model `m` does not exist", "model_not_found"), "check name and base_url"),
        (404, {"detail": "Not Found"}, "check base_url, which often ends in /v1"),
        (403, openai("Project does not have access to model `m`", "model_not_found"), "check name"),
        (403, openai("Country not supported"), "OPENAI_API_KEY, and what its account may use"),
        (400, openai("Unsupported value: 'temperature'"), "check name and params"),
    ],
)
def test_the_remedy_is_of_the_refusal(status: int, body: dict[str, Any], says: str) -> None:
    assert says in str(refused("openai", Reply(status=status, body=body)))


def test_of_a_web_page_the_title_is_told() -> None:
    page = Reply(status=404, raw=NGINX.encode(), headers={"Content-Type": "text/html"})
    error = str(refused("openai", page))
    assert "has no models at http://127.0.0.1" in error
    assert "(status 404: a web page: 404 Not Found)" in error
