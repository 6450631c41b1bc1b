"""Whether sessions can be read from beginning to end: what a verification adds to checksums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rondel.engine.core.fold import apply
from rondel.engine.core.state import SessionState
from rondel.journal.verify import SessionFindings
from rondel.sessions.engine import Engine


def whole_verdicts(
    engine: Engine, verdicts: Iterable[SessionFindings]
) -> Iterator[SessionFindings]:
    """The verdicts, with what is wrong when a session's history is folded."""
    for verdict in verdicts:
        if not verdict.problems:
            problem = _fold_problem(engine, verdict.id)
            if problem is not None:
                verdict.problems.append(problem)
        yield verdict


def _fold_problem(engine: Engine, id: str) -> str | None:
    try:
        state = SessionState(engine.get(id).plan)
        for batch in engine.store.scan(id):
            for tick in batch:
                apply(state, tick)
    except Exception as error:
        return f"its history does not fold: {type(error).__name__}: {error}"
    return None
