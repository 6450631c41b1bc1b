"""Which sessions a retention rule forgets."""

from __future__ import annotations

import pytest

from rondel.cli.gc import deletable, parse_age
from rondel.errors import CallError
from rondel.journal.store import SessionRow


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", 2592000), ("2w", 1209600), ("0.5d", 43200), ("12h", 43200), ("90s", 90), ("0s", 0)],
)
def test_ages(text: str, seconds: float) -> None:
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["", "d", "-1d", "1y", "soon", "1e999h"])
def test_what_is_no_age(text: str) -> None:
    with pytest.raises(CallError, match="is no length of time"):
        parse_age(text)


def row(id: str, status: str, ended: float, parent: str | None = None) -> SessionRow:
    return SessionRow(id, "g", {}, status=status, updated_at=ended, parent=parent)


def test_a_session_goes_when_it_and_all_its_forks_may() -> None:
    newest_first = [
        row("grandchild", "completed", 5, "child"),
        row("lives", "waiting", 5, "kept"),
        row("child", "failed", 5, "parent"),
        row("late", "completed", 50),
        row("kept", "completed", 5, "root"),
        row("parent", "cancelled", 5),
        row("root", "bounded", 5),
    ]
    found = [session.id for session in deletable(newest_first, 10)]
    assert found == ["grandchild", "child", "parent"]
