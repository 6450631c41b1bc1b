"""Graphs on real models, over real HTTP: the same journal as without, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rondel import Engine, Graph, Result
from tests.e2e.command import Ran
from tests.openai_server import OpenAIServer, Reply

Call = Callable[..., Ran]
Write = Callable[..., Path]

KEY = "sk-planted-0123456789"

REVIEW = """
vars: {{ADDRESS: "{address}"}}
graph:
  id: review
  start: Writer
  end: Final
  nodes:
    - {{id: Writer, type: agent, config: {{{writer}, role: You write.}}}}
    - {{id: Critic, type: agent, config: {{{critic}, role: You judge.}}}}
    - {{id: Final, type: passthrough}}
  edges:
    - {{from: Writer, to: Critic}}
    - {{from: Writer, to: Final, trigger: false}}
    - {{from: Critic, to: Writer, condition: {{type: keyword, config: {{none: [APPROVED]}}}}}}
    - {{from: Critic, to: Final, condition: {{type: keyword, config: {{any: [APPROVED]}}}}}}
"""

REAL = (
    'provider: openai, name: m, base_url: "${ADDRESS}", api_key: "${RONDEL_TEST_KEY}", backoff: 0'
)

DRAFTS = ["first draft", "second draft"]
VERDICTS = ["shorter, please", "APPROVED"]


def on_server(address: str, more: str = "") -> str:
    """The graph on the provider `openai` at that address."""
    config = f"{REAL}{more}"
    return REVIEW.format(address=address, writer=config, critic=config)


def on_script() -> str:
    """The same graph on `scripted`."""

    def script(texts: list[str]) -> str:
        usage = {"input_tokens": 11, "output_tokens": 7}
        answers = json.dumps([{"content": text, "usage": usage} for text in texts])
        return f"provider: scripted, name: m, answers: {answers}"

    return REVIEW.format(address="", writer=script(DRAFTS), critic=script(VERDICTS))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDEL_TEST_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def timeless(value: Any) -> Any:
    """A tick without its times, an estimate (no limit of a real model is known), and what only a
    provider can tell of a call."""
    if isinstance(value, dict):
        left_out = ("at", "took", "duration", "estimate", "estimated_from")
        left_out += ("finish_reason", "attempt", "request_id")
        return {name: timeless(item) for name, item in value.items() if name not in left_out}
    return [timeless(item) for item in value] if isinstance(value, list) else value


async def journal_of(text: str) -> tuple[Result, list[Any]]:
    async with Engine(db=None) as engine:
        session = await engine.start(Graph.loads(text), "loops")
        result = await session.settled()
        ticks = engine.store.read(session.id, 0)
        return result, [timeless(msgspec.to_builtins(tick)) for tick in ticks]


def test_a_graph_leaves_the_same_journal_on_a_real_model_as_on_a_script() -> None:
    with OpenAIServer(DRAFTS[0], VERDICTS[0], DRAFTS[1], VERDICTS[1]) as server:
        real, real_ticks = asyncio.run(journal_of(on_server(server.url)))
        roles = [body["messages"][0]["content"] for body in server.bodies]
    scripted, scripted_ticks = asyncio.run(journal_of(on_script()))
    assert roles == ["You write.", "You judge."] * 2
    assert (real.status, real.output) == (scripted.status, scripted.output)
    assert real_ticks == scripted_ticks
    assert real.usage.tokens == 4 * 18


def whole_answers(ticks: list[Any]) -> list[Any]:
    """The ticks without the attempts that came to nothing."""
    return [
        {**tick, "usage": [call for call in tick["usage"] if not call.get("estimated")]}
        if "usage" in tick
        else tick
        for tick in ticks
    ]


def test_faults_on_the_way_leave_the_same_journal_but_for_what_they_took() -> None:
    replies = (
        Reply(status=429, headers={"retry-after-ms": "10"}),
        DRAFTS[0],
        Reply(status=500),
        Reply("some of it", drop_after=1),
        VERDICTS[0],
        Reply(raw=b"{"),
        DRAFTS[1],
        VERDICTS[1],
    )
    with OpenAIServer(*replies) as server:
        _, ticks = asyncio.run(journal_of(on_server(server.url)))
        keys = server.header("Idempotency-Key")
    assert whole_answers(ticks) == asyncio.run(journal_of(on_script()))[1]
    assert len([call for tick in ticks for call in tick.get("usage", ())]) == 4 + 3
    assert len(set(keys)) == 4


def test_tokens_stream_as_events_and_usage_is_told() -> None:
    async def main(address: str) -> list[Any]:
        async with Engine(db=None) as engine:
            session = await engine.start(Graph.loads(on_server(address)), "loops")
            return [event async for event in session.events()]

    with OpenAIServer(DRAFTS[0], VERDICTS[1]) as server:
        events = asyncio.run(main(server.url))
    chunks = [event.data["chunk"] for event in events if event.event == "token_stream"]
    assert "".join(chunks) == DRAFTS[0] + VERDICTS[1]
    usage = [event.data for event in events if event.event == "token_usage"]
    assert [each["input_tokens"] for each in usage] == [11, 11]


def test_a_stop_during_a_stream_closes_the_connection() -> None:
    async def main(address: str) -> str:
        async with Engine(db=None) as engine:
            session = await engine.start(Graph.loads(on_server(address)), "loops")
            async for event in session.events():
                if event.event == "token_stream":
                    break
            await session.stop()
            hung_up = await asyncio.to_thread(server.seen[0].hung_up.wait, 60)
            assert hung_up
            return session.status

    with OpenAIServer(Reply("a long story", between=60)) as server:
        assert asyncio.run(main(server.url)) == "cancelled"


FAN_OUT = """
graph:
  id: fan
  start: Start
  end: End
  nodes:
    - {{id: Start, type: literal, config: {{content: go}}}}
    - {{id: End, type: passthrough}}
{nodes}
  edges:
{edges}
"""


def test_a_hundred_calls_of_two_sessions_stay_within_a_limit_of_ten() -> None:
    async def main(text: str) -> list[str]:
        async with Engine(db=None) as engine:
            graph = Graph.loads(text)
            results = await asyncio.gather(*(engine.run(graph, "x") for _ in range(2)))
            return [result.status for result in results]

    with OpenAIServer(Reply("done", before=0.01)) as server:
        config = f'provider: openai, name: m, base_url: "{server.url}", max_concurrency: 10'
        nodes = [f"    - {{id: N{n}, type: agent, config: {{{config}}}}}" for n in range(50)]
        edges = [
            f"    - {{from: Start, to: N{n}}}\n    - {{from: N{n}, to: End}}" for n in range(50)
        ]
        text = FAN_OUT.format(nodes="\n".join(nodes), edges="\n".join(edges))
        assert asyncio.run(main(text)) == ["completed", "completed"]
        assert len(server.seen) == 100
        assert server.most_inside <= 10


# Keys


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}"}}),
        Reply(status=500, raw=KEY.encode()),
        Reply(raw=f"data: {KEY}\n\n".encode(), headers={"Content-Type": "text/event-stream"}),
        Reply("half", drop_after=1),
    ],
)
def test_a_planted_key_is_nowhere_after_a_failed_run(
    reply: Reply, call: Call, graph_file: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    database = tmp_path / "sessions" / "rondel.db"
    with OpenAIServer(reply) as server:
        file = graph_file(on_server(server.url, ", attempts: 2"))
        ran = call("run", file, "-i", "x", "--json", "--db", database)
        assert ran.code == 1
        assert server.header("Authorization")[0] == f"Bearer {KEY}"
    id = ran.result["session_id"]
    said = [
        ran.out,
        ran.err,
        *(
            found.out + found.err
            for found in (
                call("show", id, "--steps", "--db", database),
                call("show", id, "--json", "--db", database),
                call("events", id, "--json", "--db", database),
                call("sessions", "--db", database),
            )
        ),
        caplog.text,
    ]
    assert not [text for text in said if KEY in text]
    files = [path for path in database.parent.iterdir() if path.is_file()]
    assert database in files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_missing_key_is_told_before_anything_runs(call: Call, graph_file: Write) -> None:
    text = """
graph:
  id: keyless
  nodes:
    - {id: First, type: agent}
    - {id: Second, type: agent, config: {provider: openai, name: gpt-4o}}
  edges: [{from: First, to: Second}]
"""
    file = graph_file(text)
    ran = call("run", file, "-i", "x", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert "OPENAI_API_KEY" in ran.err
    assert "--provider simulated" in ran.err
    assert call("check", file).code == 0
    assert call("run", file, "-i", "x", "--provider", "simulated").code == 0


def test_a_real_model_without_a_name_does_not_load(call: Call, graph_file: Write) -> None:
    text = "graph: {id: g, nodes: [{id: A, type: agent, config: {provider: anthropic}}]}"
    ran = call("check", graph_file(text))
    assert ran.code == 2
    assert "name" in ran.err + ran.out


# Imports

HEAVY = {"pydantic_ai", "openai", "anthropic", "google", "httpx", "httpx2", "httpcore2"}


@pytest.mark.parametrize(
    "script",
    [
        "import rondel",
        "from rondel.cli import main; main(['--help'])",
        "import rondel; rondel.run(rondel.Graph.load(sys.argv[1]), 'x')",
        "from rondel.cli import main; main(['check', sys.argv[1]])",
    ],
)
def test_nothing_of_the_provider_library_is_imported_before_its_first_use(
    script: str, graph_file: Write
) -> None:
    file = graph_file(
        "graph: {id: g, nodes: [{id: A, type: agent, config: {provider: simulated}}]}"
    )
    told = "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    finished = subprocess.run(
        [sys.executable, "-c", f"import sys; {script}; {told}", str(file)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert not HEAVY & set(eval(finished.stderr.splitlines()[-1]))
