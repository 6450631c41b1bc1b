"""The translation of a foreign document, or into one, with its positions and warnings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rondel.errors import Problem
from rondel.graph.names import Names
from rondel.graph.positions import Parsed
from rondel.graph.source import Path, Positions, path_text


@dataclass(frozen=True, slots=True)
class MovedPositions(Positions):
    """The lines of a foreign file by the paths of its translation."""

    origins: Mapping[Path, Path]

    def line(self, path: Path) -> int:
        """The line of the source of a path."""
        return Positions.line(self, self.origin(path))

    def key_line(self, path: Path) -> int:
        """The line of the source's key."""
        return Positions.key_line(self, self.origin(path))

    def origin(self, path: Path) -> Path:
        """The foreign path of a path of the translation."""
        for length in range(len(path), 0, -1):
            moved = self.origins.get(path[:length])
            if moved is not None:
                return (*moved, *path[length:])
        return path


@dataclass(frozen=True, slots=True)
class Translation(Parsed):
    """A graph document made of a foreign one; `changes` says what is written differently now.

    `warnings` are about what was left out because nothing here corresponds to it.
    """

    changes: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Exported:
    """A document for another system, and warnings of what that one ignores.

    Their places are those of the graph it was made of.
    """

    document: dict[str, Any]
    unseen: tuple[Problem, ...]


class Draft:
    """A translation under construction."""

    def __init__(self, parsed: Parsed, file: str) -> None:
        self.file = file
        self.origins: dict[Path, Path] = {}
        self._positions = parsed.positions
        self._problems: list[Problem] = []
        self._warnings: list[Problem] = []
        self._changes: list[Problem] = []

    def moved(self, native: Path, foreign: Path) -> None:
        """Note the foreign path of a path of the translation."""
        self.origins[native] = foreign

    def line(self, path: Path) -> int:
        """The line of a foreign path."""
        return self._positions.key_line(path)

    def refuse(self, path: Path, message: str, hint: str = "") -> None:
        """Note something for which there is no translation."""
        self._problems.append(self._told(path, message, hint))

    def leave_out(self, path: Path, message: str, hint: str = "") -> None:
        """Note something that is left out, without harm."""
        self._warnings.append(self._told(path, message, hint))

    def change(self, path: Path, message: str) -> None:
        """Note something that is written differently now."""
        self._changes.append(self._told(path, message, ""))

    def kept(
        self,
        mapping: Mapping[str, Any],
        path: Path,
        known: Collection[str],
        useless: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The known keys of a mapping; `useless` says why the others have no counterpart."""
        found = {}
        for key, value in mapping.items():
            if key in known:
                found[key] = value
            elif useless and key in useless:
                self.leave_out((*path, key), f"{key!r} has no counterpart: {useless[key]}")
            else:
                hint = Names(known).hint(key)
                self.leave_out((*path, key), f"the key {key!r} is unknown and ignored", hint)
        return found

    def give_up(self) -> Translation:
        """The failed translation of a document that is no graph."""
        nodes = [{"id": "nothing", "type": "passthrough"}]
        return self.finish({"graph": {"id": "nothing", "nodes": nodes}})

    def finish(self, document: Any) -> Translation:
        """The translation."""
        old = self._positions
        positions = MovedPositions(old.root, old.first, old.lines, old.late, self.origins)
        told = (tuple(self._problems), tuple(self._warnings), tuple(self._changes))
        return Translation(document, positions, *told)

    def _told(self, path: Path, message: str, hint: str) -> Problem:
        return Problem(message, path_text(path), hint, self.file, self._positions.line(path))


def mappings_in(value: Any) -> list[dict[str, Any]]:
    """The mappings of a list; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
