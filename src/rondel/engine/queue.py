"""What is to be done, in the order in which it became known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rondel.engine.effects import Command

FEW: Final = 64
"""How many commands that are gone are not worth clearing away."""


class Queue:
    """First in, first out; a deque that compiled code can look into."""

    __slots__ = ("_commands", "_taken", "length")

    def __init__(self, commands: list[Command]) -> None:
        self._commands = commands
        self._taken = 0
        """How many of them are gone."""
        self.length = len(commands)

    def put(self, command: Command) -> None:
        """Do this last."""
        self._commands.append(command)
        self.length += 1

    def put_all(self, commands: Iterable[Command]) -> None:
        """Do these last."""
        for command in commands:
            self.put(command)

    def take(self) -> Command:
        """What is to be done next."""
        commands = self._commands
        self.length -= 1
        if not self.length:
            command = commands.pop()
            commands.clear()
            self._taken = 0
            return command
        command = commands[self._taken]
        self._taken += 1
        if self._taken >= FEW and self._taken >= self.length:
            del commands[: self._taken]
            self._taken = 0
        return command
