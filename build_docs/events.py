"""The reference of the events: what is said of each, and one that a real session told."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from rondel import Context, Engine, Event, Graph, Session, builtin_registry

TEXTS = Path(__file__).with_name("event_texts.yaml")
NOON = "2026-11-18T12:00:00.000000Z"
RARE = {
    *("memory_error", "model_incomplete", "model_waiting"),
    *("thinking_stream", "context_compacted", "tool_approval"),
}
"""Told only by real models, by people, or where something outside fails: by tests of their own."""

LOOPS = """
graph:
  id: tea
  start: Writer
  loops:
    Writer: {max_rounds: 4, exit_on_score: 99, patience: {rounds: 1}, on_stagnation: nudge, regression: {drop: 10}}
  nodes:
    - {id: Writer, type: agent, config: {role: You write., name: gpt-4o-mini, provider: scripted, answers: [{content: Tea., delay: 0.2, usage: {input_tokens: 12, output_tokens: 3}}, Tea on time., Tea.]}}
    - {id: Critic, type: agent, config: {provider: scripted, answers: ['Score: 60', 'Score: 85', 'Score: 40', 'Score: 40']}}
    - {id: Final, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Writer}
    - {from: Writer, to: Final, condition: false}
"""
OTHERS = """
graph:
  id: others
  start: Talk
  end: Editor
  nodes:
    - id: Talk
      type: debate
      config: {max_rounds: 1, agent_pairs: [[Ann, Bob]], agents: {Ann: {provider: scripted, answers: [It saves time.]}, Bob: {provider: scripted, answers: [It costs money.]}}}
    - id: Helper
      type: agent
      config: {provider: scripted, tools: [clock], answers: [{calls: [{name: clock, arguments: {zone: UTC}}]}, It is noon.]}
    - {id: Shaky, type: function, config: {name: shaky}, retry: {max_attempts: 2, min_wait: 0, max_wait: 0}}
    - {id: Gate, type: loop, config: {max_rounds: 1}}
    - {id: Editor, type: human, config: {description: Is it good?, actions: [approve, revise]}}
  edges:
    - {from: Talk, to: Helper}
    - {from: Helper, to: Shaky}
    - {from: Shaky, to: Gate}
    - {from: Gate, to: Editor}
    - {from: Gate, to: Editor}
"""
STUCK = """
graph:
  id: stuck
  start: Fixer
  end: Done
  breaker: {repeats: 4, window: 2, min_entropy: 0.5}
  nodes:
    - {id: Fixer, type: agent, config: {provider: scripted, answers: [Again., Again., Again., Again., It passed.]}}
    - {id: Tests, type: passthrough}
    - {id: Done, type: passthrough}
  edges:
    - {from: Fixer, to: Tests}
    - {from: Tests, to: Fixer}
    - {from: Tests, to: Done, condition: {type: keyword, config: {any: [passed]}}}
"""


@cache
def texts() -> dict[str, dict[str, Any]]:
    """What is said of each event."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(TEXTS.read_text("utf-8"))
    return found


@cache
def told() -> dict[str, list[dict[str, Any]]]:
    """The data of all events of some sessions that meet nearly everything, by name."""
    seen: dict[str, list[Event]] = {}
    for event in asyncio.run(_sessions()):
        seen.setdefault(event.event, []).append(event)
    return {name: [_json(event) for event in events] for name, events in seen.items()}


async def _sessions() -> list[Event]:
    registry = builtin_registry()

    def clock(zone: str) -> str:
        """What time it is."""
        return f"noon in {zone}"

    def shaky(ctx: Context) -> str:
        if ctx.attempt < 2:
            raise ConnectionError("try again")
        return "done"

    registry.function("clock", clock)
    registry.function("shaky", shaky)
    events: list[Event] = []
    async with Engine(db=None) as engine:
        for text in (LOOPS, OTHERS, STUCK):
            session = await engine.start(Graph.loads(text, registry=registry), "A slogan for tea")
            watching = asyncio.create_task(_live(session, events))
            await asyncio.sleep(0)
            status = (await session.settled()).status
            if status == "waiting":
                await session.answer("approve", by="ann")
            if status == "suspended_locked":
                await session.unlock("the server was down", by="ann")
            await session.result()
            await watching
            events += [event async for event in session.events(debug=True)]
    return events


async def _live(session: Session, events: list[Event]) -> None:
    events += [event async for event in session.events() if event.seq is None]


def _json(event: Event) -> dict[str, Any]:
    seq = {} if event.seq is None else {"seq": event.seq}
    place = {"node_id": event.node_id, "address": event.address}
    return {
        **seq,
        "event": event.event,
        "timestamp": NOON,
        "session_id": "5f0c1e9a7b3d2846",
        **place,
        "data": event.data,
    }


def page() -> str:
    """docs/reference/events.md."""
    parts = [
        "# Events\n\nWhat the outside sees of a session: `rondel run --json`, `rondel events ID`, "
        "`session.events()`, `GET /api/v1/sessions/{id}/events`. Every durable event has a `seq`, "
        "from 1, without gaps, the same for everyone who asks; `token_stream`, `thinking_stream`, "
        "`model_waiting` and `edge_fired` are live only and have none. Each example below was told by a session that a test runs "
        "(`python -m build_docs`).\n"
    ]
    for name, said in texts().items():
        rows = "\n".join(
            f"| `{key}` | {str(text).replace('|', chr(92) + '|')} |"
            for key, text in said["data"].items()
        )
        parts.append(f"\n## `{name}`\n\n{said['when']}\n\n| `data` | |\n|---|---|\n{rows}\n")
        if name in told():
            steady = [_steady(event) for event in told()[name]]
            shown = min(steady, key=lambda event: (-len(event["data"]), json.dumps(event)))
            text = json.dumps(shown, ensure_ascii=False, indent=2)
            parts.append(f"\n```json\n{text}\n```\n")
    return "".join(parts)


def _steady(event: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run."""
    return {**event, "data": _lasting(event["data"])}


def _lasting(value: Any) -> Any:
    match value:
        case dict():
            fields = {key: _lasting(item) for key, item in value.items()}
            return {**fields, "timestamp": NOON} if "timestamp" in fields else fields
        case list():
            return [_lasting(item) for item in value]
        case float():
            return round(value, 3)
    return value
