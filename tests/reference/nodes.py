"""What each node type does with its inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.reference.document import Edge, Node
from tests.reference.messages import Message
from tests.reference.scores import score_among


@dataclass
class Verdict:
    """What a `loop` node decided."""

    should_exit: bool
    reason: str
    has_goal: bool
    goal_met: bool
    value: float | None = None
    threshold: float | None = None
    """What the reason compares with what."""
    score: float | None = None
    """The score it read."""
    target: float | None = None
    """The score it waits for."""


@dataclass
class Memory:
    """The private state of one node, which lives for the whole session."""

    executions: int = 0
    count: int = 0


@dataclass
class Outcome:
    """What one execution gave: messages, and for a `loop` node its verdict."""

    messages: list[Message] = field(default_factory=list)
    verdict: Verdict | None = None
    tokens: int = 0


def execute(node: Node, inputs: list[Message], memory: Memory, round: int) -> Outcome:
    """Run any node that needs neither a human nor an inner graph."""
    memory.executions += 1
    match node.type:
        case "passthrough":
            return Outcome(_pass_through(node, inputs))
        case "literal":
            role = node.config.get("role", "user")
            return Outcome([Message(node.config["content"], node.id, role)])
        case "loop_counter":
            return Outcome(_count(node, memory))
        case "loop":
            return _decide(node, inputs, round)
        case "script":
            return _recite(node, memory)
    raise ValueError(f"the reference knows no node type {node.type!r}")


def outputs_recalled(node: Node) -> int | None:
    """How many of its own outputs a node recalls; a script by its length, None is all."""
    if node.type != "script":
        return 0
    return (None, 1, 2)[len(node.config["outputs"]) % 3]


def edges_chosen(verdict: Verdict | None, edges: list[Edge]) -> list[Edge]:
    """The edges that a node's output may take: all, unless it is a `loop` node that routes."""
    if verdict is None or len(edges) < 2:
        return edges
    label, otherwise = ("exit", edges[1]) if verdict.should_exit else ("continue", edges[0])
    return [next((edge for edge in edges if edge.label == label), otherwise)]


def _pass_through(node: Node, inputs: list[Message]) -> list[Message]:
    if not inputs:
        return [Message("", node.id)]
    passed = inputs[-1:] if node.config.get("only_last_message", True) else inputs
    return [replace(message, source=node.id) for message in passed]


def _count(node: Node, memory: Memory) -> list[Message]:
    limit = node.config.get("max_iterations", 10)
    reset = node.config.get("reset_on_emit", True)
    memory.count += 1
    if memory.count < limit:
        return []
    report = {"count": memory.count, "max": limit, "reset_on_emit": reset}
    if reset:
        memory.count = 0
    text = node.config.get("message") or f"Loop limit reached ({limit})"
    return [Message(text, node.id, data={"loop_counter": report})]


def _recite(node: Node, memory: Memory) -> Outcome:
    """The k-th list of the script at the k-th execution; the last one is repeated."""
    script = node.config["outputs"]
    lines = script[: memory.executions][-1]
    tokens = sum(line.get("tokens", 0) for line in lines if isinstance(line, dict))
    return Outcome([_script_message(node, line) for line in lines], tokens=tokens)


def _script_message(node: Node, line: str | dict[str, Any]) -> Message:
    if isinstance(line, str):
        return Message(line, node.id)
    return Message(line.get("content", ""), node.id, data=line.get("data") or {})


def _decide(node: Node, inputs: list[Message], round: int) -> Outcome:
    data: dict[str, Any] = {}
    for message in inputs:
        data |= message.data
    current = int(data.get("iteration", round)) or 1
    verdict = _verdict(node.config, current, score_among(data, inputs))
    last = inputs[-1] if inputs else Message("", node.id)
    report = {key: data[key] for key in node.config.get("passthrough_keys", []) if key in data}
    report |= {
        "should_exit": verdict.should_exit,
        "exit_reason": verdict.reason,
        "current_round": current,
        "goal_met": verdict.goal_met,
    }
    return Outcome([Message(last.content, node.id, last.role, report)], verdict)


def _verdict(config: dict[str, Any], current: int, score: float | None) -> Verdict:
    goal = config.get("exit_on_score", 0)
    goal_met = goal > 0 and score is not None and score >= goal
    target, most = goal if goal > 0 else None, config.get("max_rounds", 3)
    reason, value, threshold = "", None, None
    if current >= most:
        reason, value, threshold = "max_rounds_reached", current, most
    elif goal_met:
        reason, value, threshold = "score_threshold_reached", score, target
    return Verdict(bool(reason), reason, goal > 0, goal_met, value, threshold, score, target)
