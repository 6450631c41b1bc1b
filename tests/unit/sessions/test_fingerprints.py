"""A function's fingerprint changes with what it does, and with nothing else."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rondel import Graph, Message
from rondel.sessions.fingerprints import changed, fingerprint, fingerprints_of, incomparable


def compiled(source: str, name: str = "f") -> Any:
    """What a module with this source defines."""
    space: dict[str, Any] = {"__name__": "mine"}
    exec(compile(textwrap.dedent(source), "mine.py", "exec"), space)
    return space[name]


BASE = """
def helper(x):
    return x + 1

def f(x, y=2):
    return [helper(x) for _ in range(y)]
"""

SAME = {
    "comments and lines": BASE.replace("def f", "# why\n\n\ndef f"),
    "a docstring": BASE.replace("y=2):\n", "y=2):\n    'It helps.'\n"),
    "a docstring of what it calls": BASE.replace("helper(x):\n", "helper(x):\n    'Adds.'\n"),
    "formatting": BASE.replace("x + 1", "(x  +  1)"),
    "a neighbour that it does not call": f"{BASE}\ndef other(x): return x\n",
    "annotations": BASE.replace("x, y=2", "x: int, y: int = 2"),
}

OTHER = {
    "another constant": BASE.replace("x + 1", "x + 2"),
    "another operator": BASE.replace("x + 1", "x - 1"),
    "another default": BASE.replace("y=2", "y=3"),
    "another name": BASE.replace("range(y)", "str(y)"),
    "async": BASE.replace("def f", "async def f"),
}


@pytest.mark.parametrize("source", SAME.values(), ids=SAME)
def test_what_does_the_same_has_the_same(source: str) -> None:
    assert fingerprint(compiled(source)) == fingerprint(compiled(BASE))


@pytest.mark.parametrize("source", OTHER.values(), ids=OTHER)
def test_what_does_otherwise_has_another(source: str) -> None:
    assert fingerprint(compiled(source)) != fingerprint(compiled(BASE))


def closing_over(value: Any) -> Callable[[Message], bool]:
    return lambda message: message.data["score"] < value


def test_a_value_that_a_function_closes_over_counts_unless_it_changes_by_itself() -> None:
    assert fingerprint(closing_over(90)) == fingerprint(closing_over(90))
    assert fingerprint(closing_over(90)) != fingerprint(closing_over(91))
    assert fingerprint(closing_over((1, 2))) != fingerprint(closing_over((1, 3)))
    assert fingerprint(closing_over([])) == fingerprint(closing_over(["seen"]))


class Shout:
    mark = "!"

    def __init__(self, times: int) -> None:
        self.times = times

    async def process(self, ctx: Any) -> Any:
        return ctx.text + self.mark * self.times

    def hears(self, message: Message) -> bool:
        return len(message.text) > self.times


class Louder(Shout):
    mark = "!!"


def test_objects_methods_and_partials_are_what_their_class_and_values_are() -> None:
    assert fingerprint(Shout(1)) == fingerprint(Shout(1))
    assert len({fingerprint(Shout(1)), fingerprint(Shout(2)), fingerprint(Louder(1))}) == 3
    assert fingerprint(Shout(1).hears) != fingerprint(Shout(2).hears)
    assert fingerprint(partial(max, 1)) != fingerprint(partial(max, 2))
    assert fingerprint(len) != fingerprint(sum)


def test_another_process_finds_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from rondel.sessions.fingerprints import fingerprint\n"
        "def f(x): return x in {'a', 'b', 'c', 'd'} or x == ('e', frozenset({'f', 'g'}))\n"
        "print(fingerprint(f))\n"
    )
    command = [sys.executable, str(file)]
    seeds = ("1", "2", "3")
    told = {
        subprocess.run(
            command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in seeds
    }
    assert len(told) == 1


def test_only_what_the_same_python_compiled_is_compared() -> None:
    before = {"node a": "3.11:1", "node b": "3.11:2", "node c": "3.10:3"}
    now = {"node a": "3.11:1", "node b": "3.11:9", "node c": "3.11:3", "node d": "3.11:4"}
    assert changed(before, now) == ["node b"]
    assert incomparable(before, now) == ["node c", "node d"]


def test_a_graph_names_its_functions_by_their_place() -> None:
    graph = Graph("refine")

    @graph.node
    def writer(inp: Any) -> str:
        return f"draft {inp.round}"

    @graph.node(id="judge")
    def critic(inp: Any) -> dict[str, int]:
        return {"score": 30 * inp.round}

    graph.add("loud", Shout(2))
    graph.edge("writer", "judge", process=lambda message: message)
    graph.edge("judge", "writer", when=lambda message: message.data["score"] < 90)
    graph.edge("judge", "loud", when="data.score >= 90")
    assert list(fingerprints_of(graph)) == [
        "node writer",
        "node judge",
        "node loud",
        "process writer -> judge (edge 1)",
        "condition judge -> writer (edge 2)",
    ]
    assert fingerprints_of(graph)["node loud"] == fingerprint(Shout(2))
