"""Amazon's Bedrock, asked by its own client at an address of this machine."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from botocore.session import Session

from rondel.engine.message import Message
from rondel.errors import CallError, ModelError
from rondel.models.model import ToolResult, ToolSpec
from tests.exchanges import exchange, streamed, whole
from tests.openai_server import OpenAIServer, Reply
from tests.unit.models.asking import ask, model

CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest.fixture(autouse=True)
def _aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials of nobody, and nothing else that this machine may know of AWS."""
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret-of-anybody")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")


def bedrock(server: OpenAIServer, **config: Any) -> Any:
    address = server.url.removesuffix("/v1")
    given = {"name": CLAUDE, "base_url": address, "params": {"max_tokens": 500}}
    return model("bedrock", **{**given, **config})


def shape_of(name: str) -> Any:
    return Session().get_service_model("bedrock-runtime").shape_for(name)


def strangers(shape: Any, value: Any, path: str = "") -> list[str]:
    """What Amazon's description of its service has no place for."""
    if shape.type_name == "structure":
        if getattr(shape, "is_document_type", False):
            return []
        unknown = [f"{path}.{name}" for name in value if name not in shape.members]
        missing = [
            f"{path}.{name} is missing" for name in shape.required_members if name not in value
        ]
        inner = [
            stranger
            for name in value
            if name in shape.members
            for stranger in strangers(shape.members[name], value[name], f"{path}.{name}")
        ]
        return unknown + missing + inner
    if shape.type_name == "list":
        return [each for item in value for each in strangers(shape.member, item, path)]
    kinds: dict[str, Any] = {"string": str, "integer": int, "long": int}
    kind = kinds.get(shape.type_name)
    return [] if kind is None or isinstance(value, kind) else [f"{path} is no {shape.type_name}"]


def test_the_exchange_is_what_amazon_describes() -> None:
    said = exchange("bedrock")
    assert strangers(shape_of("ConverseResponse"), said["answer"]) == []
    assert strangers(shape_of("ConverseResponse"), said["call"]) == []
    for event in said["stream"]:
        assert strangers(shape_of("ConverseStreamOutput"), event) == []


@pytest.mark.parametrize("stream", [True, False])
def test_bedrock_is_asked_by_converse(stream: bool) -> None:
    thoughts: list[str] = []
    said: list[str] = []
    reply = streamed("bedrock") if stream else whole("bedrock")
    reply = Reply(
        raw=reply.raw, body=reply.body, headers={**reply.headers, "x-amzn-RequestId": "r-1"}
    )
    with OpenAIServer(reply) as server:
        asked = bedrock(server, stream=stream, params={"max_tokens": 500, "thinking": "low"})
        answer = ask(asked, system="You greet.", think=thoughts.append, emit=said.append)
        (seen,) = server.seen
    kind = "converse-stream" if stream else "converse"
    assert seen.path == f"/model/{CLAUDE.replace(':', '%3A')}/{kind}"
    assert "/eu-central-1/bedrock/aws4_request" in seen.headers["authorization"]
    assert strangers(shape_of("ConverseRequest"), seen.body | {"modelId": CLAUDE}) == []
    assert seen.body["system"] == [{"text": "You greet."}]
    assert seen.body["messages"][0]["content"] == [{"text": "Why loops?"}]
    assert seen.body["inferenceConfig"]["maxTokens"] == 500
    assert seen.body["additionalModelRequestFields"]["thinking"]["type"] == "enabled"
    assert (answer.content, "".join(thoughts)) == ("Hello there", "They greet.")
    assert said == (["Hello", " there"] if stream else ["Hello there"])
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (16, 45, 4)
    assert (usage.finish_reason, usage.request_id, usage.estimated) == ("stop", "r-1", False)


def test_thinking_may_be_said_in_the_models_own_words() -> None:
    own = {"type": "enabled", "budget_tokens": 2000}
    with OpenAIServer(whole("bedrock")) as server:
        ask(bedrock(server, stream=False, params={"thinking": own, "max_tokens": 4000}))
        (body,) = server.bodies
    assert body["additionalModelRequestFields"] == {"thinking": own}


def test_bedrock_calls_tools() -> None:
    with OpenAIServer(whole("bedrock", "call"), whole("bedrock")) as server:
        asked = bedrock(server, stream=False)
        first = ask(asked, tools=[ToolSpec("look")])
        assert first.calls[0].arguments == {"at": "the sea"}
        turn = first.turn([ToolResult(first.calls[0].id, "blue")])
        assert ask(asked, tools=[ToolSpec("look")], turns=[turn]).content == "Hello there"
        first_body, told = server.bodies[0], server.bodies[1]["messages"]
    assert first_body["toolConfig"]["tools"][0]["toolSpec"]["name"] == "look"
    result = told[-1]["content"][0]["toolResult"]
    assert (result["toolUseId"], result["content"]) == ("tooluse_1", [{"text": "blue"}])


def test_bedrock_is_told_where_what_stays_ends() -> None:
    told = [Message("the task", role="user", source="TASK"), Message("a critique", source="Critic")]
    with OpenAIServer(whole("bedrock")) as server:
        ask(bedrock(server, stream=False), messages=told, stable=1)
        ask(bedrock(server, stream=False, cache=False), messages=told, stable=1)
    marked, plain = (json.dumps(body) for body in server.bodies)
    assert marked.index("the task") < marked.index("cachePoint") < marked.index("a critique")
    assert "cachePoint" not in plain


# Keys and places


def test_a_key_of_bedrock_is_sent_as_it_is() -> None:
    with OpenAIServer(whole("bedrock")) as server:
        ask(bedrock(server, stream=False, api_key="bedrock-key"))
        assert server.header("authorization") == ["Bearer bedrock-key"]


def test_without_credentials_the_step_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with OpenAIServer(whole("bedrock")) as server:
        with pytest.raises(ModelError, match=r"cannot be asked from here.*credentials") as caught:
            ask(bedrock(server, stream=False))
        assert not server.seen
    assert not caught.value.retryable


def test_a_missing_region_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(CallError, match="needs a region: set AWS_REGION"):
        model("bedrock", name=CLAUDE)


def test_the_region_of_a_profile_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AWS_REGION")
    (tmp_path / "config").write_text("[profile work]\nregion = ap-south-1\n")
    asked: Any = model("bedrock", name=CLAUDE, profile="work")
    assert asked._endpoint.address == "https://bedrock-runtime.ap-south-1.amazonaws.com"
    with pytest.raises(CallError, match=r"play.*check profile"):
        model("bedrock", name=CLAUDE, profile="play")


@pytest.mark.parametrize("variable", ["AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK"])
def test_what_the_machine_knows_goes_to_no_other_address(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "of-the-machine")
    with pytest.raises(CallError, match=r"bedrock at example.org needs api_key in the graph"):
        model("bedrock", name=CLAUDE, base_url="https://example.org")
    assert model("bedrock", name=CLAUDE, base_url="https://example.org", api_key="k")
    assert model(
        "bedrock",
        name=CLAUDE,
        base_url="https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com",
    )


def test_a_missing_extra_is_told_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "rondel.models.real_config.find_spec",
        lambda name: None if name == "boto3" else real(name),
    )
    with pytest.raises(CallError, match=r"needs boto3: pip install 'rondel\[bedrock\]'"):
        model("bedrock", name=CLAUDE)


# Failures


def throttled(**headers: str) -> Reply:
    kind = {"x-amzn-ErrorType": "ThrottlingException", **headers}
    return Reply(status=429, body={"message": "Too many requests"}, headers=kind)


def test_being_throttled_is_waited_for_by_us_and_by_nobody_else() -> None:
    with OpenAIServer(throttled(**{"Retry-After": "0.2"}), whole("bedrock")) as server:
        answer = ask(bedrock(server, stream=False))
        first, second = (seen.at for seen in server.seen)
    assert answer.usage.attempt == 2
    assert second - first >= 0.2


def test_a_failing_bedrock_is_asked_as_often_as_the_graph_says() -> None:
    broken = Reply(status=500, body={"message": "internal"})
    with OpenAIServer(broken) as server:
        with pytest.raises(ModelError, match="bedrock failed"):
            ask(bedrock(server, stream=False, attempts=2, backoff=0.01))
        assert len(server.seen) == 2


def test_an_unknown_model_is_told_in_one_line() -> None:
    body = {"message": "The provided model identifier is invalid."}
    with (
        OpenAIServer(Reply(status=400, body=body)) as server,
        pytest.raises(ModelError, match="does not know the model") as caught,
    ):
        ask(bedrock(server, stream=False))
    assert "\n" not in str(caught.value)
