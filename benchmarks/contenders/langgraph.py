"""LangGraph, synchronous: a `StateGraph` with a typed dict as state, `graph.invoke`.

The loop is closed by a conditional edge; the history is a list with an adding reducer. W3 is its
`SqliteSaver` as it comes. W4 has 32 edges out of one node and one edge that waits for all 32. W5 is
in the asynchronous one. W6 is `graph.stream` in the mode `debug`, which tells each task's start and
result.
"""

from __future__ import annotations

import itertools
import operator
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.measurement import Prepare, Run, speak
from benchmarks.workload import LINE, WIDTH

Update = dict[str, Any]
CONFIG: dict[str, Any] = {"recursion_limit": 10**9, "configurable": {"thread_id": "1"}}
NAMES = ("write", "review", "judge")


class State(TypedDict, total=False):
    """What the nodes share."""

    rounds: int
    round: int
    text: str
    history: Annotated[list[str], operator.add]
    joined: Annotated[int, operator.add]


def write(state: State) -> Update:
    return {"round": state["round"] + 1}


def review(_: State) -> Update:
    return {"text": LINE}


def remember(_: State) -> Update:
    return {"history": [LINE]}


def work(_: State) -> Update:
    return {"joined": 1}


def judge(_: State) -> Update:
    return {"text": "judged"}


def onward(first: str) -> Callable[[State], str]:
    """Where the last node leads: to the first one, or out."""
    return lambda state: first if state["round"] < state["rounds"] else END


def loop_graph(nodes: dict[str, Any], saver: Any = None) -> Any:
    """A loop of nodes, one after the other."""
    builder = StateGraph(State)
    names = list(nodes)
    for name, node in nodes.items():
        builder.add_node(name, node)
    builder.add_edge(START, names[0])
    for source, target in itertools.pairwise(names):
        builder.add_edge(source, target)
    builder.add_conditional_edges(names[-1], onward(names[0]), [names[0], END])
    return builder.compile(checkpointer=saver)


def fan_graph(split: Any, worker: Any, join: Any) -> Any:
    """A loop in which one node starts many, and one waits for all of them."""
    builder = StateGraph(State)
    workers = [f"worker {number}" for number in range(WIDTH)]
    builder.add_node("split", split)
    builder.add_node("join", join)
    builder.add_edge(START, "split")
    for name in workers:
        builder.add_node(name, worker)
        builder.add_edge("split", name)
    builder.add_edge(workers, "join")
    builder.add_conditional_edges("join", onward("split"), ["split", END])
    return builder.compile()


def fresh(size: int) -> Update:
    """The state that a run begins with."""
    return {"rounds": size, "round": 0, "text": "", "history": [], "joined": 0}


def steps_in(update: Any) -> int:
    """How many starts and finishes of the loop's nodes one told thing is."""
    is_step = update["type"] in ("task", "task_result") and update["payload"]["name"] in NAMES
    return int(is_step)


@contextmanager
def loop(size: int, _folder: Path) -> Iterator[Run]:
    graph = loop_graph({"write": write, "review": review, "judge": judge})
    yield lambda: int(graph.invoke(fresh(size), CONFIG)["round"])


@contextmanager
def history(size: int, _folder: Path) -> Iterator[Run]:
    graph = loop_graph({"write": write, "review": remember, "judge": judge})
    yield lambda: len(graph.invoke(fresh(size), CONFIG)["history"])


@contextmanager
def durable(size: int, folder: Path) -> Iterator[Run]:
    with closing(sqlite3.connect(folder / "graph.db", check_same_thread=False)) as db:
        saver = SqliteSaver(db)
        saver.setup()
        nodes = {"write": write, "review": remember, "judge": judge}
        graph = loop_graph(nodes, saver)
        yield lambda: len(graph.invoke(fresh(size), CONFIG)["history"])


@contextmanager
def fan_out(size: int, _folder: Path) -> Iterator[Run]:
    graph = fan_graph(write, work, judge)
    yield lambda: int(graph.invoke(fresh(size), CONFIG)["joined"])


@contextmanager
def stream(size: int, _folder: Path) -> Iterator[Run]:
    graph = loop_graph({"write": write, "review": review, "judge": judge})
    yield lambda: sum(map(steps_in, graph.stream(fresh(size), CONFIG, stream_mode="debug")))


WORKLOADS: dict[str, Prepare] = {
    "W1": loop,
    "W2": history,
    "W3": durable,
    "W4": fan_out,
    "W6": stream,
}

if __name__ == "__main__":
    speak(WORKLOADS, "langgraph")
