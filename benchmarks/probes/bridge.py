"""What a call of a real model costs in CPU, beside the `openai` client, on a local server.

Three ask the same server in turn: the client alone, the provider library (pydantic-ai) over the
client, and the bridge, which is the library over a client of ours with limits, retries and the
ledger around it. The server's thread is not counted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks.probe import Figures, answer
from rondel.engine.message import Message
from rondel.models.model import Request
from rondel.sessions.registry import builtin_registry
from tests.openai_server import OpenAIServer, Reply

CHUNKS, PASSES = 400, 5
TEXT = "word " * CHUNKS
PROMPT = "Why loops?"

Ask = Callable[[], Awaitable[str]]


def client_alone(client: AsyncOpenAI, stream: bool) -> Ask:
    """The `openai` client, its chunks put together."""
    messages: Any = [{"role": "user", "content": PROMPT}]

    async def whole() -> str:
        done = await client.chat.completions.create(model="m", messages=messages)
        return str(done.choices[0].message.content)

    async def in_chunks() -> str:
        chunks = await client.chat.completions.create(
            model="m", messages=messages, stream=True, stream_options={"include_usage": True}
        )
        said = [chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices]
        return "".join(said)

    return in_chunks if stream else whole


def library(client: AsyncOpenAI, stream: bool) -> Ask:
    """Pydantic-ai's model over the same client, its events read to the end."""
    model = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))

    async def whole() -> str:
        asked = ModelRequest([UserPromptPart(PROMPT)])
        return (await model.request([asked], None, ModelRequestParameters())).text or ""

    async def in_chunks() -> str:
        asked = ModelRequest([UserPromptPart(PROMPT)])
        async with model.request_stream([asked], None, ModelRequestParameters()) as events:
            async for _ in events:
                pass
            return events.get().text or ""

    return in_chunks if stream else whole


def bridge(client: AsyncOpenAI, stream: bool) -> Ask:
    """What an agent asks at the same address: every chunk is told, the answer is metered."""
    registry = builtin_registry()
    config = registry.config_model("provider", "openai").model_validate(
        {"name": "m", "base_url": str(client.base_url), "stream": stream}
    )
    model = registry.build("provider", "openai", config)

    async def ask() -> str:
        told: list[str] = []
        request = Request("Writer", [Message(PROMPT, role="user")], emit=told.append)
        said = str((await model.answer(request)).content)
        return said if "".join(told) == said else ""

    return ask


WAYS: dict[str, Callable[[AsyncOpenAI, bool], Ask]] = {
    "client": client_alone,
    "library": library,
    "bridge": bridge,
}


def figures(calls: int) -> Figures:
    """The best milliseconds of CPU a call, streaming and not."""
    best: Figures = {}
    for what, stream in (("streaming", True), ("whole", False)):
        with OpenAIServer(Reply(TEXT, chunks=CHUNKS)) as server:
            taken = asyncio.run(_taken(server.url, stream, calls if stream else 10 * calls))
        best |= {f"{name}, {what}": seconds * 1e3 for name, seconds in taken.items()}
    return best


async def _taken(url: str, stream: bool, calls: int) -> Figures:
    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        asks = {name: way(client, stream) for name, way in WAYS.items()}
        best = dict.fromkeys(asks, float("inf"))
        for _ in range(PASSES):
            for name, ask in asks.items():
                best[name] = min(best[name], await _cpu(ask, calls))
        return best


async def _cpu(ask: Ask, calls: int) -> float:
    if await ask() != TEXT:
        raise AssertionError("the answer is not what the server said")
    began = time.thread_time()
    for _ in range(calls):
        await ask()
    return (time.thread_time() - began) / calls


if __name__ == "__main__":
    answer(figures, 10)
