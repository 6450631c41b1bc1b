"""MCP servers used end to end: one from a published package over stdio, one over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rondel import Engine, Graph, Registry, builtin_registry
from tests.e2e.command import Ran, rondel
from tests.openai_server import OpenAIServer, Reply

Call = Callable[..., Ran]
Write = Callable[..., Path]

SECRET = "planted-0123456789"
MARK = "RONDEL_TEST_MARK"

PROBE = """
import asyncio, os, sys
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("probe")

@server.tool()
def environment() -> str:
    return ",".join(sorted(os.environ))

@server.tool()
def leak() -> str:
    return f"{os.environ['API_TOKEN']} in {os.environ['PLACE']}"

@server.tool()
def pid() -> str:
    return str(os.getpid())

@server.tool()
def fail() -> str:
    raise ToolError("no luck")

@server.tool()
def die() -> str:
    print(f"the key {os.environ['API_TOKEN']} is wrong", file=sys.stderr, flush=True)
    os._exit(3)

@server.tool()
async def sleep(path: str) -> str:
    open(path, "w").close()
    await asyncio.sleep(600)
    return "awake"

server.run("stdio")
"""

HTTP = """
import sys, uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("greeter")

@server.tool()
def greet(name: str) -> str:
    '''Greet somebody.'''
    return f"Hello, {name}."

app = server.streamable_http_app()

async def guarded(scope, receive, send):
    headers = dict(scope.get("headers") or ())
    if scope["type"] == "http" and headers.get(b"authorization") != b"Bearer SECRET":
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})
    else:
        await app(scope, receive, send)

class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)

Server(uvicorn.Config(guarded, host="127.0.0.1", port=0, log_level="error")).run()
""".replace("SECRET", SECRET)


def calling(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in calls]}


def graph_of(tools: list[Any], *answers: Any, **config: Any) -> str:
    script = {"provider": "scripted", "answers": list(answers)} if answers else {}
    agent = {**script, "tools": tools, **config}
    return json.dumps({"graph": {"id": "g", "nodes": [
        {"id": "Agent", "type": "agent", "config": agent}
    ]}})  # fmt: skip


def executions(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line["data"] for line in lines if line["event"] == "tool_execution"]


def marked(mark: Path) -> list[int]:
    """The processes that still have this mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environment.split(b"\0"):
            found.append(int(process.name))
    return found


def is_alive(pid: int) -> bool:
    """Whether a process has not let go of its files yet: its last thread does so."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        return len(threads) > 1 or state not in "ZX"
    except OSError:
        return False


# A published package


TIME = """
graph:
  id: clock
  nodes:
    - id: Clock
      type: agent
      config:
        provider: scripted
        answers:
          - content: Let me look.
            calls:
              - {{name: convert_time, arguments: {{source_timezone: Europe/Berlin, time: "12:00", target_timezone: Asia/Kolkata}}}}
              - {{name: get_current_time, arguments: {{timezone: Mars/Olympus}}}}
          - It is afternoon in Kolkata.
        tools:
          - mcp: {{command: [{python}, -m, mcp_server_time], env: {{RONDEL_TEST_MARK: "{mark}"}}}}
            allow: [{allow}]
"""  # noqa: E501


def test_a_published_server_answers_a_graph_over_stdio_and_is_gone_afterwards(
    graph_file: Write, tmp_path: Path
) -> None:
    text = TIME.format(python=sys.executable, mark=tmp_path, allow="get_current_time, convert_time")
    db = tmp_path / "journal.db"
    options = "--allow-commands", "--json", "--db", str(db)
    ran = rondel("run", str(graph_file(text)), "-i", "What time is it?", *options)
    assert ran.code == 0, ran.err
    assert ran.result["output"] == "It is afternoon in Kolkata."
    told = {execution["tool"]: execution for execution in executions(ran.lines)}
    converted = json.loads(told["convert_time"]["output"])
    assert converted["target"]["timezone"] == "Asia/Kolkata"
    assert "failed" not in told["convert_time"]
    assert "Mars/Olympus" in told["get_current_time"]["output"]
    assert told["get_current_time"]["failed"] is True
    assert marked(tmp_path) == []


def test_a_tool_that_is_not_allowed_is_neither_offered_nor_run(
    call: Call, graph_file: Write, tmp_path: Path
) -> None:
    text = TIME.format(python=sys.executable, mark=tmp_path, allow="get_current_time")
    ran = call(
        "run", "--allow-commands", graph_file(text), "--json", "--db", tmp_path / "journal.db"
    )
    told = {execution["tool"]: execution for execution in executions(ran.lines)}
    assert told["convert_time"]["failed"] is True
    assert told["convert_time"]["output"] == (
        "the tool 'convert_time' is not allowed here; there are: 'get_current_time'"
    )


# A server of our own, over stdio


@pytest.fixture
def probe(tmp_path: Path) -> dict[str, Any]:
    """An entry of `tools` for the probe."""
    script = tmp_path / "probe.py"
    script.write_text(PROBE)
    env = {"API_TOKEN": SECRET, "PLACE": "Europe/London", MARK: str(tmp_path)}
    return {"mcp": {"command": [sys.executable, str(script)], "env": env}}


async def run(text: str, registry: Registry | None = None) -> tuple[Any, list[dict[str, Any]]]:
    async with Engine(db=None, allow_commands=True) as engine:
        session = await engine.start(Graph.loads(text, registry=registry), "t")
        result = await session.settled()
        return result, [{"event": each.event, "data": each.data} async for each in session.events()]


def test_a_server_sees_path_home_and_its_env_only(
    probe: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDEL_UNRELATED", "x")
    monkeypatch.setenv("USER", "somebody")
    monkeypatch.setenv("HOME", "/home/somebody")
    _, events = asyncio.run(run(graph_of([probe], calling(("environment", {})), "done")))
    (told,) = executions(events)
    seen = {*told["output"].split(",")} - {"LC_CTYPE"}  # Python sets that one itself
    assert seen == {"API_TOKEN", "HOME", "PATH", "PLACE", MARK}


def test_a_secret_of_the_environment_shows_nowhere(
    call: Call, graph_file: Write, probe: dict[str, Any], tmp_path: Path
) -> None:
    db = tmp_path / "journal.db"
    probe["mcp"]["env"]["API_TOKEN"] = "${RONDEL_TEST_TOKEN}"
    (tmp_path / ".env").write_text(f"RONDEL_TEST_TOKEN={SECRET}\n")
    answers = [calling(("leak", {})), calling(("die", {})), "done"]
    ran = call(
        "run", "--allow-commands", graph_file(graph_of([probe], *answers)), "--json", "--db", db
    )
    leaked, died = executions(ran.lines)
    assert leaked["output"] == "*** in Europe/London"
    assert died["output"] == "the MCP server 'probe.py' ended: the key *** is wrong"
    assert ran.result["status"] == "completed"
    assert SECRET not in ran.out + ran.err
    stored = b"".join(each.read_bytes() for each in tmp_path.glob("journal.db*"))
    assert b"Europe/London" in stored
    assert SECRET.encode() not in stored


def test_a_server_that_dies_is_told_to_the_model_and_started_again(
    probe: dict[str, Any], tmp_path: Path
) -> None:
    answers = [calling((name, {})) for name in ("pid", "die", "pid", "fail")]
    result, events = asyncio.run(run(graph_of([probe], *answers, "done")))
    first, died, second, failed = executions(events)
    assert result.status == "completed"
    assert died["failed"] is True
    assert first["output"] != second["output"]
    assert (failed["failed"], "no luck" in failed["output"]) == (True, True)
    assert marked(tmp_path) == []


def test_a_server_that_was_killed_between_calls_is_replaced_unnoticed(
    probe: dict[str, Any], tmp_path: Path
) -> None:
    def kill() -> str:
        (server,) = marked(tmp_path)
        os.kill(server, signal.SIGKILL)
        while is_alive(server):
            time.sleep(0.01)
        return "killed"

    registry = builtin_registry()
    registry.function("kill", kill)
    answers = [calling((name, {})) for name in ("pid", "kill", "pid")]
    _, events = asyncio.run(run(graph_of([probe, "kill"], *answers, "done"), registry))
    first, _, second = executions(events)
    assert "failed" not in second
    assert first["output"] != second["output"]


def test_one_server_serves_all_calls_of_a_process(probe: dict[str, Any]) -> None:
    async def twice() -> set[str]:
        text = graph_of([probe], calling(("pid", {}), ("pid", {})), calling(("pid", {})), "done")
        told = [executions((await run(text))[1]) for _ in range(2)]
        return {execution["output"] for each in told for execution in each}

    assert len(asyncio.run(twice())) == 1


def test_a_stop_leaves_a_call_and_no_process(probe: dict[str, Any], tmp_path: Path) -> None:
    asleep = tmp_path / "asleep"

    async def stopped() -> str:
        async with Engine(db=None, allow_commands=True) as engine:
            text = graph_of([probe], calling(("sleep", {"path": str(asleep)})), "done")
            session = await engine.start(Graph.loads(text), "t")
            while not asleep.exists():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await session.stop()
            return (await session.result()).status

    assert asyncio.run(stopped()) == "cancelled"
    assert marked(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["no-such-command"], "there is no command 'no-such-command'"),
        ([sys.executable, "-m", "no_such_module"], "No module named no_such_module"),
        ([sys.executable, "-c", "print('not MCP')"], "the MCP server 'python"),
    ],
)
def test_a_server_that_does_not_start_is_one_clear_line(command: list[str], says: str) -> None:
    result, _ = asyncio.run(run(graph_of([{"mcp": {"command": command}}], "done")))
    assert result.status == "failed"
    assert says in result.message
    assert "\n" not in result.message


def test_two_servers_with_the_same_tool_are_told_apart_by_allow(probe: dict[str, Any]) -> None:
    result, _ = asyncio.run(run(graph_of([probe, probe], "done")))
    assert "there are two tools called 'environment'; leave one of them out" in result.message
    tools = [{**probe, "allow": ["pid"]}, {**probe, "allow": ["leak"]}]
    assert asyncio.run(run(graph_of(tools, "done")))[0].status == "completed"


def test_a_tool_that_the_server_does_not_have_cannot_be_allowed(probe: dict[str, Any]) -> None:
    result, _ = asyncio.run(run(graph_of([{**probe, "allow": ["pids"]}], "done")))
    assert "the MCP server 'probe.py' has no tool 'pids'; did you mean 'pid'?" in result.message


# Leave to start programs

GATED = """
graph:
  id: g
  nodes:
    - {{id: Human, type: human}}
    - {{id: Inner, type: subgraph, config: {{graph: {{id: i, nodes: [{node}]}}}}}}
  edges: [{{from: Human, to: Inner}}]
"""
INSIDE = {
    "agent": lambda agent: {"type": "agent", "config": agent},
    "vote": lambda agent: {"type": "vote", "config": {"agents": {"A": agent}}},
    "debate": lambda agent: {
        "type": "debate",
        "config": {
            "agents": {"A": {"provider": "simulated"}},
            "agent_pairs": [["A", "A"]],
            "exit_condition": "consensus",
            "consensus": {"mode": "judge", "agent": agent},
        },
    },
    "fact_check": lambda agent: {
        "type": "fact_check",
        "config": {
            "agent": {name: agent[name] for name in agent if name != "tools"},
            "tools": agent["tools"],
        },
    },
}


@pytest.mark.parametrize("kind", INSIDE)
def test_a_program_is_started_only_where_that_is_allowed(
    kind: str, call: Call, graph_file: Write, tmp_path: Path
) -> None:
    mark = tmp_path / "started"
    command = [sys.executable, "-c", f"open({str(mark)!r}, 'w')", "--token", "open-sesame"]
    agent = {"provider": "scripted", "answers": ["x"], "tools": [{"mcp": {"command": command}}]}
    file = graph_file(GATED.format(node=json.dumps({"id": "Node", **INSIDE[kind](agent)})))
    db = "--db", tmp_path / "s.db"
    refused = call("run", file, "--no-input", *db)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "node 'Inner/Node' starts the program" in refused.err
    assert "--allow-commands" in refused.err
    assert call("run", file, "--no-input", "--provider", "simulated", *db).code == 4
    waiting = call("run", file, "--no-input", "--allow-commands", "--json", *db)
    assert waiting.code == 4
    assert "--allow-commands" in waiting.err
    id = waiting.result["session_id"]
    for again in (call("answer", id, "x", *db), call("fork", id, "--at", "Human", *db)):
        assert again.code == 2
        assert "--allow-commands" in again.err
    checked = call("check", file)
    assert f"Inner/Node starts {sys.executable} -c" in checked.out
    assert "a run needs --allow-commands" in checked.out
    (start,) = json.loads(call("check", file, "--json").out)["starts"]
    assert (start["node"], start["kind"]) == ("Inner/Node", "command")
    told = checked.out + refused.err + waiting.err + start["command"]
    assert "open-sesame" not in told
    assert not mark.exists()
    call("answer", id, "x", "--allow-commands", *db)
    assert mark.exists()


def test_code_in_a_graph_is_among_what_a_check_lists(call: Call, graph_file: Write) -> None:
    text = "graph: {id: g, nodes: [{id: Code, type: python, config: {code: 'print(1)'}}]}"
    assert (
        "Code starts Python code; a run needs --allow-python" in call("check", graph_file(text)).out
    )


class Own(BaseModel):
    """The config of a node type that nobody knows, with an agent in it."""

    agent: dict[str, Any]


async def test_a_node_type_of_ones_own_cannot_start_a_program_either(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    command = [sys.executable, "-c", f"open({str(mark)!r}, 'w')"]
    registry = builtin_registry()

    def build(config: Own, registry: Registry) -> Any:
        valid = registry.config_model("node", "agent").model_validate(config.agent)
        return registry.build("node", "agent", valid)

    registry.node("own", Own, build)
    agent = {"provider": "scripted", "answers": ["x"], "tools": [{"mcp": {"command": command}}]}
    node = {"id": "N", "type": "own", "config": {"agent": agent}}
    graph = Graph.loads(json.dumps({"graph": {"id": "g", "nodes": [node]}}), registry=registry)

    async with Engine(db=None) as engine:
        assert "may not be started here" in (await engine.run(graph, "x")).message
    assert not mark.exists()


# Servers with habits of their own

ODD = """
import json, sys

habit = sys.argv[1]
NAMES = ["files.read", "files_read", "查询", "x" * 80, "plain"]

def result(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"}}
    if method == "tools/list":
        names = ["slow", "refuse", "closed"] if habit == "refusing" else NAMES
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
        return {"tools": tools, **({"nextCursor": "more"} if habit == "endless" else {})}
    return {"content": [{"type": "text", "text": "this is " + params["name"]}]}

waiting = None
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method not in ("initialize", "tools/list", "tools/call"):
        answer["error"] = {"code": -32601, "message": "no such method"}
    elif habit == "silent" and method == "tools/list":
        continue
    elif params.get("name") == "slow":
        waiting = answer  # until another call has come
        continue
    elif params.get("name") == "refuse":
        answer["error"] = {"code": -32000, "message": "not now"}
    else:
        answer["result"] = result(method, params)
    print(json.dumps(answer), flush=True)
    if waiting is not None:
        print(json.dumps({**waiting, "result": result("tools/call", {"name": "slow"})}), flush=True)
        waiting = None
"""


def odd(tmp_path: Path, habit: str, *more: str) -> dict[str, Any]:
    script = tmp_path / "odd.py"
    script.write_text(ODD)
    return {"mcp": {"command": [sys.executable, str(script), habit, *more]}}


def test_an_error_of_one_call_leaves_the_server_to_the_others(tmp_path: Path) -> None:
    answers = calling(("slow", {}), ("refuse", {})), calling(("closed", {})), "done"
    result, events = asyncio.run(run(graph_of([odd(tmp_path, "refusing")], *answers)))
    assert result.status == "completed", result.message
    told = {each["tool"]: each["output"] for each in executions(events)}
    assert told == {
        "slow": "this is slow",
        "refuse": "the MCP server 'odd.py' says: not now",
        "closed": "this is closed",
    }


def test_a_list_of_tools_without_end_is_given_up(tmp_path: Path) -> None:
    result, _ = asyncio.run(run(graph_of([odd(tmp_path, "endless")], "done")))
    assert "'odd.py' lists its tools without end: more than 100 pages" in result.message


def test_a_server_that_never_tells_its_tools_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondel.tools.connection.LISTING", 0.2)
    result, _ = asyncio.run(run(graph_of([odd(tmp_path, "silent")], "done")))
    assert "'odd.py' did not tell its tools within 0.2 s" in result.message


def test_names_that_providers_refuse_are_mapped(tmp_path: Path) -> None:
    with OpenAIServer("Hello.") as server:
        config = {"provider": "openai", "name": "m", "base_url": server.url}
        asyncio.run(run(graph_of([odd(tmp_path, "names")], **config)))
        offered = [tool["function"]["name"] for tool in server.bodies[0]["tools"]]
    assert len({*offered}) == 5
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in offered)
    assert {"files_read", "plain", "x" * 64} < {*offered}
    calls = calling(*((name, {}) for name in offered))
    _, events = asyncio.run(run(graph_of([odd(tmp_path, "names")], calls, "done")))
    said = [each["output"].removeprefix("this is ") for each in executions(events)]
    assert sorted(said) == sorted(["files.read", "files_read", "查询", "x" * 80, "plain"])
    only = {**odd(tmp_path, "names"), "allow": ["files.read"]}
    _, events = asyncio.run(run(graph_of([only], calling((offered[0], {})), "done")))
    assert executions(events)[0]["output"] == "this is files.read"


def test_what_a_server_prints_of_its_arguments_is_hidden(
    call: Call, graph_file: Write, tmp_path: Path
) -> None:
    script = tmp_path / "printing.py"
    script.write_text("import sys; sys.exit('cannot log in with ' + ' '.join(sys.argv[1:]))")
    (tmp_path / ".env").write_text("WORD=plain-word\nHOOK=https://x.example/T01/hunter-two\n")
    command = [sys.executable, str(script), "--pass", "open-sesame", "${WORD}", "--hook=${HOOK}"]
    text = graph_of([{"mcp": {"command": command}}], "done")
    ran = call("run", "--allow-commands", graph_file(text), "--db", tmp_path / "s.db")
    assert "cannot log in with --pass *** ***" in ran.err
    for word in ("open-sesame", "plain-word", "hunter-two"):
        assert word not in ran.out + ran.err


# A server of our own, over HTTP


@pytest.fixture
def greeter(tmp_path: Path) -> Iterator[str]:
    """The address of a running server."""
    script = tmp_path / "greeter.py"
    script.write_text(HTTP)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
    finally:
        process.terminate()
        process.communicate(timeout=30)


def over_http(address: str, **more: Any) -> str:
    tools = [{"mcp": {"url": address, **more}}]
    calls = calling(("greet", {"name": "Ann"}), ("greet", {"nme": "Ann"}))
    return graph_of(tools, calls, "done")


def test_a_server_is_asked_over_http(greeter: str) -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    result, events = asyncio.run(run(over_http(greeter, headers=headers)))
    assert result.status == "completed", result.message
    told = sorted(executions(events), key=lambda each: "failed" in each)
    assert told[0] == {"tool": "greet", "input": {"name": "Ann"}, "output": "Hello, Ann."}
    assert told[1]["failed"] is True


def test_a_server_that_refuses_us_is_one_clear_line(greeter: str) -> None:
    result, _ = asyncio.run(run(over_http(greeter)))
    assert result.status == "failed"
    assert f"the MCP server '{greeter}' answered with status 401 Unauthorized" in result.message
    assert "check its headers" in result.message
    assert "\n" not in result.message


# With a real model in front


def test_a_model_over_http_uses_a_server_over_stdio_and_answers_in_its_schema(
    probe: dict[str, Any],
) -> None:
    schema = {"type": "object", "properties": {"pid": {"type": "string"}}, "required": ["pid"]}
    replies = Reply("One moment.", calls=[("pid", {})]), "It is 7.", '{"pid": "7"}'
    with OpenAIServer(*replies) as server:
        config = {"provider": "openai", "name": "m", "base_url": server.url}
        agent = {**config, "tools": [{**probe, "allow": ["pid"]}], "output_schema": schema}
        nodes = [{"id": "Agent", "type": "agent", "config": agent}]
        result, events = asyncio.run(run(json.dumps({"graph": {"id": "g", "nodes": nodes}})))
        bodies = server.bodies
    assert (result.status, result.data) == ("completed", {"pid": "7"}), result.message
    assert result.usage.model_calls == 3
    (told,) = executions(events)
    roles = [message["role"] for message in bodies[-1]["messages"]]
    assert [role for role in roles if role != "system"] == [
        *("user", "assistant", "tool", "assistant", "user")
    ]
    assert told["output"] in json.dumps(bodies[1]["messages"])
    assert "does not fit the JSON Schema" in bodies[-1]["messages"][-1]["content"]
    assert {tool["function"]["name"] for tool in bodies[0]["tools"]} == {"pid"}
