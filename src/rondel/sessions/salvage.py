"""Copies the sessions of a journal into a new one, without those that are damaged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256

from msgspec.structs import replace

from rondel.engine.core.fold import apply
from rondel.engine.core.state import SessionState
from rondel.errors import JournalError, RondelError, UnknownSession
from rondel.journal.attachments import HELD
from rondel.journal.rules import SessionFindings
from rondel.journal.store import BATCH, MemoryEntry, Promotion, Store
from rondel.sessions.engine import Engine

ALL = 1_000_000
"""A limit above any number of memory entries."""


class Salvage:
    """Copies sessions one by one, parents before their forks, and notes what is lost."""

    def __init__(self, old: Store, new: Store) -> None:
        self._old = old
        self._new = new
        self._kept: set[str] = set()
        self.lost: list[tuple[str, str]] = []
        """The sessions that could not be saved, and why."""

    @property
    def saved(self) -> int:
        """How many sessions were saved."""
        return len(self._kept)

    def session(self, id: str, problems: Sequence[str] = ()) -> None:
        """Copy a session without problems; if its parent is not there, their shared past too."""
        if problems:
            self.lost.append((id, "; ".join(problems)))
            return
        try:
            self._copy(id)
            self._kept.add(id)
        except RondelError as error:
            self.lost.append((id, str(error)))
            with suppress(UnknownSession):
                self._new.delete(id)

    def memory(self) -> None:
        """Copy the working memory of all groups."""
        try:
            for found in self._old.groups():
                steps: dict[tuple[str, str], list[MemoryEntry]] = {}
                for entry in reversed(self._old.recall(found.group, 0.0, ALL)):
                    steps.setdefault((entry.session, entry.address), []).append(entry)
                for where, entries in steps.items():
                    self._new.remember(Promotion(found.group, *where, entries), 0.0, ALL)
        except JournalError as error:
            self.lost.append(("working memory", str(error)))

    def _copy(self, id: str) -> None:
        row = self._old.session(id)
        if row is None:
            raise JournalError("its row is missing")
        if row.parent not in self._kept:
            row = replace(row, parent=None, parent_length=0)
        self._new.create(row)
        for digest in self._old.attachments(id):
            content = self._old.attachment(digest)
            if content is None or sha256(content).hexdigest() != digest:
                raise JournalError(f"its attachment {digest[:12]} is damaged")
            self._new.hold(content, self._new.now() + HELD)
            self._new.refer(id, [digest])
        for start in range(row.parent_length, row.length, BATCH):
            self._new.extend(id, self._old.read(id, start, start + BATCH))
        for letter in self._old.letters(id):
            self._new.post(id, letter.control)


def with_fold_problems(
    engine: Engine, findings: Iterable[SessionFindings]
) -> Iterator[SessionFindings]:
    """The findings, completed by folding every session."""
    for finding in findings:
        if not finding.problems:
            problem = _fold_problem(engine, finding.id)
            if problem is not None:
                finding.problems.append(problem)
        yield finding


def _fold_problem(engine: Engine, id: str) -> str | None:
    try:
        state = SessionState(engine.get(id).plan)
        for batch in engine.store.scan(id):
            for tick in batch:
                apply(state, tick)
    except Exception as error:
        return f"its history does not fold: {type(error).__name__}: {error}"
    return None
