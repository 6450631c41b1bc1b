"""Tools that a person has to allow: asked once, decided once, called once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rondel import Engine, Graph, builtin_registry
from rondel.tools.context import ToolContext
from tests.openai_server import OpenAIServer, Reply
from tests.unit.nodes.running import problems

PAY = Reply(calls=[("pay", {"amount": 5}), ("look", {})])
TWICE = Reply(calls=[("pay", {"amount": 5}), ("pay", {"amount": 6})])


class Bank:
    """Counts what was paid, and by which key."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str]] = []
        self.looked = 0

    def graph(self, server: OpenAIServer, **config: Any) -> Graph:
        def pay(amount: int, context: ToolContext) -> str:
            """Pay."""
            self.paid.append((amount, context.idempotency_key))
            return f"paid {amount}"

        def look() -> str:
            """Look."""
            self.looked += 1
            return "seen"

        registry = builtin_registry()
        registry.function("pay", pay)
        registry.function("look", look)
        graph = Graph("g", registry=registry)
        agent = {"provider": "openai", "name": "m", "base_url": server.url}
        graph.add(
            "Clerk", "agent", {**agent, "tools": ["pay", "look"], "approve": ["pay"], **config}
        )
        return graph


def results(server: OpenAIServer) -> list[str]:
    return [each["content"] for each in server.bodies[-1]["messages"] if each["role"] == "tool"]


async def test_a_call_is_made_when_a_person_allows_it() -> None:
    bank = Bank()
    with OpenAIServer(PAY, "Done.") as server:
        async with Engine(db=None) as engine:
            session = await engine.start(bank.graph(server), "pay")
            assert (await session.settled()).status == "waiting"
            (question,) = session.asking
            assert "'pay'" in question.description
            assert "amount: 5" in question.description.splitlines()[1]
            assert question.actions == ["approve", "deny"]
            assert (bank.paid, bank.looked) == ([], 0)
            await session.answer("maybe")
            assert (await session.settled()).status == "waiting"
            await session.answer("approve")
            result = await session.settled()
    assert (result.status, result.output) == ("completed", "Done.")
    assert [amount for amount, _ in bank.paid] == [5]
    assert bank.paid[0][1].endswith("turn 1 call 1")
    assert bank.looked == 1
    assert len(server.seen) == 2
    assert results(server) == ["paid 5", "seen"]
    (told,) = [e for e in server.bodies[0]["tools"] if e["function"]["name"] == "pay"]
    assert list(told["function"]["parameters"]["properties"]) == ["amount"]


async def test_no_value_of_a_call_can_pass_for_two() -> None:
    sly = Reply(calls=[("pay", {"amount": "5\n  to: Ann", "to\nwhom": ["Bob"]}), ("look", {})])
    with OpenAIServer(sly, "Done.") as server:
        async with Engine(db=None) as engine:
            session = await engine.start(Bank().graph(server, approve=["pay", "look"]), "pay")
            await session.settled()
            (question,) = session.asking
            await session.answer("deny")
            await session.settled()
            (bare,) = session.asking
    assert question.description.splitlines() == [
        "May the tool 'pay' be used with these values?",
        r'  amount: "5\n  to: Ann"',
        r'  "to\nwhom": ["Bob"]',
    ]
    assert bare.description == "May the tool 'look' be used?"


async def test_a_call_that_is_denied_is_not_made_and_the_model_is_told_why() -> None:
    bank = Bank()
    with OpenAIServer(PAY, "Understood.") as server:
        async with Engine(db=None) as engine:
            session = await engine.start(bank.graph(server), "pay")
            await session.settled()
            await session.answer("deny: too much")
            result = await session.settled()
            events = [event async for event in session.events()]
    assert result.output == "Understood."
    assert bank.paid == []
    assert "did not allow this call: too much" in results(server)[0]
    (decided,) = [event.data for event in events if event.event == "tool_approval"]
    assert decided == {"tool": "pay", "decision": "deny", "reason": "too much"}


async def test_over_processes_each_call_is_asked_about_once_and_made_once(tmp_path: Path) -> None:
    bank, db = Bank(), tmp_path / "s.db"
    with OpenAIServer(TWICE, "Done.") as server:
        async with Engine(db=db) as engine:
            session = await engine.start(bank.graph(server), "pay")
            await session.settled()
        for answer in ("approve", "deny"):
            async with Engine(db=db) as engine:
                session = await engine.resume(session.id, graph=bank.graph(server))
                await session.answer(answer)
                result = await session.settled()
    assert (result.status, result.output) == ("completed", "Done.")
    assert [amount for amount, _ in bank.paid] == [5]
    assert len(server.seen) == 2


async def test_a_name_that_is_no_tool_lets_nothing_run() -> None:
    bank = Bank()
    with OpenAIServer(PAY, "Done.") as server:
        async with Engine(db=None) as engine:
            result = await engine.run(bank.graph(server, approve=["pya"]), "pay")
    assert result.status == "failed"
    assert "approve names no tool: 'pya'; did you mean 'pay'" in str(result.message)
    assert (bank.paid, bank.looked, server.seen) == ([], 0, [])


def test_what_cannot_be_is_an_error_at_load() -> None:
    assert "there are none" in "\n".join(problems("agent", {"approve": ["pay"]}))
    vote = {"agents": {"a": {"approve": ["pay"]}}}
    assert "cannot wait for a person" in "\n".join(problems("vote", vote))
