"""A session is read without what ran it: functions, plug-ins, providers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from rondel import Context, Emit, Engine, Graph, Message, builtin_registry
from rondel.errors import CallError
from rondel.models.scripted import ScriptedConfig, scripted

GRAPH = """
graph:
  id: shouting
  start: Writer
  nodes:
    - {id: Writer, type: agent, config: {provider: inhouse, answers: [one, two], recall: {own: 2}}}
    - {id: Shout, type: shout, config: {mark: "!"}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Writer, to: Shout}
    - {from: Shout, to: Writer}
    - {from: Shout, to: Done, label: limit, condition: {type: function, config: {name: always}}}
  loops: {Writer: {max_rounds: 2}}
"""


class ShoutConfig(BaseModel):
    mark: str


class Shout:
    def __init__(self, mark: str) -> None:
        self._mark = mark

    async def process(self, ctx: Context) -> Emit:
        return Emit([Message(ctx.text.upper() + self._mark)])


def own_registry() -> Any:
    registry = builtin_registry()
    registry.node("shout", ShoutConfig, lambda config, _: Shout(config.mark))
    registry.provider("inhouse", ScriptedConfig, scripted)
    registry.function("always", lambda _: True)
    return registry


async def test_plug_ins_are_not_needed_to_read_or_to_replay(tmp_path: Path) -> None:
    db = tmp_path / "a.db"
    async with Engine(db) as engine:
        session = await engine.start(Graph.loads(GRAPH, registry=own_registry()))
        await session.result()
        shown = session.steps(), session.rounds(), session.snapshot()
        events = [event async for event in session.events()]
    async with Engine(db) as engine:
        again = engine.get(session.id)
        assert (again.steps(), again.rounds(), again.snapshot()) == shown
        assert [event async for event in again.events()] == events
        assert shown[0][-1].outputs[0]["content"] == "TWO!"
        with pytest.raises(CallError, match="runs code that is not here"):
            await again.fork("Done")
        assert await engine.recover() == []
