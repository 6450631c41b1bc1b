"""What a graph may start only where somebody has said that it may: code in it, and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rondel.errors import CallError
from rondel.graph.plan import Plan

RUNS_PYTHON = "runs_python"
RUNS_COMMANDS = "runs_commands"
"""The labels of sessions that need leave to go on."""


class Start(msgspec.Struct, frozen=True):
    """Something that a node starts on this machine: its Python code, or a command."""

    node: str
    kind: str
    command: str = ""


def starts_of(plan: Plan) -> Iterator[Start]:
    """All that the nodes of a graph start, as their configs tell, in subgraphs too."""
    for node in plan.nodes:
        config = node.spec.config
        if getattr(config, "runs_python", False):
            yield Start(node.id, "python")
        for command in getattr(config, "commands", ()):
            yield Start(node.id, "command", command)


@dataclass(frozen=True, slots=True)
class Permissions:
    """What whoever runs graphs has allowed them."""

    python: bool = False
    commands: bool = False
    changed_code: bool = True
    """Whether sessions may go on with other functions than they began with."""

    def demand(self, plan: Plan) -> None:
        """Refuse a graph that would start what it may not."""
        for start in starts_of(plan):
            if start.kind == "python" and not self.python:
                raise CallError(
                    f"node {start.node!r} runs Python code, which is off; if you trust the graph, "
                    "allow it: --allow-python, or Engine(allow_python=True)"
                )
            if start.kind == "command" and not self.commands:
                raise CallError(
                    f"node {start.node!r} starts the program {start.command!r}, which is off; if "
                    "you trust the graph, allow it: --allow-commands, or "
                    "Engine(allow_commands=True)"
                )

    @property
    def services(self) -> dict[str, bool]:
        """What nodes may ask for themselves, whatever is known of their configs."""
        from rondel.tools.tool import COMMANDS

        return {COMMANDS: self.commands}

    def cover(self, labels: Mapping[str, Any]) -> bool:
        """Whether a session with these labels may go on."""
        python, commands = labels.get(RUNS_PYTHON), labels.get(RUNS_COMMANDS)
        return (self.python or not python) and (self.commands or not commands)


def needs_of(plan: Plan) -> dict[str, Any]:
    """The labels that say what a session of a graph needs leave for."""
    kinds = {start.kind for start in starts_of(plan)}
    known = {"python": RUNS_PYTHON, "command": RUNS_COMMANDS}
    return {label: True for kind, label in known.items() if kind in kinds}
