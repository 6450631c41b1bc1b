"""A picture that a tool returns reaches a model that sees, in every wire format."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, Registry, builtin_registry
from tests.exchanges import whole
from tests.openai_server import OpenAIServer, Reply

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(32))
ENCODED = base64.b64encode(PICTURE).decode()
DATA_URL = f"data:image/png;base64,{ENCODED}"
CALLED = Reply(calls=[("look", {"at": "the sea"})])
SEEN = Reply("Blue.")


class Binary:
    """What other libraries return: bytes that say what they are."""

    data = PICTURE
    media_type = "image/png"


def eyes(returned: Any = PICTURE, calls: list[str] | None = None) -> Registry:
    """What agents need to look."""
    registry = builtin_registry()

    def look(at: str) -> Any:
        """Look at something."""
        if calls is not None:
            calls.append(at)
        return returned

    registry.function("look", look)
    return registry


def looking(config: dict[str, Any], registry: Registry | None = None) -> Graph:
    """An agent that looks."""
    graph = Graph("looking", registry=registry or eyes())
    graph.add("Painter", "agent", {"stream": False, "tools": ["look"], **config})
    return graph


def run(config: dict[str, Any], returned: Any = PICTURE) -> Any:
    async def main() -> Any:
        async with Engine(db=None) as engine:
            return await engine.run(looking(config, eyes(returned)), "What colour is the sea?")

    return asyncio.run(main())


def chat(server: OpenAIServer) -> dict[str, Any]:
    return {"provider": "openai", "name": "gpt-x", "base_url": server.url}


def told(server: OpenAIServer) -> Any:
    """What the model was told last."""
    return server.bodies[-1]


@pytest.mark.parametrize(
    "returned",
    [
        PICTURE,
        bytearray(PICTURE),
        ["Here it is.", PICTURE],
        Binary(),
        (Binary(), {"taken": "today"}),
    ],
    ids=["bytes", "bytearray", "list", "object", "tuple"],
)
def test_whatever_holds_a_picture_is_shown(returned: Any) -> None:
    with OpenAIServer(CALLED, SEEN) as server:
        result = run(chat(server), returned)
        *_, tool, user = told(server)["messages"]
    assert result.output == "Blue."
    assert tool["role"] == "tool"
    assert "[image/png, 40 bytes]" in tool["content"]
    (picture,) = [part for part in user["content"] if part["type"] == "image_url"]
    assert picture["image_url"]["url"] == DATA_URL


def test_texts_beside_a_picture_are_told_in_order() -> None:
    with OpenAIServer(CALLED, SEEN) as server:
        run(chat(server), ["One.", PICTURE, {"two": 2}])
        tool = next(each for each in told(server)["messages"] if each["role"] == "tool")
    assert json.loads(tool["content"])[0] == 'One.\n{"two":2}\n[image/png, 40 bytes]'


def test_bytes_that_are_no_picture_are_told_as_before() -> None:
    with OpenAIServer(CALLED, SEEN) as server:
        run(chat(server), b"plain")
        tool = told(server)["messages"][-1]
    assert tool["content"] == '"plain"'


def test_responses_show_it_in_the_output_of_the_call() -> None:
    with OpenAIServer(whole("responses", "call"), whole("responses")) as server:
        run({**chat(server), "api": "responses"})
        output = told(server)["input"][-1]
    assert output["type"] == "function_call_output"
    assert {"type": "input_image", "image_url": DATA_URL, "detail": "auto"} in output["output"]


def test_anthropic_is_shown_it_in_the_result_of_the_tool() -> None:
    with OpenAIServer(whole("anthropic", "call"), whole("anthropic")) as server:
        address = server.url.removesuffix("/v1")
        config = {"provider": "anthropic", "name": "claude-x", "base_url": address, "api_key": "k"}
        run(config)
        (result,) = told(server)["messages"][-1]["content"]
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "toolu_1")
    (picture,) = [block for block in result["content"] if block["type"] == "image"]
    source = {"type": "base64", "media_type": "image/png", "data": ENCODED}
    assert picture["source"] == source


@pytest.mark.parametrize(
    ("name", "inside"), [("gemini-2.5-flash", False), ("gemini-3-pro-preview", True)]
)
def test_gemini_is_shown_it_after_the_response_of_the_function_or_in_it(
    name: str, inside: bool
) -> None:
    with OpenAIServer(whole("gemini", "call"), whole("gemini")) as server:
        address = server.url.removesuffix("/v1")
        run({"provider": "google", "name": name, "base_url": address, "api_key": "k"})
        contents = told(server)["contents"]
    parts = [part for content in contents for part in content["parts"]]
    (response,) = [part["functionResponse"] for part in parts if "functionResponse" in part]
    assert response["name"] == "look"
    around = response["parts"] if inside else parts
    pictures = [part.get("inlineData") or part.get("inline_data") for part in around]
    assert [picture for picture in pictures if picture] == [
        {"mime_type": "image/png", "data": ENCODED}
    ]


def test_bedrock_is_shown_it_in_the_result_of_the_tool() -> None:
    with OpenAIServer(whole("bedrock", "call"), whole("bedrock")) as server:
        name = "anthropic.claude-sonnet-4-5-20250929-v1:0"
        address = {"base_url": server.url.removesuffix("/v1"), "region": "eu-west-1"}
        config = {"provider": "bedrock", "name": name, "api_key": "k", **address}
        run({**config, "params": {"max_tokens": 100}})
        (block,) = [
            each for each in told(server)["messages"][-1]["content"] if "toolResult" in each
        ]
    result = block["toolResult"]
    (picture,) = [each["image"] for each in result["content"] if "image" in each]
    assert result["toolUseId"] == "tooluse_1"
    assert picture == {"format": "png", "source": {"bytes": ENCODED}}


def test_the_journal_names_the_picture_and_keeps_its_bytes_beside(tmp_path: Path) -> None:
    async def main(server: OpenAIServer) -> None:
        async with Engine(db=tmp_path / "rondel.db") as engine:
            session = await engine.start(looking(chat(server)), "Look.")
            await session.result()
            (event,) = [e async for e in session.events() if e.event == "tool_execution"]
            (file,) = event.data["files"]
            assert file == {"attachment": file["attachment"], "media_type": "image/png", "size": 40}
            assert event.data["output"] == "[image/png, 40 bytes]"
            assert engine.store.attachments(session.id) == [file["attachment"]]
            assert engine.store.attachment(file["attachment"]) == PICTURE

    with OpenAIServer(CALLED, SEEN) as server:
        asyncio.run(main(server))


def test_after_a_failure_another_process_shows_the_same_picture_without_looking_again(
    tmp_path: Path,
) -> None:
    calls: list[str] = []

    async def first(server: OpenAIServer) -> str:
        async with Engine(db=tmp_path / "rondel.db", registry=eyes(calls=calls)) as engine:
            graph = looking({**chat(server), "attempts": 1}, eyes(calls=calls))
            session = await engine.start(graph, "Look.")
            assert (await session.result()).status == "failed"
            return session.id

    async def then(server: OpenAIServer, id: str) -> Any:
        async with Engine(db=tmp_path / "rondel.db", registry=eyes(calls=calls)) as engine:
            session = await engine.resume(id)
            return await session.result()

    with OpenAIServer(CALLED, Reply(status=400, body={"error": "no"}), SEEN) as server:
        id = asyncio.run(first(server))
        assert asyncio.run(then(server, id)).output == "Blue."
        assert DATA_URL in json.dumps(told(server))
        assert len(server.seen) == 3  # the turn that called was not asked for again
    assert calls == ["the sea"]


def test_a_file_that_is_kept_already_is_shown_too(tmp_path: Path) -> None:
    async def main(server: OpenAIServer) -> None:
        async with Engine(db=tmp_path / "rondel.db") as engine:
            part = await engine.attach(PICTURE, "image/png", "sea.png")
            session = await engine.start(looking(chat(server), eyes([part])), "Look.")
            assert (await session.result()).output == "Blue."
            assert engine.store.attachments(session.id) == [part.attachment]

    with OpenAIServer(CALLED, SEEN) as server:
        asyncio.run(main(server))
        assert "[sea.png: image/png, 40 bytes]" in json.dumps(told(server))
        assert DATA_URL in json.dumps(told(server))


def test_a_file_that_no_model_reads_is_named_and_no_reason_to_fail() -> None:
    class Sound:
        data = b"RIFF0000WAVE"
        media_type = "audio/wav"

    with OpenAIServer(CALLED, SEEN) as server:
        result = run(chat(server), Sound())
        tool = told(server)["messages"][-1]
    assert result.output == "Blue."
    assert tool["content"] == "[audio/wav, 12 bytes]"


def test_a_picture_that_is_too_large_is_told_to_the_model() -> None:
    async def main(server: OpenAIServer) -> Any:
        async with Engine(db=None, max_attachment=10) as engine:
            return await engine.run(looking(chat(server)), "Look.")

    with OpenAIServer(CALLED, SEEN) as server:
        assert asyncio.run(main(server)).output == "Blue."
        tool = told(server)["messages"][-1]
    assert "has 40 bytes and an attachment may have 10" in tool["content"]


SERVER = """
import base64
from mcp.server import MCPServer
from mcp.server.mcpserver import Image

server = MCPServer("eyes")

@server.tool()
def look(at: str):
    "Look at something."
    return ["Here it is.", Image(data=base64.b64decode("PICTURE"), format="png")]

server.run("stdio")
"""


def test_a_picture_of_an_mcp_server_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "eyes.py"
    script.write_text(SERVER.replace("PICTURE", ENCODED))

    async def main(server: OpenAIServer) -> Any:
        graph = Graph("looking")
        tools = [{"mcp": {"command": [sys.executable, str(script)]}}]
        graph.add("Painter", "agent", {**chat(server), "stream": False, "tools": tools})
        async with Engine(db=None, allow_commands=True) as engine:
            return await engine.run(graph, "Look.")

    with OpenAIServer(CALLED, SEEN) as server:
        assert asyncio.run(main(server)).output == "Blue."
        assert DATA_URL in json.dumps(told(server))
        tool = next(each for each in told(server)["messages"] if each["role"] == "tool")
    assert json.loads(tool["content"])[0] == "Here it is.\n[image/png, 40 bytes]"
