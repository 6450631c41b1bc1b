"""A document on its way to a graph: the place of everything in it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rondel.errors import Problem

Path = tuple[str | int, ...]

SPECIAL = frozenset(".[]\"'")

IS_WRONG, VARIABLE = " is wrong: ", "the variable "
"""How complaints read about a value that somebody must know, and one that is not there."""


def path_text(path: Path) -> str:
    """The path as people read it."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif SPECIAL.isdisjoint(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def has(value: Any, step: str | int) -> bool:
    """Whether a container holds that key or index."""
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)


def value_at(value: Any, path: Path) -> Any:
    """What stands at a path, or None if nothing does."""
    for step in path:
        if not has(value, step):
            return None
        value = value[step]
    return value


def values_in(document: Any) -> Iterator[Any]:
    """Everything in a document, at any depth, itself included; no keys."""
    left = [document]
    while left:
        value = left.pop()
        yield value
        if isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)


@dataclass(frozen=True, slots=True)
class Positions:
    """The line of every key and value of a document, by path."""

    root: Any
    first: int
    lines: dict[int, Any]  # by id of a container: its keys' lines, or its items'
    late: dict[tuple[int, str | int], int]  # scalars that stand below their key

    def line(self, path: Path) -> int:
        """The line of what is at the path, or of the nearest thing around it that exists."""
        return self._find(path, self.late)

    def key_line(self, path: Path) -> int:
        """The line of the key (or the item) at the path."""
        return self._find(path, {})

    def origin(self, path: Path) -> Path:
        """The path in the file of what is at this path of the document."""
        return path

    def _find(self, path: Path, late: dict[tuple[int, str | int], int]) -> int:
        value, line = self.root, self.first
        for step in path:
            if not has(value, step):
                break
            line = late.get((id(value), step)) or self.lines[id(value)][step]
            value = value[step]
        return line


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong with a value, at a path inside it."""

    path: Path
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A document as written (`raw`) and with its variables replaced (`data`).

    `file` is what problems call it, `key` its path from the outermost document's directory.
    """

    raw: Any
    data: Any
    file: str = ""
    key: str = ""
    positions: Positions | None = None

    def shown(self, path: Path) -> Any:
        """What the file has at a path: safe to quote, since secrets are still names there."""
        return value_at(self.raw, path)

    def line(self, path: Path) -> int | None:
        """The line of what is at the path, or of the nearest thing around it."""
        return self.positions.key_line(path) if self.positions else None

    def problem(self, path: Path, message: str, hint: str = "") -> Problem:
        """A problem at a place in this document."""
        if self.positions is None:
            return Problem(message, path_text(path), hint, self.file)
        place = path_text(self.positions.origin(path))
        return Problem(message, place, hint, self.file, self.positions.line(path))

    def told(self, complaint: Complaint) -> Problem:
        """A complaint about a value of this document as a problem."""
        return self.problem(complaint.path, complaint.message, complaint.hint)


@dataclass(slots=True)
class Report:
    """The problems and warnings of everything that is being loaded."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    unknown: set[tuple[str, str]] = field(default_factory=set)

    def add(self, problem: Problem) -> None:
        """Add a problem, unless it is about a value that is not known anyway."""
        if (problem.file, problem.path) not in self.unknown:
            self.problems.append(problem)

    def add_unknown(self, problems: Iterable[Problem]) -> None:
        """Add the problems of values that are not known; any other problem of these is dropped."""
        for problem in problems:
            self.problems.append(problem)
            self.unknown.add((problem.file, problem.path))

    def advise(self, source: Source, path: Path, hint: str) -> None:
        """Say what to do about the problem at a place, if there is one."""
        place = source.problem(path, "", hint)
        for number, problem in enumerate(self.problems):
            if (problem.file, problem.path) == (place.file, place.path):
                self.problems[number] = replace(problem, hint=hint)

    def complain(self, source: Source, path: Path, complaints: Iterable[Complaint]) -> None:
        """Add complaints about the value at a path."""
        for complaint in complaints:
            place = (*path, *complaint.path)
            self.add(source.problem(place, complaint.message, complaint.hint))


def by_place(problems: list[Problem]) -> list[Problem]:
    """File by file as they were met, and by line in each."""
    order = {file: place for place, file in enumerate(dict.fromkeys(p.file for p in problems))}
    return sorted(problems, key=lambda problem: (order[problem.file], problem.line or 0))


def once_each(problems: list[Problem]) -> list[Problem]:
    """The problems, each wrong name or variable only where it stands first, with their number.

    A file of another system names one function in many places; it is missing only once.
    """
    places: dict[str, list[Problem]] = {}
    for number, problem in enumerate(problems):
        about, is_name, what = problem.message.partition(IS_WRONG)
        key = what if is_name else about if about.startswith(VARIABLE) else f"{number}"
        places.setdefault(key, []).append(problem)
    return [_with_count(first, len(others)) for first, *others in places.values()]


def _with_count(problem: Problem, others: int) -> Problem:
    if not others:
        return problem
    where = "another place" if others == 1 else f"{others} other places"
    return replace(problem, message=f"{problem.message} (the same in {where})")
