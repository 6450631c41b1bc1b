"""Writes a journal of real sessions, as the engine of that version drove them, to be kept for ever.

python -m tests.unit.journal.make_history tests/fixtures/journals/vN

It uses only what every version has had, so that the source of an earlier one can run it.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

from rondel import Engine, Graph

LOOP = """
graph:
  id: loop
  start: Writer
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [one, two, three]}}
    - {id: Critic, type: literal, config: {content: again}}
    - {id: Gate, type: loop, config: {max_rounds: 3}}
    - {id: Final, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Gate}
    - {from: Gate, to: Writer}
    - {from: Gate, to: Final}
    - {from: Writer, to: Final, trigger: false}
"""

ASK = """
graph:
  id: ask
  nodes:
    - {id: Draft, type: literal, config: {content: A draft.}}
    - {id: Editor, type: human, config: {description: Is it good?}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Draft, to: Editor}
    - {from: Editor, to: Done}
"""

ROUNDS = """
graph:
  id: rounds
  start: A
  nodes:
    - {id: A, type: literal, config: {content: a}}
    - {id: B, type: literal, config: {content: b}}
    - {id: Gate, type: loop, config: {max_rounds: 60}}
    - {id: End, type: passthrough}
  edges:
    - {from: A, to: B}
    - {from: B, to: Gate}
    - {from: Gate, to: A}
    - {from: Gate, to: End}
"""


async def fill(path: Path) -> dict[str, Any]:
    """Sessions that are over, that wait, that were answered, and forks; what each came to."""
    engine = Engine(db=path)
    done = await engine.start(Graph.loads(LOOP), {"task": "写一首诗"})
    await done.result()
    waiting = await engine.start(Graph.loads(ASK), "tea")
    await waiting.settled()
    answered = await engine.start(Graph.loads(ASK), "rice")
    await answered.settled()
    await answered.answer("yes", by="Ann")
    await answered.result()
    fork = await done.fork(at="Writer[2]")
    await fork.result()
    long = await engine.start(Graph.loads(ROUNDS))
    await long.result()
    found = {}
    for name, session in (
        ("done", done),
        ("waiting", waiting),
        ("answered", answered),
        ("fork", fork),
        ("long", long),
    ):
        result = session.snapshot()
        found[name] = {
            "id": session.id,
            "status": result.status,
            "output": result.output,
            "loops": [[loop.loop, loop.rounds, loop.exit_reason] for loop in result.loops],
            "steps": [step.address for step in session.steps()],
        }
    await engine.close()
    return found


def dump(path: Path) -> str:
    """The file as SQL, with the two numbers of its header."""
    db = sqlite3.connect(path)
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    lines = [f"PRAGMA application_id = {application};", f"PRAGMA user_version = {version};"]
    lines += db.iterdump()
    db.close()
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Write the history, unless there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "history.sql").exists():
        raise SystemExit(f"{folder} has a history already; they are never changed")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "journal.db"
        found = asyncio.run(fill(path))
        (folder / "history.sql").write_text(dump(path), "utf-8")
    text = json.dumps(found, ensure_ascii=False, indent=1)
    (folder / "history.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
