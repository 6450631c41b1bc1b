"""Real models over real HTTP: what is asked, what comes back, and what happens when it does not."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from email.utils import formatdate
from time import time
from typing import Any

import msgspec
import pytest

from rondel.engine.message import Message
from rondel.errors import ModelError
from rondel.models.connections import connections
from rondel.models.model import Model, Request, ToolResult, ToolSpec, Turn
from tests.openai_server import OpenAIServer, Reply
from tests.unit.models.asking import ask, model


def at(server: OpenAIServer, **config: Any) -> Model:
    """A model on that server, impatient enough for a test."""
    return model("openai", **{"name": "m", "base_url": server.url, "backoff": 0.01, **config})


def failing(server: OpenAIServer, **config: Any) -> ModelError:
    """The error of one call."""
    with pytest.raises(ModelError) as caught:
        ask(at(server, **config))
    return caught.value


# What is asked, and what comes back


def test_an_answer_streams_in_and_is_counted() -> None:
    chunks: list[str] = []
    with OpenAIServer(Reply("one two three", input_tokens=20, output_tokens=5)) as server:
        answer = ask(at(server), emit=chunks.append)
    assert answer.content == "one two three" == "".join(chunks)
    assert len(chunks) == 3
    assert (answer.usage.model, answer.usage.input_tokens, answer.usage.output_tokens) == (
        "m",
        20,
        5,
    )
    assert answer.calls == ()


def test_a_server_that_does_not_stream_answers_in_one_piece() -> None:
    chunks: list[str] = []
    with OpenAIServer("one two three") as server:
        answer = ask(at(server, stream=False), emit=chunks.append)
        assert not server.bodies[0].get("stream")
    assert [answer.content] == chunks == ["one two three"]


def test_cached_tokens_are_told() -> None:
    with OpenAIServer(Reply("a", input_tokens=100, cached_tokens=80)) as server:
        answer = ask(at(server))
    assert (answer.usage.input_tokens, answer.usage.cached_tokens) == (100, 80)


def test_role_messages_and_params_reach_the_server() -> None:
    params = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 50,
        "seed": 7,
        "stop": "END",
        "min_p": 0.1,
        "extra_headers": {"X-Team": "blue"},
    }
    with OpenAIServer() as server:
        ask(at(server, params=params), system="You write.")
        body = server.bodies[0]
        assert server.seen[0].path == "/v1/chat/completions"
        assert server.header("X-Team") == ["blue"]
    assert body["messages"] == [
        {"role": "system", "content": "You write."},
        {"role": "user", "content": "Why loops?"},
    ]
    asked = {name: body[name] for name in ("temperature", "top_p", "max_tokens", "seed", "min_p")}
    assert asked == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 50,
        "seed": 7,
        "min_p": 0.1,
    }
    assert body["stop"] == ["END"]


def test_what_others_said_is_the_users_and_what_the_node_said_is_the_assistants() -> None:
    messages = [
        Message("topic", role="user", source="TASK"),
        Message("draft", source="Writer"),
        Message("make it shorter", source="Critic"),
    ]
    with OpenAIServer() as server:
        ask(at(server), messages=messages)
        said = [(message["role"], message["content"]) for message in server.bodies[0]["messages"]]
    assert said == [("user", "topic"), ("assistant", "draft"), ("user", "make it shorter")]


def test_the_last_word_is_never_the_models_own() -> None:
    with OpenAIServer() as server:
        ask(at(server), messages=[Message("t", source="TASK"), Message("draft", source="Writer")])
        assert server.bodies[0]["messages"][-1]["role"] == "user"


def test_a_model_that_is_given_nothing_is_still_asked() -> None:
    with OpenAIServer() as server:
        ask(at(server), messages=[])
        assert server.bodies[0]["messages"][-1]["role"] == "user"


def test_the_same_call_has_the_same_idempotency_key_and_another_has_another() -> None:
    with OpenAIServer(Reply(status=500), "a") as server:
        asked = at(server)
        ask(asked, idempotency_key="s1:审稿[1]")
        ask(asked, idempotency_key="s1:审稿[2]")
        first, again, other = server.header("Idempotency-Key")
    assert first == again != other
    assert first
    assert first.isascii()


def test_a_key_is_sent_and_an_address_without_one_gets_none() -> None:
    with OpenAIServer() as server:
        ask(at(server, api_key="sk-mine"))
        ask(at(server))
        mine, none = server.header("Authorization")
    assert mine == "Bearer sk-mine"
    assert "sk-" not in (none or "")


# Tools and structured output

WEATHER = ToolSpec(
    "weather",
    "The weather of a town.",
    {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
)


@pytest.mark.parametrize("stream", [True, False])
def test_a_tool_is_offered_called_and_its_result_goes_back(stream: bool) -> None:
    with OpenAIServer(Reply(calls=[("weather", {"town": "Bern"})]), "Sunny.") as server:
        asked = at(server, stream=stream)
        first = ask(asked, tools=[WEATHER])
        [call] = first.calls
        assert (call.name, call.arguments, call.malformed) == ("weather", {"town": "Bern"}, "")
        turn = first.turn([ToolResult(call.id, "sunny, 20°")])
        assert ask(asked, tools=[WEATHER], turns=[turn]).content == "Sunny."
        offered, told = server.bodies[0]["tools"], server.bodies[1]["messages"]
    assert offered[0]["function"]["name"] == "weather"
    assert offered[0]["function"]["parameters"]["required"] == ["town"]
    assert [message["role"] for message in told] == ["user", "assistant", "tool"]
    assert told[1]["tool_calls"][0]["id"] == told[2]["tool_call_id"] == call.id
    assert told[2]["content"] == "sunny, 20°"


def test_several_calls_come_back_in_order_also_without_the_models_own_record() -> None:
    calls = [("weather", {"town": "Bern"}), ("weather", {"town": "Basel"})]
    with OpenAIServer(Reply("Let me see.", calls=calls), "Done.") as server:
        asked = at(server)
        first = ask(asked, tools=[WEATHER])
        assert first.content == "Let me see."
        assert [call.arguments["town"] for call in first.calls] == ["Bern", "Basel"]
        results = [ToolResult(call.id, call.arguments["town"]) for call in first.calls]
        ask(asked, tools=[WEATHER], turns=[Turn(first.content, first.calls, results)])
        told = server.bodies[1]["messages"]
    assert [message["role"] for message in told] == ["user", "assistant", "tool", "tool"]
    assert [message["content"] for message in told[2:]] == ["Bern", "Basel"]


@pytest.mark.parametrize("stream", [True, False])
def test_halves_of_characters_in_a_call_are_replaced(stream: bool) -> None:
    calls = [("weather", {"town\ud800": ["Bern \udfff"]}), ("weather", '{"\ud800')]
    with OpenAIServer(Reply(calls=calls), "Sunny.") as server:
        first = ask(at(server, stream=stream), tools=[WEATHER])
    assert first.calls[0].arguments == {"town\ufffd": ["Bern \ufffd"]}
    assert first.calls[1].malformed == '{"\ufffd'
    msgspec.json.encode(first.record)


@pytest.mark.parametrize("given", ['{"town": NaN}', '{"town": 1e999}', "[1]"])
def test_arguments_that_no_journal_holds_are_no_arguments(given: str) -> None:
    with OpenAIServer(Reply(calls=[("weather", given)])) as server:
        [call] = ask(at(server), tools=[WEATHER]).calls
    assert (call.arguments, call.malformed) == ({}, given)


def test_arguments_that_are_no_json_are_told_as_they_are() -> None:
    with OpenAIServer(Reply(calls=[("weather", '{"town": "Ber')]), "Sorry.") as server:
        asked = at(server)
        first = ask(asked, tools=[WEATHER])
        assert first.calls[0].malformed == '{"town": "Ber'
        result = ToolResult(first.calls[0].id, "the arguments are no JSON", failed=True)
        assert ask(asked, tools=[WEATHER], turns=[first.turn([result])]).content == "Sorry."
        assert "the arguments are no JSON" in server.bodies[1]["messages"][-1]["content"]


def test_a_reply_to_a_turn_follows_it() -> None:
    with OpenAIServer("oops", '{"a": 1}') as server:
        asked = at(server)
        turn = ask(asked).turn(reply="That is no JSON.")
        ask(asked, turns=[turn])
        told = [(message["role"], message["content"]) for message in server.bodies[1]["messages"]]
    assert told[1:] == [("assistant", "oops"), ("user", "That is no JSON.")]


def test_a_schema_is_asked_for_natively() -> None:
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer"}},
        "required": ["score"],
        "additionalProperties": False,
    }
    with OpenAIServer('{"score": 7}') as server:
        assert ask(at(server), schema=schema).content == '{"score": 7}'
        form = server.bodies[0]["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"]["properties"] == schema["properties"]


def test_a_provider_without_schemas_is_told_in_words() -> None:
    schema = {"type": "object", "properties": {"score": {"type": "integer"}}}
    with OpenAIServer('{"score": 7}') as server:
        asked = model("deepseek", name="deepseek-chat", base_url=server.url)
        ask(asked, schema=schema, system="You judge.")
        messages = server.bodies[0]["messages"]
        system = "".join(each["content"] for each in messages if each["role"] == "system")
        assert server.bodies[0].get("response_format", {}).get("type") != "json_schema"
    assert system.startswith("You judge.")
    assert "score" in system


# Failures that pass


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    with OpenAIServer(Reply(status=status, body={"error": {"message": "busy"}}), "ok") as server:
        assert ask(at(server)).content == "ok"
        assert len(server.seen) == 2


def test_after_the_last_attempt_the_error_says_what_and_how_often() -> None:
    body = {"error": {"message": "the engine is on fire"}}
    with OpenAIServer(Reply(status=500, body=body)) as server:
        error = failing(server, attempts=3)
        assert len(server.seen) == 3
    assert error.retryable
    assert "status 500: the engine is on fire" in str(error)
    assert "3 times" in str(error)
    assert "\n" not in str(error)


def test_a_dropped_stream_starts_over_and_only_the_whole_answer_counts() -> None:
    chunks: list[str] = []
    with OpenAIServer(Reply("half an answer", drop_after=2), Reply("all of it")) as server:
        answer = ask(at(server), emit=chunks.append)
    assert answer.content == "all of it"
    start = chunks.index("")
    assert "".join(chunks[:start])
    assert "".join(chunks[start:]) == "all of it"


def test_a_stream_that_ends_early_but_cleanly_is_no_answer_either() -> None:
    with OpenAIServer(Reply("half an answer", drop_after=2, clean=True), "all of it") as server:
        assert ask(at(server)).content == "all of it"


def test_a_connection_dropped_before_the_answer_is_tried_again() -> None:
    with OpenAIServer(Reply(drop_after=0), "ok") as server:
        assert ask(at(server, stream=False)).content == "ok"


@pytest.mark.parametrize("stream", [True, False])
def test_malformed_json_is_tried_again_and_then_told(stream: bool) -> None:
    kind = "text/event-stream" if stream else "application/json"
    broken = Reply(
        raw=b'data: {"id": \n\n' if stream else b'{"id": ', headers={"Content-Type": kind}
    )
    with OpenAIServer(broken, "ok") as server:
        assert ask(at(server, stream=stream)).content == "ok"
    with OpenAIServer(broken) as server:
        assert "cannot be read" in str(failing(server, stream=stream, attempts=2))
        assert len(server.seen) == 2


def test_json_of_another_kind_is_told() -> None:
    with OpenAIServer(Reply(body={"hello": "world"})) as server:
        assert "cannot be read" in str(failing(server, stream=False, attempts=1))


def test_an_error_inside_a_stream_is_an_error() -> None:
    raw = b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n'
    broken = Reply(raw=raw, headers={"Content-Type": "text/event-stream"})
    with OpenAIServer(broken, "ok") as server:
        assert ask(at(server)).content == "ok"


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_never_answers_is_given_up_on(stream: bool) -> None:
    with OpenAIServer(Reply(silent=True)) as server:
        error = failing(server, stream=stream, attempts=2, params={"timeout": "100ms"})
        server.wait_for(2)
        assert len(server.seen) == 2
    assert "was silent for 0.1 s" in str(error)
    assert "params.timeout" in str(error)


def test_a_stream_that_stalls_is_tried_again() -> None:
    with OpenAIServer(Reply("too slow", between=30), "ok") as server:
        assert ask(at(server, params={"timeout": 0.2})).content == "ok"


def test_a_slow_stream_that_lives_is_waited_for() -> None:
    with OpenAIServer(Reply("slow but steady", chunks=10, between=0.05)) as server:
        assert ask(at(server, params={"timeout": 5})).content == "slow but steady"
        assert len(server.seen) == 1


def test_an_address_where_nobody_listens_is_named() -> None:
    with OpenAIServer() as server:
        pass
    error = failing(server, attempts=2)
    assert error.retryable
    assert server.url in str(error)
    assert "base_url" in str(error)


@pytest.mark.parametrize("header", ["seconds", "date"])
def test_retry_after_is_honoured(header: str) -> None:
    def busy(_seen: object) -> Reply:
        value = "1" if header == "seconds" else formatdate(time() + 2, usegmt=True)
        return Reply(status=429, headers={"Retry-After": value}, body={"error": {"message": "x"}})

    with OpenAIServer(busy, "ok") as server:
        assert ask(at(server)).content == "ok"
        first, second = server.seen
        assert second.at - first.at >= 0.9


def test_a_provider_that_wants_an_hour_is_not_waited_for() -> None:
    with OpenAIServer(Reply(status=429, headers={"Retry-After": "3600"})) as server:
        error = failing(server)
        assert len(server.seen) == 1
    assert error.retryable
    assert "3600 s" in str(error)


# Failures that last


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (400, "refused the call to 'm'"),
        (401, "refused the key"),
        (403, "does not let this key ask 'm'"),
        (404, "has no models at http"),
        (422, "refused the call to 'm'"),
    ],
)
def test_what_lasts_is_not_tried_again(status: int, says: str) -> None:
    body = {"error": {"message": "no " + "x" * 1000}}
    with OpenAIServer(Reply(status=status, body=body)) as server:
        error = failing(server)
        assert len(server.seen) == 1
    assert not error.retryable
    assert says in str(error)
    assert f"status {status}: no xxx" in str(error)
    assert len(str(error)) < 400


def test_an_account_without_quota_is_not_tried_again() -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    with OpenAIServer(Reply(status=429, body=body)) as server:
        assert "quota" in str(failing(server))
        assert len(server.seen) == 1


# Limits and cancellation


def test_a_hundred_calls_under_a_limit_of_ten_never_exceed_it() -> None:
    async def fan_out(asked: Model) -> list[str]:
        requests = [Request(f"n{place}", [Message("go")]) for place in range(100)]
        answers = await asyncio.gather(*(asked.answer(request) for request in requests))
        return [answer.content for answer in answers]

    with OpenAIServer(Reply("done", before=0.01)) as server:
        asked = at(server, max_concurrency=10)
        assert asyncio.run(fan_out(asked)) == ["done"] * 100
        assert len(server.seen) == 100
        assert server.most_inside <= 10


def test_the_limit_is_the_providers_not_the_nodes() -> None:
    async def both(*asked: Model) -> None:
        await asyncio.gather(*(one.answer(Request("n", [Message("go")])) for one in asked * 10))

    with OpenAIServer(Reply("done", before=0.02)) as server:
        asyncio.run(both(at(server, max_concurrency=3), at(server, name="n", max_concurrency=3)))
        assert server.most_inside <= 3


def test_a_cancelled_call_hangs_up() -> None:
    async def cancelled(asked: Model) -> None:
        heard = asyncio.Event()
        request = Request("n", [Message("go")], emit=lambda _: heard.set())
        task = asyncio.create_task(asked.answer(request))  # type: ignore[arg-type]
        await asyncio.wait_for(heard.wait(), 60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await asyncio.to_thread(server.seen[0].hung_up.wait, 60)

    with OpenAIServer(Reply("a long story", between=30)) as server:
        asyncio.run(cancelled(at(server)))


class Meeting:
    """A server that answers when so many calls have come; it counts its connections."""

    ANSWER = json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "done"},
                    "finish_reason": "stop",
                }
            ],
        }
    ).encode()

    def __init__(self, most: int) -> None:
        self.connections = 0
        self._all = asyncio.Barrier(most)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    line for line in head.lower().splitlines() if b"content-length" in line
                )
                await reader.readexactly(int(length.partition(b":")[2]))
                await self._all.wait()
                start = f"Content-Type: application/json\r\nContent-Length: {len(self.ANSWER)}"
                writer.write(f"HTTP/1.1 200 OK\r\n{start}\r\n\r\n".encode() + self.ANSWER)
        writer.close()


def test_as_many_connections_are_kept_as_calls_run_at_once() -> None:
    most = 32

    async def twice() -> int:
        meeting = Meeting(most)
        async with await asyncio.start_server(meeting.serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            address = f"http://127.0.0.1:{port}/v1"
            options = {"stream": False, "max_concurrency": most, "attempts": 1}
            asked = model("openai", name="m", base_url=address, **options)
            for _ in range(2):
                requests = [Request(f"n{place}", [Message("go")]) for place in range(most)]
                await asyncio.gather(*map(asked.answer, requests))
            await (await connections()).close()
            return meeting.connections

    assert asyncio.run(asyncio.wait_for(twice(), 60)) == most


def test_connections_are_used_again() -> None:
    async def twice(asked: Model) -> None:
        for _ in range(2):
            await asked.answer(Request("n", [Message("go")]))

    with OpenAIServer() as server:
        asyncio.run(twice(at(server)))
        assert server.connections == 1
