"""The names a graph may use: what the loader asks of the layers above it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pydantic import BaseModel


class Vocabulary(Protocol):
    """Names of node types, conditions and processes, and the model of each one's config."""

    def names(self, kind: str) -> Iterable[str]:
        """All names of a kind: `node`, `condition`, `process` or `function`."""
        ...

    def config_model(self, kind: str, name: str) -> type[BaseModel] | None:
        """The model of the config of that `node`, `condition` or `process`, or None if unknown."""
        ...
