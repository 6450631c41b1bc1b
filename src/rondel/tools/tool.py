"""A tool as an agent uses it."""

from __future__ import annotations

from typing import Any, Protocol

from rondel.models.model import ToolSpec
from rondel.tools.context import NOWHERE, ToolContext
from rondel.tools.output import Output

COMMANDS = "leave to start programs"
"""The service that says whether an engine lets tools start programs."""


class ToolFailed(Exception):
    """A tool could not do what it was asked; the text is one line for the model and the log."""


class Tool(Protocol):
    """Something that a model may call."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told of it."""
        ...

    async def prepare(self) -> None:
        """Make it ready to be called; this does not count as a call's time."""
        ...

    async def call(self, arguments: dict[str, Any], context: ToolContext = NOWHERE) -> Output:
        """Its answer; any exception is a failure of the tool."""
        ...
