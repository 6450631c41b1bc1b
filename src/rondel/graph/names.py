"""Valid names, a suggestion for a wrong one, and the vocabulary that the loader asks."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Protocol

from pydantic import BaseModel

SHOWN = 12
COMPARISONS = 200_000


class Names:
    """A set of valid names that answers a wrong one with a hint."""

    def __init__(self, names: Iterable[str], *, what: str = "valid") -> None:
        self._names = dict.fromkeys(names)
        self._what = what
        self._budget = COMPARISONS
        self._listed = ""

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def hint(self, wrong: str) -> str:
        """The nearest name as a question, or else the names there are."""
        near = self._nearest(wrong)
        return f"did you mean {near!r}?" if near else self.listed()

    def listed(self) -> str:
        """The valid names, in short."""
        if not self._listed:
            first = ", ".join(repr(name) for name in islice(self._names, SHOWN)) or "none"
            more = len(self._names) - SHOWN
            self._listed = f"{self._what}: {first}" + (f" and {more} more" if more > 0 else "")
        return self._listed

    def _nearest(self, wrong: str) -> str | None:
        """The nearest name; gives up once too much has been compared in a very large graph."""
        if self._budget <= 0:
            return None
        self._budget -= len(self._names)
        folded = {name.casefold(): name for name in self._names}
        near = difflib.get_close_matches(wrong.casefold(), folded, 1, 0.6)
        return folded[near[0]] if near else None


class Vocabulary(Protocol):
    """Names of node types, conditions and processes, and the model of each one's config."""

    def names(self, kind: str) -> Iterable[str]:
        """All names of a kind: `node`, `condition`, `process` or `function`."""
        ...

    def config_model(self, kind: str, name: str) -> type[BaseModel] | None:
        """The model of the config of that `node`, `condition` or `process`, or None if unknown."""
        ...
