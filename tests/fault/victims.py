"""Graphs to be killed: every node leaves a line in a file each time it really runs."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

from rondel import Emit, Graph, Message
from rondel.models.model import ModelAnswer, Request
from rondel.nodes.asking import Asker
from rondel.nodes.debate import DebateProcessor
from rondel.nodes.vote import VoteProcessor
from rondel.sessions.registry import default_registry

Mark = Callable[[str], None]


def marker(path: str) -> Mark:
    """Appends a line to the file, at once and whole."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    return lambda line: (os.write(handle, f"{line}\n".encode()), None)[1]


def nested_loops(mark: Mark) -> Graph:
    """Two rounds of two rounds, with a history."""
    graph = Graph("nested")

    def work(inp: Any) -> str:
        mark(inp.address)
        return f"{inp.address} saw {len(inp.messages)}"

    for name in ("outer", "inner", "leaf", "gate", "done"):
        graph.node(id=name, context_window=-1 if name == "leaf" else 0)(work)
    graph.edge("outer", "inner")
    graph.edge("inner", "leaf")
    graph.edge("leaf", "inner", when="round < 2")
    graph.edge("leaf", "gate", when="round >= 2")
    graph.edge("gate", "outer", when="round < 2")
    graph.edge("gate", "done", when="round >= 2")
    graph.loop("outer", max_rounds=5)
    graph.loop("inner", max_rounds=5)
    return graph


def fan_out(mark: Mark) -> Graph:
    """Four branches of different speed, joined, twice."""
    graph = Graph("fan")

    async def work(inp: Any) -> str:
        await asyncio.sleep(0.001 * (len(inp.address) % 3))
        mark(inp.address)
        return f"{inp.address}: {inp.text}"

    for name in ("split", "a", "bb", "ccc", "dd", "join", "done"):
        graph.node(id=name)(work)
    for name in ("a", "bb", "ccc", "dd"):
        graph.edge("split", name)
        graph.edge(name, "join")
    graph.edge("join", "split", when="round < 2")
    graph.edge("join", "done", when="round >= 2")
    return graph


def human_wait(mark: Mark) -> Graph:
    """A person is asked in every round, and a counter counts."""
    graph = Graph("human")

    def work(inp: Any) -> str:
        mark(inp.address)
        return f"{inp.address}: {inp.text}"

    graph.node(id="writer")(work)
    graph.add("editor", "human", {"description": "good?"})
    graph.add("guard", "loop_counter", {"max_iterations": 3})
    graph.node(id="done")(work)
    graph.edge("writer", "editor")
    graph.edge("editor", "writer")
    graph.edge("editor", "guard")
    graph.edge("guard", "writer")
    graph.edge("guard", "done")
    return graph


class Talk:
    """Five durable sub-steps."""

    def __init__(self, mark: Mark) -> None:
        self._mark = mark

    async def process(self, ctx: Any) -> Emit:
        said = []
        for turn in range(5):

            async def speak(turn: int = turn) -> str:
                self._mark(f"{ctx.address} turn {turn}")
                return f"turn {turn} of {ctx.round}"

            said.append(await ctx.substep(f"turn {turn}", speak))
        return Emit([Message("; ".join(said))])


def sub_steps(mark: Mark) -> Graph:
    """A node with durable parts, in a loop."""
    graph = Graph("parts")
    graph.add("talk", Talk(mark))

    @graph.node
    def judge(inp: Any) -> str:
        mark(inp.address)
        return inp.text

    @graph.node
    def done(inp: Any) -> str:
        mark(inp.address)
        return inp.text

    graph.edge("talk", "judge")
    graph.edge("judge", "talk", when="round < 2")
    graph.edge("judge", "done", when="round >= 2")
    return graph


class Speaker:
    """A model that leaves a mark for every call it gets, and agrees in the third round."""

    def __init__(self, mark: Mark) -> None:
        self._mark = mark

    async def answer(self, request: Request) -> ModelAnswer:
        part = request.idempotency_key.partition(":")[2]
        self._mark(part)
        await asyncio.sleep(0)
        decision = "yes" if request.index else "no"
        text = "I agree" if request.round == 3 else f"{part} is call {request.index}"
        return ModelAnswer(f"{text} {json.dumps({'decision': decision})}")


def debate(mark: Mark) -> Graph:
    """Three rounds, two agents, consensus in the last; each turn is a durable part."""
    graph = Graph("debate")
    config = default_registry().config_model("node", "debate")(
        agents={"A": {}, "B": {}},
        agent_pairs=[["A", "B"], ["B", "A"]],
        max_rounds=5,
        exit_condition="consensus",
    )
    speakers = {name: Asker(Speaker(mark)) for name in config.agents}
    graph.add("talk", DebateProcessor(config, speakers, "judge"))
    return graph


def vote(mark: Mark) -> Graph:
    """Three voters at once, who all change their minds in the second round."""
    graph = Graph("vote")
    config = default_registry().config_model("node", "vote")(agents={"A": {}, "B": {}, "C": {}})

    @graph.node
    def writer(inp: Any) -> str:
        mark(inp.address)
        return f"draft {inp.round}"

    @graph.node
    def done(inp: Any) -> str:
        mark(inp.address)
        return inp.text

    graph.add("panel", VoteProcessor(config, {name: Asker(Speaker(mark)) for name in "ABC"}))
    graph.edge("writer", "panel")
    graph.edge("panel", "done", label="pass")
    graph.edge("panel", "writer", label="reject")
    return graph


def contract(mark: Mark) -> Graph:
    """A loop that falls back and hands on its best round, then one that is judged."""
    graph = Graph("contract")
    scores = [80, 20, 70]

    def work(inp: Any) -> str:
        mark(inp.address)
        return f"{inp.address} saw {[message.content for message in inp.messages]}"

    def critic(inp: Any) -> Message:
        mark(inp.address)
        return Message(f"review {inp.round}", {"score": scores[inp.round - 1]})

    for name in ("writer", "polish", "done"):
        graph.node(id=name, context_window=-1)(work)
    graph.node(id="critic")(critic)
    graph.edge("writer", "critic")
    graph.edge("critic", "writer")
    graph.edge("critic", "polish", when=False)
    graph.edge("polish", "polish")
    shorter = {"pattern": r"polish\[\d\]", "on_no_match": "drop"}
    graph.edge("polish", "done", when=False, process={"type": "regex_extract", "config": shorter})
    rollback = {"drop": 30, "action": "rollback"}
    carry = {"window": 2}
    graph.loop("writer", max_rounds=3, on_limit="best", regression=rollback, carry=carry)
    graph.loop("polish", until="round >= 2", carry="last")
    return graph


VICTIMS = {
    "nested_loops": nested_loops,
    "fan_out": fan_out,
    "human_wait": human_wait,
    "sub_steps": sub_steps,
    "debate": debate,
    "vote": vote,
    "contract": contract,
}
