"""Random graphs without any plan: edges from anywhere to anywhere, in both dialects.

What the builders of the other generators would never draw (nodes that nothing triggers, loops
held together by data alone, diamonds with a dead side) is common here.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.reference.generator import Case

MAX_STEPS = 60
WORDS = ["red", "blue", "again", "done"]


def wild_case(seed: int, *, compat: bool) -> Case:
    """The case of a seed."""
    dice = random.Random(seed)
    names = "ABCDEFG"[: dice.randint(3, 7)]
    body: dict[str, Any] = {
        "id": "wild",
        "start": ["A"],
        "end": dice.sample(names, dice.randint(1, 2)),
        "limits": {"max_steps": MAX_STEPS},
        "breaker": "off",
        "nodes": [_node(dice, name) for name in names],
        "edges": [_edge(dice, names) for _ in range(dice.randint(len(names), 2 * len(names) + 2))],
    }
    case = Case({"version": 1, "graph": body}, dice.choice(WORDS), [])
    return in_compat(case) if compat else case


def in_compat(case: Case) -> Case:
    """The case by the rules of ChatDev."""
    document = copy.deepcopy(case.document)
    _speak_chatdev(document["graph"])
    return Case(document, case.task, case.answers, case.decisions)


def _speak_chatdev(body: dict[str, Any]) -> None:
    body["dialect"] = "chatdev"
    for node in body["nodes"]:
        if node["type"] == "subgraph":
            _speak_chatdev(node["config"].get("graph") or node["config"]["config"])


def _node(dice: random.Random, name: str) -> dict[str, Any]:
    node: dict[str, Any] = {"id": name, "type": "passthrough", "config": {}}
    kind = dice.random()
    if kind < 0.5:
        outputs = [_output(dice) for _ in range(dice.randint(1, 4))]
        node |= {"type": "script", "config": {"outputs": outputs}}
    elif kind < 0.6:
        config = {"max_iterations": dice.randint(1, 3), "reset_on_emit": dice.random() < 0.5}
        node |= {"type": "loop_counter", "config": config}
    elif kind < 0.65:
        node |= {"type": "subgraph", "config": {"type": "config", "config": _inside(dice)}}
    if dice.random() < 0.15:
        node["join"] = "all"
    if dice.random() < 0.25 and node["type"] != "subgraph":
        node["context_window"] = dice.choice([-1, 1, 2])
    return node


def _inside(dice: random.Random) -> dict[str, Any]:
    return {
        "id": "inside",
        "start": ["p"],
        "end": ["q"],
        "nodes": [
            {"id": "p", "type": "loop_counter", "config": {"max_iterations": dice.randint(1, 2)}},
            {"id": "q", "type": "passthrough", "config": {}},
        ],
        "edges": [{"from": "p", "to": "q"}],
    }


def _output(dice: random.Random) -> list[str]:
    if dice.random() < 0.1:
        return []
    return [dice.choice(WORDS) for _ in range(1 if dice.random() < 0.85 else 2)]


def _edge(dice: random.Random, names: str) -> dict[str, Any]:
    edge: dict[str, Any] = {"from": dice.choice(names), "to": dice.choice(names)}
    if dice.random() < 0.25:
        edge["trigger"] = False
    if dice.random() < 0.5:
        words = dice.sample(WORDS, 2)
        edge["condition"] = dice.choice(
            [False, {"type": "keyword", "config": {dice.choice(["any", "none"]): words}}]
        )
    if dice.random() < 0.1:
        edge[dice.choice(["keep_message", "clear_context"])] = True
    if dice.random() < 0.1:
        edge["carry_data"] = False
    return edge
