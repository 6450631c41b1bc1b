"""A debate that kills its own process in the middle of round 3, once.

Run as a program: `python -m tests.fault.debater FOLDER DB`. The first run dies; the next one
resumes the session and prints what became of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from rondel import Engine
from tests.fault.victims import debate, marker

DEADLY = "round 3 turn 2"


def main(folder: Path, db: str) -> None:
    """Start the session, or resume the one that is there."""
    marks = folder / "marks"
    mark = marker(str(marks))

    def deadly(line: str) -> None:
        first = DEADLY in line and DEADLY not in marks.read_text()
        mark(line)
        if first:
            os.kill(os.getpid(), signal.SIGKILL)

    async def run() -> None:
        graph = debate(deadly)
        async with Engine(db) as engine:
            rows = engine.sessions().rows
            if rows:
                session = await engine.resume(rows[0].id, graph)
            else:
                session = await engine.start(graph, "topic")
            events = [event async for event in session.events()]
            result = await session.result()
            told = [event.data["content"] for event in events if event.event == "debate:round"]
            print(json.dumps({"status": result.status, "data": result.data, "told": told}))

    asyncio.run(run())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
