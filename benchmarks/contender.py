"""Who takes part, and what has to be installed for it."""

from __future__ import annotations

from dataclasses import dataclass

HOME = ""
"""The environment of Rondel itself."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A module in `contenders/`, and the environment it runs in."""

    name: str
    title: str
    environment: str = HOME
    requirements: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """The workloads it is there for, if not for all."""

    def does(self, workload: str) -> bool:
        """Whether it is there for a workload."""
        return not self.only or workload in self.only

    @property
    def is_peer(self) -> bool:
        """Whether somebody else made it."""
        return self.environment != HOME

    @property
    def is_floor(self) -> bool:
        """Whether it has nothing between the nodes."""
        return self.name.startswith("floor")


FLOOR = Contender("floor", "floor, the bare loop")
FLOOR_FULL = Contender("floor_full", "floor, an fsync each step", only=("W3",))
RONDEL = Contender("rondel", "Rondel")
RONDEL_FULL = Contender("rondel_full", "Rondel, durability full", only=("W3",))

LANGGRAPH = ("langgraph", ("langgraph", "langgraph-checkpoint-sqlite"))

PEERS = (
    Contender("pydantic_graph_1", "pydantic-graph 1", "pydantic_graph_1", ("pydantic-graph<2",)),
    Contender("pydantic_graph_2", "pydantic-graph 2", "pydantic_graph_2", ("pydantic-graph>=2",)),
    Contender("burr", "Burr", "burr", ("apache-burr[tracking-client]",)),
    Contender("langgraph", "LangGraph", *LANGGRAPH),
    Contender("langgraph_async", "LangGraph async", *LANGGRAPH),
    Contender(
        "agent_framework", "MS Agent Framework", "agent_framework", ("agent-framework-core",)
    ),
    Contender("llama_index", "LlamaIndex Workflows", "llama_index", ("llama-index-workflows",)),
)

OURS = (FLOOR, FLOOR_FULL, RONDEL, RONDEL_FULL)
EVERYONE = OURS + PEERS
