"""What the circuit breaker makes of loops as they are: honest ones go on, stuck ones are locked."""

from __future__ import annotations

import pytest

from rondel import Engine, Event, Graph
from tests.unit.guards.honest_loops import HONEST
from tests.unit.guards.stuck_loops import STUCK
from tests.unit.sessions.playing import Played, limited, told


def played(graph: Graph) -> Played:
    """The run as far as it got by itself; a locked one is stopped for its events."""

    async def main() -> Played:
        async with Engine(db=None) as engine:
            session = await engine.start(graph, "Do it.")
            result = await session.settled()
            if result.status == "suspended_locked":
                await session.stop()
            return Played(result, session.steps(), await told(session))

    return limited(main())


def test_the_corpus_is_large_enough() -> None:
    assert len(HONEST) >= 40
    assert len(STUCK) >= 20


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_loop_is_not_locked(name: str) -> None:
    run = played(HONEST[name])
    assert run.result.status == "completed", run.result.message


@pytest.mark.parametrize("name", STUCK)
def test_a_stuck_loop_is_locked_within_six_repeats(name: str) -> None:
    graph, length = STUCK[name]
    run = played(graph)
    assert (run.result.status, run.result.reason) == ("suspended_locked", "LOOP_DETECTED")
    speaker = run.of("circuit_breaker:tripped")[0].data["node"]
    tools = len(run.of("tool_execution"))
    outputs = tools or len([e for e in run.of("node_state_change", speaker) if is_done(e)])
    assert outputs <= 6 * length


def is_done(event: Event) -> bool:
    return bool(event.data["status"] == "completed")
