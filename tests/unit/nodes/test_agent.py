"""An agent tells its model what it sees, and emits what the model says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rondel.engine.message import Message
from rondel.engine.protocols import Emit
from rondel.errors import CallError, ModelError
from rondel.models.model import ModelAnswer, ProviderConfig, Request
from tests.unit.nodes.context import FakeContext, of_text
from tests.unit.nodes.running import built, emitted, problems, registry_with, step


def agent_config(**config: Any) -> Any:
    return registry_with().config_model("node", "agent").model_validate(config)


class Echo:
    """A model that keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def answer(self, request: Request) -> ModelAnswer:
        self.requests.append(request)
        return ModelAnswer("echo")


def asked(ctx: FakeContext, **config: Any) -> Request:
    """The request that an agent makes of its context."""
    echo = Echo()
    registry = registry_with()
    registry.provider("echo", ProviderConfig, lambda _config, _registry: echo)
    model = registry.config_model("node", "agent")
    step(registry.build("node", "agent", model(provider="echo", **config)), ctx)
    (request,) = echo.requests
    return request


def test_it_emits_the_answer_with_its_data_as_the_assistant() -> None:
    agent = built("agent", provider="scripted", answers=[{"content": "ok", "data": {"score": 7}}])
    assert emitted(agent, of_text("draft")) == Message("ok", {"score": 7}, "assistant")


def test_answers_follow_the_nodes_state_and_not_the_processors_memory() -> None:
    config = {"provider": "scripted", "answers": ["one", "two", "three"]}
    state: Any = None
    said = []
    for _ in range(4):
        outcome = step(built("agent", **config), FakeContext(state=state))
        assert isinstance(outcome, Emit)
        state = outcome.state
        said.append(outcome.messages[0].text)
    assert said == ["one", "two", "three", "three"]


def test_a_retry_of_a_failed_step_takes_the_next_answer() -> None:
    agent = built("agent", provider="scripted", answers=[{"error": "busy"}, "two", "three"])
    with pytest.raises(ModelError, match="busy"):
        step(agent, FakeContext())
    assert step(agent, FakeContext(attempt=2)) == Emit((Message("two"),), 2)
    assert step(agent, FakeContext(state=2)) == Emit((Message("three"),), 3)


def test_a_retry_after_a_timeout_takes_the_next_answer() -> None:
    agent = built("agent", provider="scripted", answers=[{"content": "slow", "delay": 60}, "two"])

    async def in_time() -> None:
        async with asyncio.timeout(0.01):
            await agent.process(FakeContext())

    with pytest.raises(TimeoutError):
        asyncio.run(in_time())
    assert emitted(agent, FakeContext(attempt=2)).text == "two"


def test_a_failure_in_one_session_does_not_move_another() -> None:
    agent = built("agent", provider="scripted", answers=[{"error": "busy"}, "two"])
    for key in ("a", "b"):
        with pytest.raises(ModelError):
            step(agent, FakeContext(idempotency_key=key))


def test_it_charges_the_usage_and_streams_the_chunks() -> None:
    usage = {"input_tokens": 10, "output_tokens": 2}
    answer = {"chunks": ["Once ", "upon"], "usage": usage}
    ctx = of_text("draft", node_id="Writer")
    step(built("agent", provider="scripted", answers=[answer]), ctx)
    (charged,) = ctx.charged
    assert (charged.input_tokens, charged.output_tokens) == (10, 2)
    assert charged.duration >= 0
    assert ctx.emitted == [
        ("token_stream", {"chunk": "Once ", "agent": "Writer"}),
        ("token_stream", {"chunk": "upon", "agent": "Writer"}),
    ]


def test_the_model_is_told_the_role_and_all_messages_but_empty_ones() -> None:
    old, new = Message("old", role="assistant"), Message("new", {"score": 1}, "user", "Critic")
    ctx = FakeContext([Message(), new], retained=[old], state=3, round=2, node_id="Writer")
    request = asked(ctx, role="You write.")
    assert request.system == "You write."
    assert request.messages == [old, new]
    assert (request.index, request.round, request.node_id) == (3, 2, "Writer")
    assert request.data == {"score": 1}


def test_a_prompt_is_one_message_of_the_user() -> None:
    ctx = FakeContext([Message("a", source="A"), Message("b", role="user", source="B")])
    assert asked(ctx, input_mode="prompt").messages == [
        Message("=== A (assistant) ===\na\n\n=== B (user) ===\nb", role="user")
    ]
    assert asked(of_text("a"), input_mode="prompt").messages == [Message("a", role="user")]


def test_without_a_provider_it_is_simulated() -> None:
    ctx = of_text("Why loops?")
    assert emitted(built("agent", role="You write."), ctx).text.startswith("Draft 1 on “Why loops”")
    assert ctx.charged[0].model == "simulated"


SEED = {"provider": "openai", "name": "gpt-4o", "role": "根据用户反馈改进文章"}


def test_a_provider_that_is_not_there_yet_loads_and_says_what_to_do_when_built() -> None:
    with pytest.raises(CallError, match=r"'cohere' is not part of this version.*simulated"):
        built("agent", provider="cohere", base_url="https://example.org", api_key="secret")


def test_a_key_does_not_show() -> None:
    assert "secret" not in repr(agent_config(**SEED, api_key="secret"))


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"provider": "opnai"}, "provider: there is no provider 'opnai'; did you mean 'openai'?"),
        ({"provider": "scriptd"}, "provider: there is no provider 'scriptd'"),
        ({"provider": "scripted"}, ": a scripted model needs either answers or rules"),
        ({"provider": "scripted", "answers": [{"txt": 1}]}, "answers.0.txt: "),
        ({"provider": "openai", "name": "gpt-4o", "answers": ["a"]}, "answers: "),
        ({"score": {"strat": 1}}, "score.strat: "),
        ({"input_mode": "chat"}, "input_mode: "),
        (
            {"provider": "scripted", "rules": [{"when": "round =", "answer": "a"}]},
            "rules.0.when: the expression 'round =' cannot be read",
        ),
    ],
)
def test_a_wrong_config_is_refused_with_its_place(config: dict[str, Any], says: str) -> None:
    assert problems("agent", config)[0].startswith(says)


def test_a_provider_may_be_registered_later() -> None:
    class LateConfig(ProviderConfig):
        pitch: int = 0

    registry = registry_with()
    registry.provider("late", LateConfig, lambda _config, _registry: Echo())
    model = registry.config_model("node", "agent")
    assert model(provider="late", pitch=3).options == LateConfig(pitch=3)
    with pytest.raises(ValueError, match="pitch"):
        model(provider="late", pitch="high")


def test_the_schema_knows_the_options_of_every_provider() -> None:
    registry = registry_with()
    schema = registry.config_model("node", "agent").model_json_schema()
    assert {"provider", "role", "name", "seed", "score", "answers", "rules"} <= {
        *schema["properties"]
    }


REMEMBERED = [{"content": "Paris was dry.", "node_id": "A"}, {"content": [{"text": "Rome"}]}, "x"]


def test_the_model_is_told_what_is_remembered_before_all_else() -> None:
    message = Message("new", {"history_context": REMEMBERED}, "user", "Memory")
    told = Message("What is remembered:\n- Paris was dry.\n- Rome\n- x", role="user")
    assert asked(FakeContext([message])).messages == [told, message]
    prompt = asked(FakeContext([message]), input_mode="prompt").messages
    assert prompt == [told, Message("new", role="user")]


@pytest.mark.parametrize("history", [[], None, "text", {}])
def test_nothing_is_told_of_an_empty_memory(history: Any) -> None:
    message = Message("new", {"history_context": history}, "user", "Memory")
    assert asked(FakeContext([message])).messages == [message]
