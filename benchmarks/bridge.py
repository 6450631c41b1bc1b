"""What a call of a real model costs in CPU, against the `openai` client alone, on a local server.

`python -m benchmarks.bridge [CALLS]` prints CPU milliseconds a call and their ratio, streaming 400
chunks and not streaming. Both take turns in one process; the server's thread is not counted.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI

from rondel.engine.message import Message
from rondel.models.model import Request
from rondel.sessions.registry import builtin_registry
from tests.openai_server import OpenAIServer, Reply

CHUNKS, PASSES = 400, 5
TEXT = "word " * CHUNKS


async def measured(url: str, stream: bool, calls: int) -> tuple[float, float]:
    """The best CPU seconds a call: the client's, and the bridge's."""
    client = AsyncOpenAI(base_url=url, api_key="none")
    registry = builtin_registry()
    config = registry.config_model("provider", "openai").model_validate(
        {"name": "m", "base_url": url, "stream": stream}
    )
    model = registry.build("provider", "openai", config)

    async def plain() -> str:
        messages: Any = [{"role": "user", "content": "Why loops?"}]
        if not stream:
            done = await client.chat.completions.create(model="m", messages=messages)
            return str(done.choices[0].message.content)
        options: Any = {"include_usage": True}
        chunks = await client.chat.completions.create(
            model="m", messages=messages, stream=True, stream_options=options
        )
        said = [c.choices[0].delta.content or "" async for c in chunks if c.choices]
        return "".join(said)

    async def bridged() -> str:
        request = Request("Writer", [Message("Why loops?", role="user")])
        return str((await model.answer(request)).content)

    best = [float("inf"), float("inf")]
    for _ in range(PASSES):
        for place, call in enumerate((plain, bridged)):
            best[place] = min(best[place], await _cpu(call, calls))
    await client.close()
    return best[0], best[1]


async def _cpu(call: Callable[[], Awaitable[str]], calls: int) -> float:
    assert await call() == TEXT
    began = time.thread_time()
    for _ in range(calls):
        await call()
    return (time.thread_time() - began) / calls


def main() -> None:
    """Measure both ways and print a table."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print("| | openai client, ms | bridge, ms | ratio |\n|---|---:|---:|---:|")
    for name, stream in ((f"streaming {CHUNKS} chunks", True), ("not streaming", False)):
        with OpenAIServer(Reply(TEXT, chunks=CHUNKS)) as server:
            plain, bridged = asyncio.run(measured(server.url, stream, calls))
        print(f"| {name} | {plain * 1e3:.2f} | {bridged * 1e3:.2f} | {bridged / plain:.2f} |")


if __name__ == "__main__":
    main()
