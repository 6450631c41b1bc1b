"""Keys in a graph are never stored: planted everywhere, they are found nowhere, and still work."""

from __future__ import annotations

import copy
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel import Engine, Graph
from rondel.cli import main as command
from rondel.errors import CallError
from rondel.graph.secrets import seal, unseal
from tests.openai_server import OpenAIServer, Reply
from tests.unit.sessions.playing import limited

KEY = "sk-planted-0123456789"
OTHER = "pw-planted-abcdefghij"

ECHO = Reply(status=401, body={"error": {"message": f"wrong key {KEY}, wrong word {OTHER}"}})


def document(config: dict[str, Any], **variables: Any) -> dict[str, Any]:
    """A graph of one agent."""
    agent = {"id": "Writer", "type": "agent", "config": {"provider": "openai", "name": "m"}}
    agent["config"] |= config
    made: dict[str, Any] = {"graph": {"id": "g", "nodes": [agent]}}
    return {"vars": variables, **made} if variables else made


def places(address: str) -> dict[str, dict[str, Any]]:
    """Graphs with the key in every place that it can be in."""
    host = address.removeprefix("http://")
    there = {"base_url": address, "attempts": 1}
    key = {"api_key": "${MY_KEY}"}
    return {
        "literal": document({**there, "api_key": KEY}),
        "vars": document({**there, **key}, MY_KEY=KEY),
        "chain": document({**there, **key}, MY_KEY="${INNER}", INNER=KEY),
        "mixed": document({**there, "api_key": "sk-${REST}"}, REST=KEY.removeprefix("sk-")),
        "environment": document({**there, "api_key": "${PLANTED_KEY}"}),
        "user": document({**there, "base_url": f"http://me:{KEY}@{host}"}),
        "address in vars": document(
            {**there, "base_url": "${ADDRESS}"}, ADDRESS=f"http://{KEY}@{host}"
        ),
        "path in vars": document(
            {**there, "base_url": "${GATEWAY_URL}"}, GATEWAY_URL=f"http://{host}/{KEY}/v1"
        ),
        "path from the environment": document({**there, "base_url": "${PLANTED_ADDRESS}"}),
        "path made with the environment": document(
            {**there, "base_url": f"http://{host}/${{PLANTED_KEY}}/v1"}
        ),
        "header": document(
            {**there, "params": {"extra_headers": {"X-Any": KEY, "Authorization": f"Basic {KEY}"}}}
        ),
        "params": document({**there, "params": {"extra_body": {"deep": [{"access_token": KEY}]}}}),
        "fallback": document(
            {
                **there,
                "api_key": KEY,
                "fallback": [{"provider": "openai", "name": "n", **there, "api_key": KEY}],
            }
        ),
        "unused": document(there, SERVICE_TOKEN=KEY),
    }


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    monkeypatch.setenv("PLANTED_ADDRESS", f"http://127.0.0.1:1/{KEY}/v1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize("place", places("http://x"))
@pytest.mark.parametrize("reply", [Reply("Hello."), ECHO], ids=["well", "refused"])
def test_a_planted_key_works_and_is_nowhere(
    place: str,
    reply: Reply,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO)
    database, file = tmp_path / "db" / "s.db", tmp_path / "graph.json"

    def rondel(*arguments: Any) -> str:
        command([*map(str, arguments), "--db", str(database)])
        captured = capsys.readouterr()
        return captured.out + captured.err

    if place == "unused":
        reply = Reply("Hello.")
    with OpenAIServer(reply) as server:
        monkeypatch.setenv("PLANTED_ADDRESS", f"{server.url}/{KEY}/v1")
        file.write_text(json.dumps(places(server.url)[place]))
        said = rondel("run", file, "-i", "x", "--json", "--debug")
        seen = server.seen[0]
        sent = json.dumps([seen.path, seen.headers, server.bodies[0]])
    if place not in ("unused", "user", "address in vars"):
        assert KEY in sent
    told = [line for line in said.splitlines() if line.startswith("{")]
    id = json.loads(told[-1])["session_id"]
    said += rondel("run", file, "-i", "x")  # nobody listens any more
    for arguments in (
        ("show", id, "--steps"),
        ("show", id, "--json"),
        ("events", id, "--json"),
        ("rounds", id),
        ("replay", id),
        ("sessions", "--json"),
        ("export", id),
        ("export", id, "-o", tmp_path / "db" / "exported"),
        ("check", file),
    ):
        said += rondel(*arguments)
    assert KEY not in said + caplog.text
    for path in database.parent.iterdir():
        assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("place", places("http://x"))
def test_a_stored_graph_with_its_secrets_is_the_graph(place: str) -> None:
    whole = places("http://127.0.0.1:1/v1")[place]
    before = copy.deepcopy(whole)
    sealed = seal(whole)
    assert whole == before
    assert KEY not in json.dumps(sealed.document)
    assert KEY not in repr(sealed)
    again = unseal(sealed.document, sealed.secrets)
    assert seal(again) == sealed
    one, two = Graph.from_document(whole).spec.nodes[0], Graph.from_document(again).spec.nodes[0]
    assert one.config.api_key == two.config.api_key
    assert one.config.base_url == two.config.base_url
    assert one.config.params == two.config.params


def test_tools_of_a_server_keep_their_environment_and_headers_to_themselves() -> None:
    tools = [
        {"mcp": {"command": "serve", "env": {"TOKEN": KEY, "MODE": "${MODE}"}}},
        {"mcp": {"url": f"http://me:{KEY}@host/mcp?key={KEY}&page=2", "headers": {"X-A": OTHER}}},
    ]
    sealed = seal(document({"tools": tools}))
    assert KEY not in json.dumps(sealed.document)
    assert OTHER not in json.dumps(sealed.document)
    made = sealed.document["graph"]["nodes"][0]["config"]["tools"]
    assert made[0]["mcp"]["env"]["MODE"] == "${MODE}"
    assert made[1]["mcp"]["url"].endswith("&page=2")
    assert "RONDEL_SECRET_WRITER_TOOLS_MCP_ENV_TOKEN" in sealed.secrets


def test_the_same_key_of_several_nodes_has_one_name() -> None:
    nodes = [
        {"id": id, "type": "agent", "config": {"api_key": key}}
        for id, key in (("作者", KEY), ("A", KEY), ("B", OTHER), ("b", OTHER + "2"))
    ]
    sealed = seal({"graph": {"id": "g", "nodes": nodes}})
    assert sealed.secrets == {
        "RONDEL_SECRET_API_KEY": KEY,
        "RONDEL_SECRET_B_API_KEY": OTHER,
        "RONDEL_SECRET_B_API_KEY_2": OTHER + "2",
    }


def test_what_only_refers_to_the_environment_is_stored_as_it_is() -> None:
    config = {
        "api_key": "${OPENAI_API_KEY}",
        "params": {"max_tokens": 5, "extra_headers": {"Authorization": "Bearer ${TOKEN}"}},
    }
    whole = document(config, MODEL="gpt-4o", ALIAS="${OPENAI_API_KEY}", KEYWORD="consensus now")
    assert seal(whole).document is whole


def test_what_a_script_says_is_no_setting() -> None:
    said = {"data": {"api_key": "example", "url": "http://a:b@c", "token": "t" * 20}}
    whole = document({"provider": "scripted", "answers": [said], "output_schema": said})
    assert seal(whole).document is whole


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("aK${}:/@?=&. ", max_size=12),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["vars", "config", "id", "api_key", "params", "base_url", "mcp", "env", "K"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_sealing_never_fails_and_sealing_again_changes_nothing(anything: Any) -> None:
    before = copy.deepcopy(anything)
    sealed = seal(anything)
    assert anything == before
    assert seal(sealed.document).document == sealed.document


# Going on


ASKING = """
vars: {{MY_KEY: {key}}}
graph:
  id: asking
  nodes:
    - {{id: Human, type: human}}
    - id: Writer
      type: agent
      config:
        {{provider: openai, name: m, base_url: "{url}", api_key: "${{MY_KEY}}", attempts: 1}}
  edges: [{{from: Human, to: Writer}}]
"""


async def _ask(path: Path, url: str) -> str:
    async with Engine(path) as engine:
        session = await engine.start(Graph.loads(ASKING.format(key=KEY, url=url)), "x")
        assert (await session.settled()).status == "waiting"
        return session.id


@pytest.mark.parametrize("way", ["environment", "graph", "neither"])
def test_in_another_process_the_key_is_found_in_the_environment_or_the_graph(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(url: str) -> None:
        id = await _ask(tmp_path / "s.db", url)
        async with Engine(tmp_path / "s.db") as engine:
            if way == "environment":
                monkeypatch.setenv("MY_KEY", KEY)
            if way == "graph":
                await engine.resume(id, Graph.loads(ASKING.format(key=KEY, url=url)))
            session = engine.get(id)
            assert session.questions()
            if way == "neither":
                with pytest.raises(CallError) as caught:
                    await session.answer("go")
                assert "needs MY_KEY, which is never stored" in str(caught.value)
                assert not await engine.recover()
                return
            await session.answer("go")
            assert (await session.settled()).status == "completed"
            assert server.header("Authorization") == [f"Bearer {KEY}"]

    with OpenAIServer("Hello.") as server:
        limited(main(server.url))


async def test_a_session_can_be_read_without_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Addresses and keys are of the environment; the past of the session is not."""
    config = {"base_url": "${SOMEWHERE}", "api_key": "${SOME_KEY}", "attempts": 1}

    monkeypatch.setenv("SOMEWHERE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("SOME_KEY", KEY)
    async with Engine(tmp_path / "s.db") as engine:
        session = await engine.start(Graph.from_document(document(config)), "x")
        assert (await session.settled()).status == "failed"
        id = session.id
    monkeypatch.delenv("SOMEWHERE")
    monkeypatch.delenv("SOME_KEY")
    async with Engine(tmp_path / "s.db") as engine:
        assert engine.get(id).steps()[0].status == "failed"


def test_in_the_same_process_nobody_has_to_say_it_again(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        async with Engine(tmp_path / "s.db") as engine:
            graph = Graph.loads(ASKING.format(key=KEY, url=url))
            session = await engine.start(graph, "x")
            await session.settled()
            id = session.id
            del session, graph
            engine._handles.clear()
            session = engine.get(id)
            await session.answer("go")
            assert (await session.settled()).status == "completed"
            fork = await session.fork(at="Writer")
            assert (await fork.settled()).status == "completed"
            assert server.header("Authorization") == [f"Bearer {KEY}"] * 2

    with OpenAIServer("Hello.") as server:
        limited(main(server.url))


def test_the_command_line_takes_the_file_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDEL_DB", str(tmp_path / "s.db"))
    with OpenAIServer("Hello.") as server:
        file = tmp_path / "graph.yaml"
        file.write_text(ASKING.format(key=KEY, url=server.url))
        assert command(["run", str(file), "-i", "x", "--no-input", "--json"]) == 4
        id = json.loads(capsys.readouterr().out.splitlines()[-1])["session_id"]
        assert command(["answer", id, "go"]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert "MY_KEY" in told
        assert KEY not in told
        assert command(["answer", id, "go", "--graph", str(file)]) == 0
        assert server.header("Authorization") == [f"Bearer {KEY}"]


def test_a_key_that_a_fork_sets_is_not_stored_either(tmp_path: Path) -> None:
    async def main(url: str) -> None:
        async with Engine(tmp_path / "s.db") as engine:
            config = {"provider": "openai", "name": "m", "base_url": url, "attempts": 1}
            graph = Graph("g")
            graph.add("Writer", "agent", config)
            session = await engine.start(graph, "x")
            await session.settled()
            fork = await session.fork(at="Writer", changes={"nodes.Writer.config.api_key": KEY})
            await fork.settled()
            assert server.header("Authorization")[-1] == f"Bearer {KEY}"
            assert KEY not in str(fork.row)

    with OpenAIServer("Hello.") as server:
        limited(main(server.url))
