"""How many sessions of one group a worker drives at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Shares:
    """The places of groups in a worker; sessions without a group are not limited."""

    def __init__(self, per_group: int | None = None) -> None:
        self._per_group = per_group
        self._taken: Counter[str] = Counter()

    @property
    def full(self) -> list[str]:
        """The groups without a free place."""
        most = self._per_group
        if most is None:
            return []
        return [group for group, taken in self._taken.items() if group and taken >= most]

    @contextmanager
    def place(self, group: str) -> Iterator[None]:
        """Take a place of the group inside this context."""
        self._taken[group] += 1
        try:
            yield
        finally:
            self._taken[group] -= 1
            if not self._taken[group]:
                del self._taken[group]
