"""How long it takes to compile a chain of many nodes, and to load and check it before."""

from __future__ import annotations

from benchmarks.probe import Figures, answer, best_cpu
from rondel import Graph
from rondel.graph.compile import compile_graph


def chain(nodes: int) -> Graph:
    """Nodes one behind the other."""
    listed = [{"id": f"n{number}", "type": "passthrough"} for number in range(nodes)]
    edges = [{"from": f"n{number}", "to": f"n{number + 1}"} for number in range(nodes - 1)]
    return Graph.from_document({"graph": {"id": "chain", "nodes": listed, "edges": edges}})


def figures(nodes: int) -> Figures:
    """CPU seconds to compile, and for all of it together."""
    graphs: list[Graph] = []
    whole = best_cpu({"load, check and compile": lambda: graphs.append(chain(nodes))}, 1)
    spec = graphs[0].spec
    return whole | best_cpu({"compile": lambda: compile_graph(spec)}, 1)


if __name__ == "__main__":
    answer(figures, 100_000)
