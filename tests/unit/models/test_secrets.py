"""A planted key is searched for in all that a failure leaves behind."""

from __future__ import annotations

import logging
import traceback
from typing import Any
from urllib.parse import unquote

import pytest
from pydantic import ValidationError

from rondel.errors import ModelError
from rondel.graph.variables import EnvironmentText
from rondel.models.model import ToolSpec
from rondel.models.redaction import Redaction
from tests.openai_server import OpenAIServer, Reply
from tests.unit.models.asking import ask, model

KEY = "sk-planted-0123456789"
ECHO = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}


def whole(error: BaseException) -> str:
    """Everything that an error holds, with all it was raised from."""
    text = "".join(traceback.format_exception(error))
    seen: BaseException | None = error
    while seen is not None:
        text += repr(seen) + str(vars(seen))
        seen = seen.__cause__ or seen.__context__
    return text


@pytest.mark.parametrize(
    "reply",
    [
        *(Reply(status=status, body=ECHO) for status in (400, 401, 403, 404, 422, 429, 500)),
        Reply(status=500, raw=KEY.encode()),
        Reply(raw=f"not json: {KEY}".encode()),
        Reply(raw=f"data: {KEY}\n\n".encode(), headers={"Content-Type": "text/event-stream"}),
        Reply(body={"echo": KEY}),
        Reply("half", drop_after=1),
        Reply(silent=True),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_no_failure_tells_the_key(
    reply: Reply, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with OpenAIServer(reply) as server:
        asked = model(
            "openai",
            name="m",
            base_url=server.url,
            api_key=KEY,
            attempts=2,
            backoff=0,
            stream=stream,
            params={"timeout": 0.2},
        )
        with pytest.raises(ModelError) as caught:
            ask(asked)
        server.wait_for(1)
        assert server.header("Authorization")[0] == f"Bearer {KEY}"
    assert KEY not in whole(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in repr(asked) + repr(vars(asked))
    assert KEY not in caplog.text


@pytest.mark.parametrize("place", ["user", "password", "query"])
def test_secrets_in_an_address_do_not_show(place: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with OpenAIServer("Hello.", Reply(status=400, body=ECHO)) as server:
        host = server.url.removeprefix("http://")
        address = {
            "user": f"http://{KEY}@{host}",
            "password": f"http://me:{KEY}@{host}",
            "query": f"{server.url}?key={KEY}",
        }[place]
        asked = model("openai", name="m", base_url=address, attempts=1)
        errors = []
        if place != "query":  # there the library puts its path after the query
            assert ask(asked).content == "Hello."
            with pytest.raises(ModelError) as refused:
                ask(asked)
            errors.append(refused.value)
    with pytest.raises(ModelError) as unreached:
        ask(asked)
    assert host in str(unreached.value)
    assert not [error for error in (*errors, unreached.value) if KEY in whole(error)]
    assert KEY not in caplog.text


@pytest.mark.parametrize("word", ["hunter-two", "a%20b%20c", "T0123456"])
def test_a_path_that_came_from_the_environment_does_not_show(
    word: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    echo = Reply(status=400, body={"error": {"message": f"nothing at /{word}/ ({unquote(word)})"}})
    with OpenAIServer(echo) as server:
        address = EnvironmentText(f"{server.url}/{word}/v1")
        asked = model("openai", name="m", base_url=address, attempts=1)
        with pytest.raises(ModelError) as refused:
            ask(asked)
        assert word in server.seen[0].path
    with pytest.raises(ModelError) as unreached:
        ask(asked)
    host = server.url.removeprefix("http://").partition("/")[0]
    assert f"{host}/v1/***/v1 failed" in str(unreached.value)
    for text in (word, unquote(word)):
        assert text not in whole(refused.value) + whole(unreached.value) + caplog.text


def test_secrets_in_headers_do_not_show() -> None:
    with OpenAIServer(Reply(status=400, body=ECHO)) as server:
        params = {"extra_headers": {"X-Secret": KEY}}
        with pytest.raises(ModelError) as caught:
            ask(model("openai", name="m", base_url=server.url, params=params))
        assert server.header("X-Secret") == [KEY]
    assert KEY not in whole(caught.value)


def test_a_wrong_config_does_not_tell_the_key() -> None:
    wrong: dict[str, Any] = {"name": "m", "api_key": KEY, "attempts": -1, "nonsense": 1}
    with pytest.raises(ValidationError) as caught:
        model("openai", **wrong)
    assert KEY not in str(caught.value)


def test_the_record_of_a_turn_does_not_hold_the_key() -> None:
    with OpenAIServer(Reply(calls=[("look", {})])) as server:
        address = server.url.replace("http://", f"http://me:{KEY}@")
        answer = ask(
            model("openai", name="m", base_url=address, api_key=KEY), tools=[ToolSpec("look")]
        )
    assert answer.record is not None
    assert KEY not in str(answer)


def test_a_longer_secret_is_hidden_whole_and_a_short_text_is_no_secret() -> None:
    redaction = Redaction(["key-1", "key-1-and-more", "a", ""])
    assert redaction.of("a key-1-and-more, key-1") == "a ***, ***"
    assert "key-1" not in repr(redaction)
