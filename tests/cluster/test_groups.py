"""Groups take turns: who has little to do does not wait for who has much."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rondel.dispatch.dispatcher import group_name
from rondel.dispatch.worker import share
from rondel.journal.store import SessionRow
from tests.cluster.harness import Fleet, all_ended, graph, marked, server

ONE_NODE = """
version: 1
graph:
  id: one
  nodes:
    - {id: a, type: mark, config: {seconds: SECONDS}}
  edges: []
"""
FEW = 5


@pytest.mark.parametrize(
    ("by_temporal", "many"), [(False, 200), (True, 60)], ids=["procrastinate", "temporal"]
)
async def test_a_few_sessions_do_not_wait_for_the_many_of_another_group(
    new_database: str, tmp_path: Path, by_temporal: bool, many: int, request: pytest.FixtureRequest
) -> None:
    marks = tmp_path / "marks"
    temporal = request.getfixturevalue("temporal_address") if by_temporal else ""
    with Fleet(new_database, marks, lease=5.0, concurrency=10, temporal=temporal) as fleet:
        async with server(new_database, marks, 5.0, temporal) as submitting:
            long = graph(ONE_NODE, marks, SECONDS="1.5")
            short = graph(ONE_NODE, marks, SECONDS="0.05")
            await asyncio.gather(
                *(submitting.start(long, {"group_id": "many"}) for _ in range(many))
            )
            fleet.start()
            await marked(marks, share(10))
            few = [await submitting.start(short, {"group_id": "few"}) for _ in range(FEW)]
            await all_ended(few)
            done = len(submitting.sessions("completed", limit=many).rows) - FEW
            assert done < many / 4


def test_a_group_leaves_some_places_to_others() -> None:
    assert [share(n) for n in (1, 2, 4, 100)] == [1, 1, 3, 75]


@pytest.mark.parametrize(
    ("inputs", "labels", "name"),
    [
        ({}, {}, ""),
        ({"group_id": "a"}, {}, "a"),
        ({"group_id": 7}, {}, "7"),
        ({"group_id": "a"}, {"group": "b"}, "b"),
    ],
)
def test_the_group_of_a_session_is_its_label_or_what_its_inputs_name(
    inputs: dict[str, object], labels: dict[str, object], name: str
) -> None:
    assert group_name(SessionRow("s", "g", {}, {}, inputs, labels)) == name
