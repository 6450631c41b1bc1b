"""What a node sees: windows, kept messages, clears, merged data, and an order without a clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Context, Engine, Graph, Message
from rondel.engine.core.transcript import Prefix, Transcript
from tests.unit.sessions.playing import limited, play, saying


def remembering(
    window: int, rounds: int, keeper: Any = None, start: str = "head", **edge: Any
) -> Graph:
    """head (says `r<round>`) -> keeper (window) -> head, `rounds` times."""
    graph = saying(Graph("g", start=start, end="out"), "out")
    graph.node(id="head")(lambda inp: f"r{inp.round}")
    keeps = keeper or (lambda inp: f"k{inp.round}")
    graph.node(id="keeper", context_window=window)(keeps)
    graph.edge("head", "keeper", **edge)
    graph.edge("keeper", "head")
    graph.edge("keeper", "out", label="limit")
    graph.loop("head", max_rounds=rounds)
    return graph


def seen(graph: Graph) -> list[list[str]]:
    return play(graph).inputs("keeper")


# Windows


def test_window_0_sees_only_what_is_new() -> None:
    assert seen(remembering(0, 3)) == [["r1"], ["r2"], ["r3"]]


def test_a_window_of_all_sees_everything_and_its_own_answers() -> None:
    assert seen(remembering(-1, 3)) == [
        ["r1"],
        ["r1", "k1", "r2"],
        ["r1", "k1", "r2", "k2", "r3"],
    ]


def test_a_window_of_one_retains_the_newest_input_and_its_own_answer() -> None:
    assert seen(remembering(1, 4)) == [
        ["r1"],
        ["r1", "k1", "r2"],
        ["r2", "k2", "r3"],
        ["r3", "k3", "r4"],
    ]


@settings(max_examples=40, deadline=None)
@given(window=st.integers(-1, 7), rounds=st.integers(1, 8))
def test_a_window_retains_the_newest_n_and_then_its_own_answer(window: int, rounds: int) -> None:
    retained: list[str] = []
    expected = []
    for number in range(1, rounds + 1):
        now = [*retained, f"r{number}"]
        expected.append(now)
        if window == 0:
            retained = []
        else:
            newest = now if window == -1 else now[-window:]
            retained = [*newest, f"k{number}"]
    assert seen(remembering(window, rounds)) == expected


# Kept messages


def keeping(window: int, **second: Any) -> Graph:
    """s keeps its message at the keeper, which then runs three rounds."""
    graph = remembering(window, 3, start="s", **second)
    graph.add("s", "literal", {"content": "rule"})
    graph.edge("s", "head")
    graph.edge("s", "keeper", trigger=False, keep_message=True)
    return graph


def test_a_kept_message_survives_a_window_of_0() -> None:
    assert seen(keeping(0)) == [["rule", "r1"], ["rule", "r2"], ["rule", "r3"]]


def test_a_kept_message_takes_a_place_in_a_window() -> None:
    assert seen(keeping(1)) == [["rule", "r1"], ["rule", "k1", "r2"], ["rule", "k2", "r3"]]
    assert seen(keeping(2)) == [
        ["rule", "r1"],
        ["rule", "r1", "k1", "r2"],
        ["rule", "r2", "k2", "r3"],
    ]


def test_clear_context_drops_all_but_the_kept() -> None:
    assert seen(keeping(-1, clear_context=True)) == [
        ["rule", "r1"],
        ["rule", "r2"],
        ["rule", "r3"],
    ]


def test_clear_kept_context_drops_only_the_kept() -> None:
    assert seen(keeping(-1, clear_kept_context=True)) == [
        ["r1"],
        ["r1", "k1", "r2"],
        ["r1", "k1", "r2", "k2", "r3"],
    ]


def test_both_clears_drop_everything() -> None:
    graph = keeping(-1, clear_kept_context=True, clear_context=True)
    assert seen(graph) == [["r1"], ["r2"], ["r3"]]


def test_a_clear_without_data_still_clears_and_triggers() -> None:
    graph = remembering(-1, 3, carry_data=False, clear_context=True)
    assert seen(graph) == [[], [], []]


def test_an_edge_without_data_triggers_and_brings_nothing() -> None:
    assert seen(remembering(-1, 3, carry_data=False)) == [[], ["k1"], ["k1", "k2"]]


def test_a_clear_works_on_what_came_before_it_in_logical_order() -> None:
    graph = saying(Graph("g", end="e"), "s", "a", "b", "c", "e")
    for name, fields in (("a", {}), ("b", {"clear_context": True}), ("c", {})):
        graph.edge("s", name)
        graph.edge(name, "e", **fields)
    assert play(graph).inputs("e") == [["b", "c"]]


def test_keep_message_can_be_seen_only_by_its_effect() -> None:
    graph = saying(Graph("g", end="e"), "s", "e")
    graph.edge("s", "e", keep_message=True)
    (step,) = [step for step in play(graph).steps if step.node_id == "e"]
    assert step.inputs == [{"source": "s", "role": "assistant", "content": "s", "data": {}}]


# Views


def test_messages_are_a_view_that_later_rounds_do_not_change() -> None:
    held: list[Sequence[Message]] = []
    copies: list[list[str]] = []

    def keeps(inp: Context) -> str:
        held.append(inp.messages)
        copies.append([message.text for message in inp.messages])
        return f"k{inp.round}"

    for window in (-1, 0, 2):
        held.clear()
        copies.clear()
        play(remembering(window, 5, keeps))
        assert len(held) == 5
        assert [[message.text for message in view] for view in held] == copies
        assert [len(view) for view in held] == [len(copy) for copy in copies]


def test_a_view_is_a_sequence_like_any_other() -> None:
    checked = []

    def keeper(inp: Context) -> str:
        view = inp.messages
        texts = [message.text for message in view]
        size = len(texts)
        assert len(view) == size
        assert [m.text for m in reversed(view)] == texts[::-1]
        assert [view[i].text for i in range(size)] == texts
        assert [view[-i].text for i in range(1, size + 1)] == texts[::-1]
        assert [m.text for m in view[1:]] == texts[1:]
        assert [m.text for m in view[-2:]] == texts[-2:]
        assert [m.text for m in view[::2]] == texts[::2]
        assert view[0] in view
        assert bool(view)
        for wrong in (size, -size - 1):
            with pytest.raises(IndexError):
                view[wrong]
        checked.append(size)
        return f"k{inp.round}"

    for window in (-1, 3):
        assert play(remembering(window, 4, keeper)).result.status == "completed"
    assert checked == [1, 3, 5, 7, 1, 3, 5, 5]


def test_new_messages_are_those_of_this_execution_only() -> None:
    fresh = []

    def keeper(inp: Context) -> str:
        fresh.append(([m.text for m in inp.new_messages], inp.text))
        return "k"

    play(remembering(-1, 3, keeper))
    assert fresh == [(["r1"], "r1"), (["r2"], "r2"), (["r3"], "r3")]


# Data


def test_data_is_merged_and_the_later_message_wins() -> None:
    merged = []
    graph = Graph("g", end="e")
    graph.node(id="s")(lambda inp: "s")
    graph.node(id="a")(lambda inp: {"x": 1, "both": "a"})
    graph.node(id="b")(lambda inp: {"y": 2, "both": "b"})

    @graph.node
    def e(inp: Context) -> str:
        merged.append(inp.data)
        return "e"

    for branch in ("b", "a"):
        graph.edge("s", branch)
    graph.edge("a", "e")
    graph.edge("b", "e")
    play(graph)
    assert merged == [{"x": 1, "y": 2, "both": "b"}]


@settings(max_examples=40, deadline=None)
@given(
    window=st.sampled_from([-1, 0, 1, 3]),
    clear=st.lists(st.booleans(), min_size=1, max_size=12),
    asks=st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_data_is_what_the_messages_say_however_long_the_past(
    window: int, clear: list[bool], asks: list[int]
) -> None:
    """The merge is cached for long contexts; it must never differ from the plain one."""
    wrong = []

    def keeper(inp: Context) -> dict[str, Any]:
        for _ in range(asks[inp.round - 1]):
            plain: dict[str, Any] = {}
            for message in inp.messages:
                plain.update(message.data)
            data = inp.data
            if data != plain:
                wrong.append((inp.round, data, plain))
        return {f"own{inp.round % 3}": inp.round, "mine": inp.round}

    graph = saying(Graph("g", start="head", end="out"), "out")
    graph.node(id="head")(lambda inp: {f"k{inp.round % 4}": inp.round, "last": inp.round})
    graph.node(id="keeper", context_window=window)(keeper)
    graph.edge("head", "keeper", when=lambda m: not clear[m.data["last"] - 1])
    graph.edge("head", "keeper", clear_context=True, when=lambda m: clear[m.data["last"] - 1])
    graph.edge("keeper", "head")
    graph.edge("keeper", "out", label="limit")
    graph.loop("head", max_rounds=len(clear))
    played = play(graph)
    assert played.result.status == "completed"
    assert wrong == []


class Looked(list[Message]):
    """A list that counts how many of its items are looked at."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        self.looks += 1
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[Message]:
        for message in super().__iter__():
            self.looks += 1
            yield message


def test_the_data_of_a_long_context_costs_the_same_in_every_round() -> None:
    """`islice(retained, merged, length)` walks over all that is merged already."""
    retained = Looked()
    transcript = Transcript(-1)
    transcript.replace(retained, keeps=False)
    for number in range(1000):
        retained.append(Message(data={"n": number}))
        assert transcript.data(Prefix(retained, len(retained))) == {"n": number}
    assert retained.looks < 3 * len(retained)


def test_listing_the_steps_of_a_long_context_does_not_copy_every_message_every_time() -> None:
    """2,000 rounds took 0.8 GB: a copy of every retained message for every step."""

    async def main() -> int:
        graph = Graph("g", start="head", end="out")
        graph.node(id="head", context_window=-1)(lambda inp: "x")
        saying(graph, "out")
        graph.edge("head", "head")
        graph.edge("head", "out", label="limit")
        graph.loop("head", max_rounds=500)
        async with Engine(db=None) as engine:
            session = await engine.start(graph)
            await session.result()
            steps = session.steps()
            return len({id(message) for step in steps for message in step.inputs})

    assert limited(main(), 30) < 50_000
