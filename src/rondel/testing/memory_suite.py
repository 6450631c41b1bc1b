"""What every store must do with working memory, as tests; a part of `JournalSuite`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rondel.journal.store import Group, MemoryEntry, Promotion, SessionRow, Store

SIZE = 50

ALIKE = [
    *("a", "A", " a", "a ", "a\t", "\uff41", "\u00e1", "a\u0301", "a\0", "a\0b", "%", "_", "a%"),
    *("'", '"', "1", "01", "1.0", "own", "s", "", "组", "🜁", "x" * 100_000, "x" * 99_999),
]
"""Names of groups that a careless store would confuse."""


def promotion(group: Group | str, *contents: Any, **fields: Any) -> Promotion:
    """What one step of session `s` promotes, one entry for each content."""
    given = {"session": "s", "address": "Writer", "node_id": "Writer", "data": {}, **fields}
    whose = Group(group) if isinstance(group, str) else group
    entries = [
        MemoryEntry(group=whose, number=number, content=content, **given)
        for number, content in enumerate(contents)
    ]
    return Promotion(whose, given["session"], given["address"], entries)


def told(entries: Sequence[MemoryEntry]) -> list[Any]:
    """What entries say."""
    return [entry.content for entry in entries]


class MemorySuite:
    """Entries by group: the newest, for a while, each once."""

    def test_an_entry_comes_back_as_it_was_promoted(self, store: Store) -> None:
        fields = {"node_id": "S/Writer", "data": {"n": 2**70, "t": "诗"}, "confidence": 0.875}
        made = promotion("g", [{"text": "写"}], created_at=12.5, **fields)
        (kept,) = store.remember(made, 0.0, SIZE)
        assert store.recall(Group("g"), 0.0, SIZE) == [kept]
        assert kept.id > 0
        assert (kept.group, kept.session, kept.address, kept.number) == (
            Group("g"),
            "s",
            "Writer",
            0,
        )
        assert (kept.content, kept.data) == ([{"text": "写"}], fields["data"])
        assert (kept.node_id, kept.confidence, kept.created_at) == ("S/Writer", 0.875, 12.5)

    def test_promoted_without_a_time_it_is_from_now(self, store: Store) -> None:
        (kept,) = store.remember(promotion("g", "x"), 0.0, SIZE)
        assert kept.created_at > 1_700_000_000
        assert kept.confidence is None

    def test_the_newest_come_first_and_only_so_many_stay(self, store: Store) -> None:
        for n in range(8):
            store.remember(promotion("g", f"{n}", address=f"W[{n}]"), 0.0, 5)
        assert told(store.recall(Group("g"), 0.0, 99)) == ["7", "6", "5", "4", "3"]
        assert told(store.recall(Group("g"), 0.0, 2)) == ["7", "6"]

    def test_of_a_step_that_says_more_than_fits_the_last_stay(self, store: Store) -> None:
        assert told(store.remember(promotion("g", "a", "b", "c"), 0.0, 2)) == ["b", "c"]

    def test_old_entries_are_not_seen_and_go_with_the_next_promotion(self, store: Store) -> None:
        store.remember(promotion("g", "old", address="A", created_at=100.0), 0.0, SIZE)
        store.remember(promotion("g", "new", address="B", created_at=200.0), 0.0, SIZE)
        assert told(store.recall(Group("g"), 150.0, SIZE)) == ["new"]
        assert told(store.recall(Group("g"), 0.0, SIZE)) == ["new", "old"]
        store.remember(promotion("g", "newest", address="C", created_at=300.0), 150.0, SIZE)
        assert told(store.recall(Group("g"), 0.0, SIZE)) == ["newest", "new"]

    def test_less_sure_entries_can_be_left_out(self, store: Store) -> None:
        for sure in (0.5, 0.9, None):
            made = promotion("g", f"{sure}", address=f"{sure}", confidence=sure)
            store.remember(made, 0.0, SIZE)
        assert told(store.recall(Group("g"), 0.0, SIZE, 0.8)) == ["None", "0.9"]

    def test_a_step_promoted_again_has_its_entries_once(self, store: Store) -> None:
        (first,) = store.remember(promotion("g", "x", created_at=100.0), 0.0, SIZE)
        store.remember(promotion("g", "between", address="B", created_at=101.0), 0.0, SIZE)
        (again,) = store.remember(promotion("g", "y", created_at=102.0), 0.0, SIZE)
        assert (again.id, again.created_at, again.content) == (first.id, 100.0, "y")
        assert told(store.recall(Group("g"), 0.0, SIZE)) == ["between", "y"]

    def test_a_step_promoted_again_with_less_has_less(self, store: Store) -> None:
        store.remember(promotion("g", "a", "b"), 0.0, SIZE)
        store.remember(promotion("g", "a"), 0.0, SIZE)
        assert told(store.recall(Group("g"), 0.0, SIZE)) == ["a"]
        store.remember(promotion("g"), 0.0, SIZE)
        assert store.groups() == []

    def test_what_is_too_old_is_new_when_it_is_promoted_again(self, store: Store) -> None:
        store.remember(promotion("g", "x", created_at=100.0), 0.0, SIZE)
        (again,) = store.remember(promotion("g", "x", created_at=300.0), 200.0, SIZE)
        assert again.created_at == 300.0

    def test_groups_that_look_alike_are_apart(self, store: Store) -> None:
        for own in (False, True):
            for name in ALIKE:
                store.remember(promotion(Group(name, own), [name, own]), 0.0, SIZE)
        for own in (False, True):
            for name in ALIKE:
                assert told(store.recall(Group(name, own), 0.0, SIZE)) == [[name, own]]
        assert len(store.groups()) == 2 * len(ALIKE)
        for own in (False, True):
            for name in ALIKE:
                assert store.forget(Group(name, own)) == 1
        assert store.groups() == []

    def test_groups_are_listed_newest_first_with_how_much_they_hold(self, store: Store) -> None:
        store.remember(promotion("a", "x", "y", created_at=1.0), 0.0, SIZE)
        store.remember(promotion(Group("a", own=True), "z", created_at=2.0), 0.0, SIZE)
        found = [(known.group, known.entries, known.newest) for known in store.groups()]
        assert found == [(Group("a", own=True), 1, 2.0), (Group("a"), 2, 1.0)]

    def test_a_group_can_be_forgotten(self, store: Store) -> None:
        store.remember(promotion("a", "x", "y"), 0.0, SIZE)
        store.remember(promotion("b", "z"), 0.0, SIZE)
        assert store.forget(Group("a")) == 2
        assert store.forget(Group("a")) == 0
        assert store.recall(Group("a"), 0.0, SIZE) == []
        assert told(store.recall(Group("b"), 0.0, SIZE)) == ["z"]

    def test_a_deleted_session_takes_its_own_group_along_and_no_other(self, store: Store) -> None:
        store.create(SessionRow("s", "review", {"graph": {"id": "review"}}))
        for group in (Group("s", own=True), Group("s"), Group("t", own=True)):
            store.remember(promotion(group, "x"), 0.0, SIZE)
        store.delete("s")
        assert {known.group for known in store.groups()} == {Group("s"), Group("t", own=True)}

    def test_many_threads_promote_at_once(self, store: Store) -> None:
        def work(n: int) -> None:
            store.remember(promotion(f"g{n % 3}", n, address=f"W[{n}]"), 0.0, SIZE)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(120)))
        for group in range(3):
            found = told(store.recall(Group(f"g{group}"), 0.0, SIZE))
            assert sorted(found) == list(range(group, 120, 3))

    @pytest.mark.parametrize("limit", [0, 1])
    def test_an_unknown_group_is_empty(self, store: Store, limit: int) -> None:
        assert store.recall(Group("nobody"), 0.0, limit) == []
        assert store.forget(Group("nobody")) == 0
