"""`python -m benchmarks.walks`: how far a reader walks, in functions and files.

Two walks are counted with `sys.setprofile`: a `loop` node decides to exit, from its call to the
call of the next node; and a person's answer in a process that has not seen the session, from
`Engine.get` to the call of the next node. Each counts the distinct functions of `rondel` that are
called, and the files they are in. The engine must run as plain Python (`RONDEL_COMPILE=0 make
install`): compiled functions are not seen. With `--list` the functions are printed.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import rondel
from rondel import Engine, Graph

NEXT = "passthrough.PassthroughProcessor.process_now"
HOME = str(Path(rondel.__file__).parent)
EXITING = """
graph:
  id: exiting
  start: Work
  nodes:
    - {id: Work, type: passthrough}
    - {id: Decide, type: loop, config: {max_rounds: 2}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Work, to: Decide}
    - {from: Decide, to: Work, label: continue}
    - {from: Decide, to: Done, label: exit}
"""
ASKING = """
graph:
  id: asking
  nodes:
    - {id: Ask, type: human, config: {description: "Well?"}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Ask, to: Done}
"""


class Walk:
    """The functions that are called between a beginning and an end."""

    def __init__(self, begins: str, ends: str, times: int = 1) -> None:
        self._begins = begins
        self._ends = ends
        self._calls_left = times
        self._on = self._over = False
        self.functions: dict[CodeType, int] = {}

    def note(self, frame: FrameType, event: str, _arg: Any) -> None:
        """Take a profile event."""
        code = frame.f_code
        if event != "call" or self._over or not code.co_filename.startswith(HOME):
            return
        name = f"{Path(code.co_filename).stem}.{code.co_qualname}"
        if not self._on and name == self._begins:
            self._calls_left -= 1
            self._on = self._calls_left == 0
        if self._on:
            self._over = name == self._ends
            self.functions[code] = self.functions.get(code, 0) + 1

    @property
    def files(self) -> set[str]:
        """Where they are."""
        return {code.co_filename for code in self.functions}

    def __str__(self) -> str:
        if not self._over:
            return "not walked to its end: is the engine compiled?"
        return f"{len(self.functions)} functions in {len(self.files)} files"

    def listed(self) -> str:
        """Every function in the order of its first call."""
        rows = [
            f"  {Path(code.co_filename).relative_to(HOME)}: {code.co_qualname} ({count})"
            for code, count in self.functions.items()
        ]
        return "\n".join(rows)


async def exits() -> Walk:
    """A `loop` node decides to exit, in the second round."""
    walk = Walk("deciding.LoopProcessor.process_now", NEXT, times=2)
    async with Engine(None) as engine:
        graph = Graph.loads(EXITING)
        await engine.run(graph, "warm up")
        sys.setprofile(walk.note)
        try:
            await engine.run(graph, "topic")
        finally:
            sys.setprofile(None)
    return walk


async def answers() -> Walk:
    """A person's answer reaches a session that another process has left."""
    walk = Walk("engine.Engine.get", NEXT)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):  # what is imported on first use is imported then
            path = Path(folder) / "walks.db"
            async with Engine(path) as engine:
                known = (await engine.run(Graph.loads(ASKING), "topic")).session_id
            walk = Walk("engine.Engine.get", NEXT)
            async with Engine(path) as engine:
                sys.setprofile(walk.note)
                try:
                    session = engine.get(known)
                    await session.answer("yes")
                    await session.result()
                finally:
                    sys.setprofile(None)
    return walk


def main() -> None:
    """Count both walks."""
    walks = (("a loop node decides to exit", exits), ("an answer in a new process", answers))
    for name, make in walks:
        walk = asyncio.run(make())
        print(f"{name}: {walk}")
        if "--list" in sys.argv:
            print(walk.listed())


if __name__ == "__main__":
    main()
