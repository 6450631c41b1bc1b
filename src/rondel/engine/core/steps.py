"""The steps of a session that are under way."""

from __future__ import annotations

from rondel.engine.core.step import Step


class Steps:
    """Steps by number, in the order in which they began; mostly it is one, which takes no dict."""

    __slots__ = ("_lone", "_several")

    def __init__(self) -> None:
        self._lone: Step | None = None
        self._several: dict[int, Step] | None = None

    def __contains__(self, number: int) -> bool:
        if self._several is not None:
            return number in self._several
        return self._lone is not None and self._lone.number == number

    def __getitem__(self, number: int) -> Step:
        if self._several is not None:
            return self._several[number]
        if self._lone is None or self._lone.number != number:
            raise KeyError(number)
        return self._lone

    def all(self) -> list[Step]:
        """All of them."""
        if self._several is not None:
            return list(self._several.values())
        return [] if self._lone is None else [self._lone]

    def add(self, step: Step) -> None:
        """It has begun, after all others."""
        if self._several is not None:
            self._several[step.number] = step
        elif self._lone is None:
            self._lone = step
        else:
            self._several = {self._lone.number: self._lone, step.number: step}
            self._lone = None

    def remove(self, number: int) -> None:
        """It is over."""
        if self._several is not None:
            del self._several[number]
            if not self._several:
                self._several = None
        elif self._lone is not None and self._lone.number == number:
            self._lone = None
        else:
            raise KeyError(number)

    def clear(self) -> None:
        """All are over."""
        self._lone = self._several = None
