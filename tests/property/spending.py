"""Random graphs in which many calls run side by side under budgets, and what their runs take."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from rondel import Engine, Graph, Registry
from rondel.engine.protocols import Usage
from rondel.errors import ModelError
from rondel.graph.guarantees import NO_KEYS, Calls, Guarantee
from rondel.models.model import ModelAnswer, ProviderConfig, Request
from rondel.models.prices import usd
from rondel.sessions.registry import builtin_registry

PRICES = {"metered": {"input": 1000.0, "output": 3000.0}}


class MeteredConfig(ProviderConfig):
    """A model that takes any amount up to a limit, any time, and fails now and then."""

    most_input: int
    most_output: int
    seed: str

    def taken(self, given: int, answered: int) -> Usage:
        cost = usd(self.name, given, answered, price=self.price)
        return Usage(self.name, given, answered, cost)

    def guarantee(self) -> Guarantee:
        most = self.taken(self.most_input, self.most_output)
        calls = Calls(1, most.tokens, most.usd)
        return Guarantee(routes=False, emits=True, keys=NO_KEYS, passes=False, calls=calls)


class Metered:
    """Answers so."""

    def __init__(self, config: MeteredConfig) -> None:
        self._config = config

    def most(self, request: Request) -> Usage:
        return self._config.taken(self._config.most_input, self._config.most_output)

    async def answer(self, request: Request) -> ModelAnswer:
        config = self._config
        mood = random.Random(f"{config.seed} {request.idempotency_key} {request.index}")
        for _ in range(mood.choice([0, 1, 3, 9])):
            await asyncio.sleep(0)
        if mood.random() < 0.2:
            await asyncio.sleep(mood.random() / 500)
        if mood.random() < 0.03:
            raise ModelError("out of order")
        share = mood.choice([0.2, 0.7, 1.0, 1.0])
        taken = int(config.most_input * share), int(config.most_output * share)
        return ModelAnswer(mood.choice(["yes", "no"]), usage=config.taken(*taken))


def registry() -> Registry:
    """The built-in names and the metered model."""
    known = builtin_registry()
    known.provider("metered", MeteredConfig, lambda config, _: Metered(config))
    return known


KNOWN = registry()


class Builder:
    """Documents of graphs: a loop of workers side by side, most often inside another loop."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self) -> dict[str, Any]:
        workers = [self._worker(f"w{number}") for number in range(self.random.randint(1, 8))]
        names = [worker["id"] for worker in workers]
        plain = [{"id": name, "type": "passthrough"} for name in ("outer", "join", "tail", "end")]
        head = {"id": "head", "type": "literal", "config": {"content": "a\nb\nc"}}
        edges = [{"from": "outer", "to": "head"}]
        edges += [self._to_worker(name) for name in names]
        edges += [{"from": name, "to": "join"} for name in names]
        edges += [{"from": "join", "to": "head"}, {"from": "join", "to": "tail", "label": "limit"}]
        if self._chance(0.7):
            edges.append({"from": "tail", "to": "outer"})
        edges.append({"from": "tail", "to": "end", "label": "limit"})
        loops = {"head": self._contract()}
        if len(edges) == 2 * len(names) + 5:
            loops["outer"] = self._contract()
        limits = {"max_steps": 400, **(self._budget() if self._chance(0.5) else {})}
        body = {"id": "spend", "start": "outer", "end": "end", "loops": loops, "limits": limits}
        body |= {"breaker": "off", "nodes": [*plain, head, *workers], "edges": edges}
        return {"prices": PRICES, "graph": body}

    def _worker(self, name: str) -> dict[str, Any]:
        kind = self.random.choice(["agent"] * 4 + ["vote", "debate"])
        config = self._agent()
        if kind != "agent":
            config = {"agents": {"a": self._agent(), "b": self._agent()}}
        if kind == "debate":
            config |= {"agent_pairs": [["a", "b"], ["b", "a"]], "max_rounds": 2}
        retry = {"max_attempts": self.random.randint(1, 2), "min_wait": 0, "max_wait": 0}
        return {"id": name, "type": kind, "config": config, "on_error": "continue", "retry": retry}

    def _agent(self) -> dict[str, Any]:
        sizes = {
            "most_input": self.random.randint(0, 60),
            "most_output": self.random.randint(0, 60),
        }
        seed = str(self.random.random())
        return {"provider": "metered", "name": "metered", "seed": seed, **sizes}

    def _to_worker(self, name: str) -> dict[str, Any]:
        edge: dict[str, Any] = {"from": "head", "to": name}
        if self._chance(0.25):
            split = {"type": "regex", "config": {"pattern": "[a-z]"}}
            edge["dynamic"] = {"type": "map", "split": split, "config": {"max_parallel": 3}}
        return edge

    def _contract(self) -> dict[str, Any]:
        contract: dict[str, Any] = {"max_rounds": self.random.randint(1, 4)}
        if self._chance(0.7):
            contract["budget"] = self._budget()
        return contract

    def _budget(self) -> dict[str, Any]:
        tokens = self.random.choice([1, 50, 100, 200, 400, 1000])
        return {"tokens": tokens} if self._chance(0.5) else {"usd": tokens / 500}

    def _chance(self, likely: float) -> bool:
        return self.random.random() < likely


def random_graph(seed: int) -> Graph:
    """The graph of a seed."""
    return Graph.from_document(Builder(seed).document(), registry=KNOWN)


@dataclass
class Spent:
    """What a run took."""

    steps: int = 0
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    rounds: dict[str, list[int]] = field(default_factory=dict)
    ends: list[dict[str, Any]] = field(default_factory=list)
    """The entries of loops that their own budget ended."""


async def run(graph: Graph) -> Spent:
    """Run a graph, and add up what it took."""
    spent = Spent()
    async with asyncio.timeout(100), Engine(db=None, registry=KNOWN) as engine:
        session = await engine.start(graph, {"task": "go"})
        await session.settled()
        spent.steps = len(session.steps())
        async for event in session.events():
            data = event.data
            if event.event == "token_usage":
                spent.calls += 1
                spent.tokens += data["input_tokens"] + data["output_tokens"]
                spent.usd += data["usd"]
            elif event.event == "loop:exited":
                spent.rounds.setdefault(data["loop"], []).append(data["rounds"])
                if data["exit_reason"] == "budget_exhausted" and data["threshold"] is not None:
                    spent.ends.append(data)
    return spent
