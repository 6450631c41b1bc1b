"""Answers, signals, pauses and stops from several processes at once, some of which are killed.

Whoever is told that a control was carried out finds it in the journal, once; whoever is refused
does not; and everybody who lives is told one or the other.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import pytest

from rondel import Engine, Graph
from rondel.engine import ticks

SESSIONS = int(os.environ.get("RONDEL_INTERLEAVINGS", "510"))
AT_ONCE = 30
KILLS = 8
ROOT = Path(__file__).parents[2]

ASKING = """
graph:
  id: asking
  start: Ask
  nodes:
    - {id: Ask, type: human, config: {description: Go on?}}
    - {id: Count, type: passthrough}
    - {id: Done, type: passthrough}
  edges:
    - {from: Ask, to: Count}
    - {from: Count, to: Ask}
    - {from: Count, to: Done, label: limit}
  loops: {Ask: {max_rounds: 4}}
"""


class Controller:
    """A process that carries out orders, and what it has told so far."""

    def __init__(self, db: str) -> None:
        command = [sys.executable, "-m", "tests.fault.controller", db]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, text=True)
        self.told: list[dict[str, str]] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def order(self, session: str, seed: int, controls: list[str]) -> None:
        assert self._process.stdin is not None
        order = {"session": session, "seed": seed, "controls": controls}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reading.join()
        self._close()

    def finish(self) -> int:
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = self._process.wait(120)
        self._reading.join()
        self._close()
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.told.append(json.loads(line))

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()


def controls(rng: Random, name: str) -> list[str]:
    """What one process does to one session; every text is its own."""
    kinds = rng.choices(
        ["answer", "signal", "pause", "resume", "stop"], [8, 3, 1, 2, 0.3], k=rng.randint(1, 4)
    )
    return [f"{kind} {name}-{number}" for number, kind in enumerate(kinds)]


def recorded(journal: list[ticks.AnyTick]) -> Counter[str]:
    """The controls that a journal holds, as the test wrote them."""
    found: Counter[str] = Counter()
    for tick in journal:
        match tick:
            case ticks.Answered():
                found[f"answer {tick.answer}"] += 1
            case ticks.Signalled():
                found[f"signal {tick.name}"] += 1
            case ticks.Paused() if tick.by:
                found[f"pause {tick.by}"] += 1
            case ticks.Stopped():
                found[f"stop {tick.by}"] += 1
            case ticks.Resumed() | ticks.Retried() if tick.by:
                found[f"resume {tick.by}"] += 1
    return found


async def prepared(db: str) -> list[str]:
    """Sessions that all wait for an answer."""
    graph = Graph.loads(ASKING)
    async with Engine(db) as engine:
        made = [await engine.start(graph, f"{n}") for n in range(SESSIONS)]
        for session in made:
            await session.settled()
        return [session.id for session in made]


async def outcome(db: str, ids: list[str]) -> dict[str, tuple[Counter[str], int]]:
    """What each journal holds once all letters are read that the dead left behind."""
    found = {}
    async with Engine(db) as engine:
        for id in ids:
            session = engine.get(id)
            await session.resume()
            await session.settled()
            found[id] = recorded(list(session.journal())), len(engine.store.letters(id))
    return found


@pytest.mark.timeout(280)
def test_everybody_is_told_the_truth(db: str) -> None:
    rng = Random(4711)
    ids = asyncio.run(prepared(db))
    steady = [Controller(db) for _ in range(2)]
    victim, told = Controller(db), list[dict[str, str]]()
    ordered: dict[str, list[str]] = defaultdict(list)
    doomed: set[str] = set()
    for start in range(0, SESSIONS, AT_ONCE):
        for id in ids[start : start + AT_ONCE]:
            for number, who in enumerate((*steady, victim)):
                wanted = controls(rng, f"{id}-{number}")
                who.order(id, rng.randrange(2**32), wanted)
                (doomed.update if who is victim else ordered[id].extend)(wanted)
        if rng.random() < KILLS / (SESSIONS / AT_ONCE):
            victim.kill()
            told += victim.told
            victim = Controller(db)
    assert [who.finish() for who in (*steady, victim)] == [0, 0, 0]
    for who in (*steady, victim):
        told += who.told
    check(asyncio.run(outcome(db, ids)), told, ordered, doomed)


def check(
    found: dict[str, tuple[Counter[str], int]],
    told: list[dict[str, str]],
    ordered: dict[str, list[str]],
    doomed: set[str],
) -> None:
    """Compare what everybody was told with what the journals hold."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in told:
        held = found[line["session"]][0][line["control"]]
        verdict = line["told"].partition(":")[0]
        verdicts[line["control"].partition(" ")[0]][verdict] += 1
        assert held == (1 if verdict == "done" else 0), (line, held)
    heard = {line["control"] for line in told}
    silent = [text for texts in ordered.values() for text in texts if text not in heard]
    assert not silent, "everybody who lives is told"
    assert all(count == 1 for journal, _ in found.values() for count in journal.values())
    known = heard | doomed
    assert all(text in known for journal, _ in found.values() for text in journal)
    assert not any(letters for _, letters in found.values()), "no letter is left lying"
    assert verdicts["answer"]["done"] > SESSIONS
    assert verdicts["answer"]["WrongState"] > SESSIONS / 10
