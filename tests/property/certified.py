"""Random cyclic graphs with everything that may steer, stop or cost something, and their runs."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from rondel import Context, Emit, Engine, Graph, GraphError, Message, Nothing, Outcome, Registry
from rondel.engine.protocols import Exit, Usage
from rondel.errors import StepFailed
from rondel.graph.guarantees import Calls, Guarantee
from rondel.sessions.records import StepRecord
from rondel.sessions.registry import builtin_registry

WORDS = ["ok", "again", "OK again", "okay", "", "stop", "again stop"]
CONDITIONS: list[Any] = [
    *[True] * 12,
    {"type": "keyword", "config": {"any": ["ok"]}},
    {"type": "keyword", "config": {"none": ["ok"]}},
    {"type": "keyword", "config": {"none": ["OK"], "case_sensitive": False}},
    {"type": "keyword", "config": {"any": ["again"], "none": ["stop"]}},
    {"type": "keyword", "config": {"any": ["okay", "again"]}},
    {"type": "expr", "config": {"expr": "round < 3"}},
    {"type": "expr", "config": {"expr": 'text.contains("again")'}},
    False,
]
TOKENS = 7
"""What every model call takes in these graphs."""


class VoiceConfig(BaseModel):
    """A node that says random words, of its own or its input's, and may choose, fail and call."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: str
    chooses: bool = False
    fails: bool = False
    quiet: bool = False
    told: bool = False
    calls: int = 0

    def guarantee(self) -> Guarantee:
        return Guarantee(
            routes=self.chooses,
            emits=not self.quiet,
            keys=frozenset({"iteration", "score"}) if self.told else frozenset({"score"}),
            passes=False,
            free_text=False,
            calls=Calls(self.calls, TOKENS, 0.5),
        )


class Voice:
    """Says what its seed and the number of its execution make it say."""

    def __init__(self, config: VoiceConfig) -> None:
        self._config = config

    async def process(self, ctx: Context) -> Outcome:
        config, count = self._config, (ctx.state or 0) + 1
        mood = random.Random(f"{config.seed} {count} {ctx.attempt}")
        for _ in range(config.calls if mood.random() < 0.8 else mood.randint(0, config.calls)):
            await ctx.reserve(lambda: Usage("voice", TOKENS, 0, 0.5))
            ctx.charge(Usage("voice", TOKENS, 0, 0.5))
        if config.fails and mood.random() < 0.4:
            raise StepFailed("a bad mood")
        if config.quiet and mood.random() < 0.2:
            return Nothing(count)
        data: dict[str, Any] = {"score": mood.randint(0, 100)}
        if config.told:
            data["iteration"] = mood.choice([0, 1, 2, "x"])
        return Emit([Message(mood.choice(WORDS), data)], count)


class ChoosingVoice(Voice):
    """The same, and takes any of its edges."""

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        mood = random.Random(f"{self._config.seed} {output.state}")
        likely = mood.choice([0.5, 0.8, 1.0])
        return [edge for edge in edges if mood.random() < likely]


def registry() -> Registry:
    """The built-in names and the voice."""
    known = builtin_registry()
    known.node("voice", VoiceConfig, lambda c, _: ChoosingVoice(c) if c.chooses else Voice(c))
    return known


KNOWN = registry()


class Builder:
    """Documents of random graphs; everything in one follows from its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self) -> dict[str, Any]:
        """A graph of a few nodes, most of them in loops."""
        body = self._graph("whole", depth=0)
        limits: dict[str, Any] = {"max_steps": self.random.choice([160, 160, 160, 30])}
        if self._chance(0.1):
            limits["tokens"] = self.random.choice([20, 100, 300])
        return {"version": 1, "graph": {**body, "limits": limits, "breaker": "off"}}

    def _graph(self, name: str, depth: int) -> dict[str, Any]:
        size = self.random.randint(1, 6 if depth == 0 else 3)
        ids = [f"n{number}" for number in range(size)]
        nodes = [self._node(node, depth) for node in ids]
        nodes.append({"id": "end", "type": "passthrough"})
        edges = [self._edge(*pair) for pair in zip(ids, [*ids[1:], "end"], strict=True)]
        for _ in range(self.random.randint(1, 3)):
            first, second = sorted(self.random.choices(range(size), k=2))
            self._way_back(ids[second], ids[first], nodes, edges)
        for _ in range(self.random.choice([0, 0, 0, 1, 2])):
            edges.append(self._edge(*self.random.choices(ids, k=2)))
        edges += self._beside(edges)
        known = {(edge["from"], edge["to"]): edge for edge in edges}
        heads = [node["id"] for node in nodes]
        body: dict[str, Any] = {"id": name, "start": "n0", "end": "end", "nodes": nodes}
        return {**body, "edges": list(known.values()), "loops": self._contracts(heads)}

    def _way_back(
        self, last: str, first: str, nodes: list[dict[str, Any]], edges: list[dict[str, Any]]
    ) -> None:
        """An edge back, and perhaps a node on it or beside it that is to end the loop."""
        kind = self.random.choice(["", "loop_counter", "loop_counter", "loop", "loop", "human"])
        condition = self.random.choice(CONDITIONS)
        if not kind:
            edges.append({"from": last, "to": first, "condition": condition})
            return
        guard, out = f"g{len(nodes)}", self.random.choice(["end", "end", nodes[-1]["id"]])
        node = {"id": guard, "type": kind, "config": self._config(kind, 9)}
        nodes.append(self._decorated(node))
        same = condition if self._chance(0.85) else self.random.choice(CONDITIONS)
        edges.append({"from": last, "to": guard, "condition": same})
        going: dict[str, Any] = {}
        if kind == "loop_counter":
            edges.append({"from": last, "to": first, "condition": condition})
        elif kind == "loop":
            going = {"label": self.random.choice(["continue", "", "continue"])}
        else:
            going = {"condition": {"type": "expr", "config": {"expr": 'data.action == "revise"'}}}
        edges.append({"from": guard, "to": first, **going})
        leaving: dict[str, Any] = {"label": "exit"} if kind == "loop" else {}
        if self._chance(0.15):
            leaving = {"condition": self.random.choice(CONDITIONS), **leaving}
        if self._chance(0.1):
            leaving = {"label": "limit"}
        edges.append({"from": guard, "to": out, **leaving})

    def _beside(self, edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """An edge to another node under the condition of one there is, as guards have them."""
        more = []
        for edge in self.random.sample(edges, min(2, len(edges))):
            target = self.random.choice(edges)["to"]
            if target != edge["to"] and self._chance(0.7):
                more.append(
                    {"from": edge["from"], "to": target, "condition": edge.get("condition", True)}
                )
        known = [(edge["from"], edge["to"]) for edge in edges]
        return [edge for edge in more if (edge["from"], edge["to"]) not in known]

    def _edge(self, source: str, target: str) -> dict[str, Any]:
        edge: dict[str, Any] = {"from": source, "to": target}
        edge["condition"] = self.random.choice(CONDITIONS)
        if self._chance(0.15):
            edge["label"] = self.random.choice(["continue", "exit", "limit", "goal", "limit"])
        if self._chance(0.06):
            edge["trigger"] = False
        if self._chance(0.06):
            config = {"pattern": "again", "on_no_match": self.random.choice(["drop", "pass"])}
            edge["process"] = {"type": "regex_extract", "config": config}
        return edge

    def _node(self, name: str, depth: int) -> dict[str, Any]:
        kinds = ["voice"] * 12 + ["passthrough", "passthrough", "loop_counter", "loop", "human"]
        kind = self.random.choice([*kinds, *(["subgraph"] * 2 if depth < 2 else [])])
        return self._decorated({"id": name, "type": kind, "config": self._config(kind, depth)})

    def _decorated(self, node: dict[str, Any]) -> dict[str, Any]:
        if self._chance(0.04):
            node["join"] = "all"
        if node["type"] == "voice" and self._chance(0.15):
            waits = {"min_wait": 0, "max_wait": 0}
            node["retry"] = {"max_attempts": self.random.randint(2, 3), **waits}
        if node["type"] != "subgraph" and self._chance(0.15):
            node["on_error"] = "continue"
        if self._chance(0.15):
            node["context_window"] = self.random.choice([-1, 2])
        return node

    def _config(self, kind: str, depth: int) -> dict[str, Any]:
        rounds = self.random.randint(1, 5)
        if kind == "loop_counter":
            return {"max_iterations": rounds, "reset_on_emit": self._chance(0.7)}
        if kind == "loop":
            return {"max_rounds": rounds, "exit_on_score": self.random.choice([0, 0, 97])}
        if kind == "human":
            return {"actions": ["approve", "revise"], "max_revisions": rounds}
        if kind == "subgraph":
            return {"graph": self._graph("inner", depth + 1)}
        if kind == "passthrough":
            return {}
        return {
            "seed": str(self.random.random()),
            "chooses": self._chance(0.3),
            "fails": self._chance(0.06),
            "quiet": self._chance(0.08),
            "told": self._chance(0.15),
            "calls": self.random.choice([0, 1, 1, 2]),
        }

    def _contracts(self, ids: list[str]) -> dict[str, Any]:
        heads = [node for node in ids if self._chance(0.35)]
        return {head: self._contract() for head in heads}

    def _contract(self) -> dict[str, Any]:
        contract: dict[str, Any] = {"max_rounds": self.random.randint(1, 6)}
        if self._chance(0.25):
            contract["exit"] = "now"
        if self._chance(0.2):
            contract["exit_on_score"] = 95
        if self._chance(0.2):
            action = self.random.choice(["rollback", "rollback", "exit", "warn"])
            contract["regression"] = {"drop": 10, "action": action}
        if self._chance(0.15):
            contract["patience"] = {"rounds": 2}
        if self._chance(0.15):
            contract["budget"] = {"tokens": self.random.choice([10, 40])}
        if self._chance(0.3):
            contract["on_limit"] = self.random.choice(["best", "fail", "human"])
        return contract

    def _chance(self, likely: float) -> bool:
        return self.random.random() < likely


def random_graph(seed: int) -> Graph | None:
    """The graph of a seed; contracts that do not fit it are taken away one by one."""
    document = Builder(seed).document()
    for _ in range(12):
        try:
            return Graph.from_document(document, registry=KNOWN)
        except GraphError as error:
            if not _drop_a_contract(document["graph"], error):
                return None
    return None


def _drop_a_contract(body: dict[str, Any], error: GraphError) -> bool:
    """Remove the contracts that the errors name; False if there is something else."""
    dropped = False
    for problem in error.problems:
        head = problem.path.rpartition(".")[2]
        for graph in _graphs(body):
            if ".loops." in problem.path and graph["loops"].pop(head, None) is not None:
                dropped = True
    return dropped


def _graphs(body: dict[str, Any]) -> list[dict[str, Any]]:
    found = [body]
    for graph in found:
        inner = (node["config"].get("graph") for node in graph["nodes"] if "config" in node)
        found.extend(graph for graph in inner if graph is not None)
    return found


@dataclass(frozen=True)
class Ran:
    """What a run took."""

    ended: str
    steps: list[StepRecord]
    rounds: dict[str, list[int]]
    """By head: the rounds of each entry that came to an end."""
    calls: int
    tokens: int


async def run(graph: Graph, seed: int = 0) -> Ran:
    """Run a graph; people answer as the seed says, and never let a loop go on."""
    mood = random.Random(f"answers {seed}")
    async with asyncio.timeout(100), Engine(db=None, registry=KNOWN) as engine:
        session = await engine.start(graph, {"task": "ok", "iteration": 0})
        result = await session.settled()
        while result.status == "waiting":
            question = mood.choice(["revise", "revise", "approve", "best"])
            await session.answer(question)
            result = await session.settled()
        rounds: dict[str, list[int]] = {}
        calls = Counter[str]()
        async for event in session.events():
            if event.event == "loop:exited":
                rounds.setdefault(event.data["loop"], []).append(event.data["rounds"])
            elif event.event == "token_usage":
                calls["calls"] += 1
                calls["tokens"] += event.data["input_tokens"] + event.data["output_tokens"]
        return Ran(
            result.reason or result.status, session.steps(), rounds, calls["calls"], calls["tokens"]
        )
