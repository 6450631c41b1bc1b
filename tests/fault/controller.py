"""A process that controls sessions of a file, many at a time, and says what became of each control.

python -m tests.fault.controller DB

Reads one object a line, {"session", "seed", "controls"}, and prints {"session", "control", "told"}
for every control as soon as it knows: "done", "nothing", or the sentence of the refusal.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from random import Random
from typing import Any

from rondel import Engine
from rondel.errors import CallError, SessionBusy, WrongState
from rondel.sessions import engine as sessions
from rondel.sessions.controls import Answer, AnyControl, Pause, Resume, Signal, Stop

sessions.POLL = 0.02  # many sessions in little time


def control_of(text: str) -> AnyControl:
    """A control as the test writes it: its kind, and a text that no other has."""
    kind, _, name = text.partition(" ")
    match kind:
        case "answer":
            return Answer(text=name)
        case "signal":
            return Signal(name=name)
        case "pause":
            return Pause(by=name)
        case "stop":
            return Stop(by=name)
    return Resume(by=name)


def tell(session: str, control: str, told: str) -> None:
    """One line, whole and at once."""
    line = json.dumps({"session": session, "control": control, "told": told})
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


async def work(engine: Engine, order: dict[str, Any]) -> None:
    """Do to one session what is asked, with little pauses between."""
    rng = Random(order["seed"])
    session = engine.get(order["session"])
    for text in order["controls"]:
        await asyncio.sleep(rng.choice([0.0, 0.0, 0.001, 0.01, 0.03]))
        try:
            delivered = await session.control(control_of(text))
            tell(session.id, text, "done" if delivered.changed else "nothing")
        except (WrongState, CallError, SessionBusy) as refusal:
            tell(session.id, text, f"{type(refusal).__name__}: {refusal}")


async def main(db: str) -> None:
    """Take orders until there are no more, and carry them out side by side."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with Engine(db) as engine, asyncio.TaskGroup() as group:
        async for line in reader:
            group.create_task(work(engine, json.loads(line)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
