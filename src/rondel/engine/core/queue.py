"""What is to be done, in the order in which it became known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rondel.engine.core.effects import Command

FEW: Final = 64
"""How many commands that are gone are not worth clearing away."""


class Queue:
    """First in, first out; mostly it holds one command, which takes no list."""

    __slots__ = ("_first", "_later", "_taken", "length")

    def __init__(self) -> None:
        self._first: Command | None = None
        self._later: list[Command] | None = None
        """What comes after the first, and before it what is gone."""
        self._taken = 0
        """How many of these are gone."""
        self.length = 0

    def put(self, command: Command) -> None:
        """Do this last."""
        if not self.length:
            self._first = command
        elif self._later is None:
            self._later = [command]
        else:
            self._later.append(command)
        self.length += 1

    def put_all(self, commands: Iterable[Command]) -> None:
        """Do these last."""
        for command in commands:
            self.put(command)

    def take(self) -> Command:
        """What is to be done next."""
        command = self._first
        assert command is not None  # noqa: S101
        self.length -= 1
        self._first = self._next() if self.length else None
        return command

    def take_all(self) -> list[Command]:
        """All that is to be done."""
        return [self.take() for _ in range(self.length)]

    def clear(self) -> None:
        """Do none of it."""
        self._first = self._later = None
        self._taken = self.length = 0

    def _next(self) -> Command:
        later = self._later
        assert later is not None  # noqa: S101
        command = later[self._taken]
        self._taken += 1
        if self.length == 1:
            self._later, self._taken = None, 0
        elif self._taken >= FEW and self._taken >= self.length:
            del later[: self._taken]
            self._taken = 0
        return command
