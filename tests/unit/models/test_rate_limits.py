"""Fifty calls at once to a provider that takes ten in a while: all are answered in the end."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from math import ceil
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.engine.message import Message
from rondel.engine.protocols import Usage
from rondel.models.model import ModelAnswer, Request
from tests.exchanges import whole
from tests.openai_server import OpenAIServer, Reply, Seen
from tests.unit.models.asking import model

CALLS, TAKEN, WINDOW = 50, 10, 0.2


class Rationed:
    """Takes ten requests in each window of time, and says so in one way or another."""

    def __init__(self, says: str, window: float = WINDOW) -> None:
        self.says = says
        self.window = window
        self.lock = threading.Lock()
        self.opened = 0.0
        self.taken = 0
        self.refused = 0

    def __call__(self, seen: Seen) -> Reply:
        with self.lock:
            now = time.monotonic()
            if now >= self.opened + self.window:
                self.opened, self.taken = now, 0
            refused = self.taken >= TAKEN
            self.refused += refused
            self.taken += not refused
            headers = self.headers(self.opened + self.window - now, refused)
        if refused:
            status = 503 if self.says == "unavailable" else 429
            return Reply(status=status, headers=headers, body={"error": {"message": "slow down"}})
        return Reply("done", headers=headers, before=0.01)

    def headers(self, left: float, refused: bool) -> dict[str, str]:
        match self.says:
            case "openai":
                said = {
                    "x-ratelimit-limit-requests": str(TAKEN),
                    "x-ratelimit-remaining-requests": str(TAKEN - self.taken),
                    "x-ratelimit-reset-requests": f"{int(left * 1000) + 1}ms",
                }
                return {**said, "Retry-After": f"{left:.3f}"} if refused else said
            case "only headers":
                return {
                    "x-ratelimit-remaining-requests": str(TAKEN - self.taken),
                    "x-ratelimit-reset-requests": f"{left:.3f}",
                }
            case "anthropic":
                then = datetime.now(UTC) + timedelta(seconds=left)
                said = {
                    "anthropic-ratelimit-requests-limit": str(TAKEN),
                    "anthropic-ratelimit-requests-remaining": str(TAKEN - self.taken),
                    "anthropic-ratelimit-requests-reset": then.isoformat(),
                }
                return {**said, "Retry-After": f"{left:.3f}"} if refused else said
            case "milliseconds":
                return {"retry-after-ms": str(int(left * 1000) + 1)} if refused else {}
            case "date" if refused:
                then = datetime.now(UTC) + timedelta(seconds=left)
                return {"Retry-After": format_datetime(then, usegmt=True)}
            case "seconds" | "unavailable" if refused:
                return {"Retry-After": f"{left:.3f}"}
        return {}


class Vendor(Rationed):
    """Ten requests in two seconds; refusals and headers are as OpenAI's or Anthropic's pages say.

    https://developers.openai.com/api/docs/guides/rate-limits
    https://platform.claude.com/docs/en/api/rate-limits
    """

    def __init__(self, says: str) -> None:
        super().__init__(says, 2.0)

    def __call__(self, seen: Seen) -> Reply:
        reply = super().__call__(seen)
        headers = dict(reply.headers)
        if reply.status == 200:
            answer = whole("anthropic") if self.says == "anthropic" else reply
            return replace(answer, headers=headers, before=0.01)
        headers["Retry-After"] = str(ceil(float(headers["Retry-After"])))  # in whole seconds
        if self.says == "anthropic":
            error = {"type": "rate_limit_error", "message": "This request would exceed your limit."}
            body: dict[str, Any] = {"type": "error", "error": error, "request_id": "req_1"}
        else:
            error = {"message": "Rate limit reached for m on requests.", "type": "requests"}
            body = {"error": {**error, "param": None, "code": "rate_limit_exceeded"}}
        return replace(reply, headers=headers, body=body)


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
async def test_fifty_agents_of_a_run_finish_with_ten_requests_in_two_seconds(vendor: str) -> None:
    rationed = Vendor(vendor)
    with OpenAIServer(rationed) as server:
        address = server.url if vendor == "openai" else server.url.removesuffix("/v1")
        config = {"provider": vendor, "name": "m", "base_url": address, "stream": False}
        config |= {"api_key": "k", "attempts": 2, "max_concurrency": CALLS}
        agents = [f"Agent {number}" for number in range(CALLS)]
        nodes = [{"id": name, "type": "agent", "config": config} for name in agents]
        body = {
            "id": "crowd",
            "start": agents,
            "nodes": [*nodes, {"id": "All", "type": "passthrough", "join": "all"}],
            "edges": [{"from": name, "to": "All"} for name in agents],
        }
        async with Engine(db=None) as engine:
            result = await engine.run(Graph.from_document({"graph": body}), "Greet.")
    assert result.status == "completed"
    assert result.usage.model_calls == CALLS  # who is put off pays nothing
    assert len(server.seen) == CALLS + rationed.refused
    assert 0 < rationed.refused < 2 * CALLS
    begun = sorted(seen.at for seen in server.seen)
    assert begun[-1] - begun[0] > 7  # five lots of ten


def asked_all(server: OpenAIServer, charged: list[Usage]) -> list[ModelAnswer]:
    asked: Any = model("openai", name="m", base_url=server.url, max_concurrency=CALLS)

    def request(number: int) -> Request:
        said = [Message(f"number {number}")]
        return Request("Writer", said, charge=charged.append, idempotency_key=str(number))

    async def main() -> list[ModelAnswer]:
        async with asyncio.timeout(50):
            calls = (asked.answer(request(number)) for number in range(CALLS))
            return await asyncio.gather(*calls)

    return asyncio.run(main())


@pytest.mark.parametrize(
    "says",
    ["openai", "anthropic", "only headers", "seconds", "date", "milliseconds", "unavailable", ""],
)
def test_all_are_answered_whatever_the_provider_says(says: str) -> None:
    rationed, charged = Rationed(says), []
    with OpenAIServer(rationed) as server:
        answers = asked_all(server, charged)
    assert [answer.content for answer in answers] == ["done"] * CALLS
    assert not charged  # who is put off at the door pays nothing
    assert len(server.seen) == CALLS + rationed.refused
    if says != "date":  # it has whole seconds only, so it may name a moment that has passed
        assert rationed.refused < CALLS * 3
    if says in ("openai", "anthropic", "only headers"):  # the first burst knows nothing as yet
        assert rationed.refused <= CALLS - TAKEN + 20
    assert {answer.usage.attempt for answer in answers} <= set(range(1, 30))
