"""Whatever the order of appends, forks, deletions and reopenings, stores tell what memory does."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rondel.errors import WrongState
from rondel.journal.memory import MemoryStore
from rondel.journal.postgres.store import PostgresStore
from rondel.journal.sqlite.store import SqliteStore
from rondel.journal.store import Store
from rondel.testing.journal_suite import done, row, tick
from tests import postgres

PICK = st.integers(0, 10**6)


class Stores(RuleBasedStateMachine):
    """One database in two hands, and a memory store that is told the same."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "journal.db"
        self.loop = asyncio.new_event_loop()
        self.hands = [self.open() for _ in range(2)]
        self.model = MemoryStore()
        self.names: list[str] = []
        self.driver: dict[str, int] = {}
        self.made = 0
        self.n = 0

    def open(self) -> Store:
        return SqliteStore(self.path, "off")

    def teardown(self) -> None:
        for hand in self.hands:
            hand.close()
        self.loop.close()
        self.folder.cleanup()

    @rule(hand=st.integers(0, 1))
    def create(self, hand: int) -> None:
        self._create(hand, row(f"s{self.made}", created_at=1.0 + self.made))

    @precondition(lambda self: self.names)
    @rule(hand=st.integers(0, 1), pick=PICK, share=st.floats(0, 1))
    def fork(self, hand: int, pick: int, share: float) -> None:
        parent = self.names[pick % len(self.names)]
        length = len(self.model.read(parent, 0))
        given = {"parent": parent, "parent_length": round(share * length)}
        self._create(hand, row(f"s{self.made}", created_at=1.0 + self.made, **given))

    def _create(self, hand: int, made: Any) -> None:
        self.hands[hand].create(made, f"hand {hand}", 1000)
        self.model.create(made)
        self.made += 1
        self.names.append(made.id)
        self.driver[made.id] = hand

    @precondition(lambda self: self.names)
    @rule(pick=PICK, count=st.integers(1, 70))
    def append_alone(self, pick: int, count: int) -> None:
        name = self.names[pick % len(self.names)]
        for _ in range(count):
            self._append(name)

    @precondition(lambda self: self.names)
    @rule(picks=st.lists(PICK, min_size=1, max_size=12))
    def append_in_one_turn(self, picks: list[int]) -> None:
        async def turn() -> None:
            waits = [self._append(self.names[pick % len(self.names)]) for pick in picks]
            for wait in waits:
                await done(wait)

        self.loop.run_until_complete(turn())

    def _append(self, name: str) -> Any:
        self.n += 1
        self.model.append(name, tick(self.n, name))
        return self.hands[self.driver[name]].append(name, tick(self.n, name))

    @precondition(lambda self: self.names)
    @rule(pick=PICK)
    def hand_over(self, pick: int) -> None:
        name = self.names[pick % len(self.names)]
        old = self.driver[name]
        self.hands[old].release(name, f"hand {old}")
        self.driver[name] = 1 - old
        assert self.hands[1 - old].acquire(name, f"hand {1 - old}", 1000).granted

    @precondition(lambda self: self.names)
    @rule(pick=PICK, hand=st.integers(0, 1))
    def delete(self, pick: int, hand: int) -> None:
        name = self.names[pick % len(self.names)]
        driver = self.driver[name]
        self.hands[driver].release(name, f"hand {driver}")
        with suppress(WrongState):
            self.model.delete(name)
        if self.model.session(name) is None:
            self.hands[hand].delete(name)
            self.names.remove(name)
        else:
            assert self.hands[driver].acquire(name, f"hand {driver}", 1000).granted

    @rule(hand=st.integers(0, 1))
    def reopen(self, hand: int) -> None:
        self.hands[hand].close()
        self.hands[hand] = self.open()
        for name, driver in self.driver.items():
            if driver == hand and name in self.names:
                assert self.hands[hand].acquire(name, f"hand {hand}", 1000).granted

    @invariant()
    def both_hands_tell_what_memory_does(self) -> None:
        for hand in self.hands:
            for name in self.names:
                expected = self.model.read(name, 0)
                assert hand.read(name, 0) == expected
                half = len(expected) // 2
                assert hand.read(name, half, half + 3) == expected[half : half + 3]
            rows = [(found.id, found.length) for found in hand.sessions(limit=1000).rows]
            told = self.model.sessions(limit=1000).rows
            assert rows == [(found.id, found.length) for found in told]


TestStores = Stores.TestCase
TestStores.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)


class PostgresStores(Stores):
    """The same in PostgreSQL."""

    address: ClassVar[str]

    def __init__(self) -> None:
        postgres.empty(self.address)
        super().__init__()

    def open(self) -> Store:
        return PostgresStore(self.address)


@pytest.fixture
def address(database: str) -> None:
    PostgresStores.address = database


@pytest.mark.usefixtures("address")
class TestPostgresStores(PostgresStores.TestCase):
    settings = settings(max_examples=6, stateful_step_count=20, deadline=None)
