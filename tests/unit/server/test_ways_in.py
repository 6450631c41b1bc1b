"""Others' clients: the real `openai` one and the real `mcp` one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import openai
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.unit.server.running import Running

LOOP_THAT_ASKS = """\
graph:
  id: loop_that_asks
  description: Writes until a person is content.
  start: Writer
  end: Done
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [draft one, draft two]}}
    - {id: Editor, type: human, config: {description: "Publish it?"}}
    - {id: Done, type: passthrough}
  loops: {Writer: {max_rounds: 5}}
  edges:
    - {from: Writer, to: Editor}
    - {from: Editor, to: Writer, condition: {type: keyword, config: {none: [ACCEPT]}}}
    - {from: Editor, to: Done, carry_data: false,
       condition: {type: keyword, config: {any: [ACCEPT]}}}
    - {from: Writer, to: Done, trigger: false}
"""


@pytest.fixture
def asking(server: Running, folder: Path) -> Running:
    (folder / "loop_that_asks.yaml").write_text(LOOP_THAT_ASKS)
    return server


def test_the_openai_client_runs_a_loop_with_a_question_to_its_end(asking: Running) -> None:
    with openai.OpenAI(base_url=f"{asking.url}/v1", api_key="none") as client:
        assert "loop_that_asks" in [model.id for model in client.models.list()]
        messages: list[Any] = [{"role": "user", "content": "an article"}]
        for answer in ("shorter please", "ACCEPT"):
            turn = client.chat.completions.create(model="loop_that_asks", messages=messages)
            content = turn.choices[0].message.content or ""
            assert "Publish it?" in content
            messages += [
                {"role": "assistant", "content": content},
                {"role": "user", "content": answer},
            ]
        last = client.chat.completions.create(model="loop_that_asks", messages=messages)
        assert last.choices[0].message.content == "draft two"
        extra = (last.model_extra or {})["rondel"]
        assert extra["status"] == "completed"
        assert extra["loops"][0]["rounds"] == 2
        assert len(asking.get("/sessions")["sessions"]) == 1
        with pytest.raises(openai.NotFoundError, match="there is no graph"):
            client.chat.completions.create(model="nothing", messages=messages[:1])


def test_a_turn_that_is_sent_again_answers_once_and_gets_the_same_reply(asking: Running) -> None:
    with openai.OpenAI(base_url=f"{asking.url}/v1", api_key="none", max_retries=0) as client:
        first: list[Any] = [{"role": "user", "content": "an article"}]

        def ask(messages: list[Any]) -> str:
            turn = client.chat.completions.create(model="loop_that_asks", messages=messages)
            return turn.choices[0].message.content or ""

        question = {"role": "assistant", "content": ask(first)}
        second = [*first, question, {"role": "user", "content": "shorter please"}]
        reply = ask(second)
        assert ask(second) == reply
        third = [
            *second,
            {"role": "assistant", "content": reply},
            {"role": "user", "content": "ACCEPT"},
        ]
        assert [ask(third), ask(third), ask(second)] == ["draft two", "draft two", "draft two"]
        with pytest.raises(openai.ConflictError, match="answered otherwise"):
            ask([*third[:-1], {"role": "user", "content": "no"}])
        [session] = asking.get("/sessions")["sessions"]
        given = [e for e in asking.events(session["id"]) if e["event"] == "human_input_received"]
        assert [event["data"]["answer"] for event in given] == ["shorter please", "ACCEPT"]


def test_a_chat_that_is_refused_is_told_when_to_come_back(asking: Running) -> None:
    with openai.OpenAI(base_url=f"{asking.url}/v1", api_key="none", max_retries=0) as client:
        hub = asking.server._site.hub
        hub._most = 0
        with pytest.raises(openai.RateLimitError) as refused:
            client.chat.completions.create(
                model="review", messages=[{"role": "user", "content": "x"}]
            )
        assert refused.value.response.headers["retry-after"] == "5"


def test_the_openai_client_streams_rounds_and_ends_with_how_the_loop_ended(
    asking: Running,
) -> None:
    with openai.OpenAI(base_url=f"{asking.url}/v1", api_key="none") as client:
        stream = client.chat.completions.create(
            model="review",
            messages=[{"role": "user", "content": "an article"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        content, thoughts, ends, usage = "", "", [], None
        for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                content += choice.delta.content or ""
                thoughts += (choice.delta.model_extra or {}).get("reasoning_content", "")
                if choice.finish_reason:
                    ends.append((choice.finish_reason, (chunk.model_extra or {})["rondel"]))
        assert content == "good"
        assert [f"round {n} is over" in thoughts for n in (1, 2, 3)] == [True] * 3
        [(reason, rondel)] = ends
        assert reason == "stop"
        assert rondel["loops"][0]["loop"] == "Writer"
        assert asking.get(f"/sessions/{rondel['session_id']}")["status"] == "completed"
        assert usage is not None


async def talk(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools["loop_that_asks"].description == "Writes until a person is content."
    assert tools["loop_that_asks"].input_schema["required"] == ["task"]
    heard: list[str] = []

    async def progress(_number: float, _total: float | None, message: str | None) -> None:
        heard.append(message or "")

    asked = await client.call_tool(
        "loop_that_asks", {"task": "an article"}, progress_callback=progress
    )
    id = asked.structured_content["session_id"]
    assert asked.structured_content["status"] == "waiting"
    assert heard[0] == f"session {id}"
    again = await client.call_tool(
        "rondel_answer", {"session_id": id, "text": "shorter"}, progress_callback=progress
    )
    assert "draft two" in again.content[0].text
    assert any("round 1 is over" in line for line in heard)
    done = await client.call_tool("rondel_answer", {"session_id": id, "text": "ACCEPT"})
    assert done.structured_content["status"] == "completed"
    assert done.content[0].text == "draft two"
    rounds = await client.call_tool("rondel_rounds", {"session_id": id})
    assert len(rounds.structured_content["rounds"]) == 2
    started = await client.call_tool("rondel_start", {"graph_id": "streaming", "task": "x"})
    slow = started.structured_content["session_id"]
    early = await client.call_tool("rondel_watch", {"session_id": slow, "wait": 0})
    assert early.structured_content["status"] == "running"
    wrong = await client.call_tool("rondel_watch", {"session_id": "nope"})
    assert wrong.is_error
    assert "there is no session 'nope'" in wrong.content[0].text


async def test_an_mcp_client_runs_a_loop_with_a_question_to_its_end_over_http(
    asking: Running,
) -> None:
    async with Client(f"{asking.url}/mcp") as client:
        await talk(client)


async def test_an_mcp_client_does_the_same_over_stdio(folder: Path, tmp_path: Path) -> None:
    (folder / "loop_that_asks.yaml").write_text(LOOP_THAT_ASKS)

    arguments = ["-m", "rondel", "mcp", "--graphs", str(folder), "--db", str(tmp_path / "s.db")]
    started = StdioServerParameters(command=sys.executable, args=arguments)
    async with Client(stdio_client(started)) as client:
        await talk(client)


def test_metrics_and_insights_tell_what_happened(server: Running) -> None:
    for _ in range(3):
        server.until(server.start("review"), "completed")
    id = server.start("asking")
    server.until(id, "waiting")
    server.post(f"/sessions/{id}/answer", {"text": "yes"})
    server.until(id, "completed")
    [review] = server.get("/insights", params={"graph_id": "review"})["graphs"]
    assert review["sessions"] == 3
    assert review["statuses"] == {"completed": 3}
    [loop] = review["loops"]
    assert loop["rounds"]["histogram"] == {"3": 3}
    assert [score["mean"] for score in loop["scores"]] == [50, 70, 95]
    [asking] = server.get("/insights", params={"graph_id": "asking"})["graphs"]
    assert asking["waits"][0]["node_id"] == "Person"
    text = server.client.get("/metrics").text
    rows = server.get("/sessions")["sessions"]
    assert 'rondel_sessions{status="completed"} 4.0' in text
    assert 'rondel_sessions{status="waiting"} 0.0' in text
    steps = sum(len(server.get(f"/sessions/{row['id']}/steps")["steps"]) for row in rows)
    assert f"rondel_step_seconds_count {steps}.0" in text
    assert 'rondel_session_changes_total{status="completed"} 4.0' in text
    assert "rondel_stream_clients 0.0" in text
    assert 'rondel_loops_total{exit_reason="' in text
