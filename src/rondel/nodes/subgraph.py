"""The node type `subgraph`: a graph inside a node.

It has no processor: the engine runs the inner graph's steps as the session's own.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rondel.engine.registry import Registry
from rondel.errors import CallError


class FileReference(BaseModel):
    """A graph file, relative to the file that names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1)


class SubgraphConfig(BaseModel):
    """The inner graph: inline under `graph`, or the path of a `file`.

    `type: config | file` with `config` is the same as other systems write it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    other_names: ClassVar[Collection[str]] = ("graph", "workflow", "flow")

    graph: dict[str, Any] | None = Field(None, description="The inner graph's body.")
    file: str | None = Field(None, min_length=1, description="The path of a graph file.")
    type: Literal["config", "file"] | None = Field(None, description="How `config` is meant.")
    config: dict[str, Any] | None = Field(None, description="A graph's body, or {path: FILE}.")

    @model_validator(mode="after")
    def _one_graph(self) -> Self:
        given = [name for name in ("graph", "file", "config") if getattr(self, name) is not None]
        if len(given) != 1 or (self.type is None) == (self.config is not None):
            raise ValueError("needs exactly one inner graph: `graph` or `file`")
        if self.type == "file":
            FileReference.model_validate(self.config)
        return self

    def inner_graph(self) -> tuple[Any, ...]:
        """Where the inner graph is, for the loader."""
        if self.graph is not None:
            return "inline", self.graph, ("graph",)
        if self.type == "config":
            return "inline", self.config, ("config",)
        path = (
            self.file if self.file is not None else FileReference.model_validate(self.config).path
        )
        return "file", path


def _build(_config: SubgraphConfig, _registry: Registry) -> Any:
    raise CallError("a subgraph needs its inner graph; load it with Graph.load or Graph.loads")


def register(registry: Registry) -> None:
    """Add `subgraph`."""
    registry.node("subgraph", SubgraphConfig, _build)
