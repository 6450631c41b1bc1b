"""The circuit breaker locks exactly when the reference says, also in a process that takes over."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Engine
from rondel.engine import ticks
from rondel.guards.circuit_breaker import LOOP_DETECTED
from rondel.sessions.records import Result
from tests.reference.breaker import locked_after
from tests.unit.guards.looping import agent, graph_of
from tests.unit.guards.test_circuit_breaker import cut
from tests.unit.sessions.playing import limited

TEXTS = ("The tests still fail.", "if a < b: return 1", "仍然没有结果。", "请再检查一遍数据。")
COMPARED = ("if a <= b: return 1", "Look at 3 files", "Look at 4 files", "没有结果")

Said = tuple[int, int]
"""What is said, and in which of its guises."""


def guise(said: Said, round: int) -> str:
    """A text as it may come again: other case, edges, spaces, round or date."""
    text = (*TEXTS, *COMPARED)[said[0]]
    if said[0] == 0:
        text = f"Round {round}: {text}"
    return (text, text.upper(), f"  **{text}**!", text.replace(" ", "  \n"))[said[1]]


SAYINGS = st.tuples(st.integers(0, 7), st.integers(0, 3))
FEW = st.lists(SAYINGS, min_size=1, max_size=6)


@st.composite
def stories(draw: st.DrawFn) -> list[Said]:
    """Rounds in which much is said again: a few outputs over and over, with slips."""
    said: list[Said] = []
    for _ in range(draw(st.integers(1, 4))):
        said += draw(FEW) * draw(st.integers(1, 5))
    return said[:24]


SCORES = st.lists(st.sampled_from([None, 10.0, 20.0, 30.0, 40.0]), min_size=24, max_size=24)


@settings(max_examples=120, deadline=None)
@given(story=stories(), scores=SCORES, repeats=st.integers(2, 5), data=st.data())
def test_it_locks_when_the_reference_says(
    story: list[Said], scores: list[float | None], repeats: int, data: st.DataObject
) -> None:
    critic: list[dict[str, Any]] = [
        {"content": f"note {n * n} on {n}", "data": {} if score is None else {"score": score}}
        for n, score in enumerate(scores)
    ]
    writer = [guise(said, round) for round, said in enumerate(story, 1)]
    between = data.draw(st.booleans(), "a node without a model at the end of the round")
    last = "Gate" if between else "Critic"
    nodes = [agent("Writer", *writer), agent("Critic", *critic)]
    edges = [("Writer", "Critic"), (last, "Writer"), (last, "Done")]
    if between:
        nodes.append({"id": "Gate", "type": "passthrough"})
        edges.append(("Critic", "Gate"))
    graph = graph_of(
        nodes,
        edges,
        loops={"Writer": {"max_rounds": len(story)}},
        breaker={"repeats": repeats},
    )
    expected = locked_after([said for said, _ in story], scores, repeats, len(story))

    def agrees(result: Result) -> None:
        locked = (result.status, result.reason) == ("suspended_locked", LOOP_DETECTED)
        assert locked is (expected is not None)
        assert result.usage.model_calls == 2 * (expected or len(story))

    async def main() -> None:
        async with Engine(db=None) as engine:
            session = await engine.start(graph)
            agrees(await session.settled())
            journal = session.journal()
            store = cut(
                session, data.draw(st.integers(1, len(journal) - 1), "ticks before a crash")
            )
        async with Engine(db=store) as engine:
            again = await engine.resume(session.id)
            agrees(await again.settled())
            locks = [tick for tick in again.journal() if isinstance(tick, ticks.Locked)]
            assert len(locks) == (expected is not None)

    limited(main())
