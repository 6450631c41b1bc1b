"""Permissions for what a graph starts on this machine: Python code and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rondel.errors import CallError
from rondel.graph.plan import Plan

RUNS_PYTHON = "runs_python"
RUNS_COMMANDS = "runs_commands"
"""The labels of sessions that need permission to go on."""


class Start(msgspec.Struct, frozen=True):
    """Something that a node starts on this machine: its Python code, or a command."""

    node: str
    kind: str
    command: str = ""


def starts_of(plan: Plan) -> Iterator[Start]:
    """Everything that the nodes of a graph start, in subgraphs too."""
    for node in plan.nodes:
        config = node.spec.config
        if getattr(config, "runs_python", False):
            yield Start(node.id, "python")
        for command in getattr(config, "commands", ()):
            yield Start(node.id, "command", command)


@dataclass(frozen=True, slots=True)
class Permissions:
    """What graphs are allowed to start."""

    python: bool = False
    commands: bool = False
    changed_code: bool = True
    """Whether sessions may go on with other functions than they began with."""

    def demand(self, plan: Plan) -> None:
        """Raise if a graph would start something that is not allowed."""
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
        """The permissions as services, which nodes ask when they run."""
        from rondel.tools.server import COMMANDS

        return {COMMANDS: self.commands}

    def cover(self, labels: Mapping[str, Any]) -> bool:
        """Whether a session with these labels may go on."""
        python, commands = labels.get(RUNS_PYTHON), labels.get(RUNS_COMMANDS)
        return (self.python or not python) and (self.commands or not commands)


def needs_of(plan: Plan) -> dict[str, Any]:
    """The labels that say which permissions a session of a graph needs."""
    kinds = {start.kind for start in starts_of(plan)}
    known = {"python": RUNS_PYTHON, "command": RUNS_COMMANDS}
    return {label: True for kind, label in known.items() if kind in kinds}
