"""What agents are sent, word for word, as a provider of chat models would get it.

`python -m tests.transcripts examples/01_review_loop/graph.yaml "the task"` prints it all.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pydantic_ai.messages import ModelRequest, TextPart, UserPromptPart

from rondel import Engine, Graph
from rondel.models.dialogue import messages_of
from rondel.models.model import ModelAnswer, Request
from rondel.models.scripted import ScriptedModel
from rondel.models.simulated import SimulatedModel

Said = tuple[str, str]
"""A role and what it says."""


@dataclass(frozen=True)
class Asked:
    """One call of a model: where, all that it was sent, and what it answered."""

    node: str
    round: int
    sent: list[Said]
    answer: str


@contextmanager
def recorded() -> Iterator[list[Asked]]:
    """Every call of a scripted or simulated model from here on."""
    found: list[Asked] = []

    def recording(kind: Any) -> Any:
        real = kind.answer

        async def answer(self: Any, request: Request) -> ModelAnswer:
            given: ModelAnswer = await real(self, request)
            found.append(Asked(request.node_id, request.round, sent_by(request), given.content))
            return given

        return patch.object(kind, "answer", answer)

    with recording(ScriptedModel), recording(SimulatedModel):
        yield found


def sent_by(request: Request) -> list[Said]:
    """The system prompt, then the messages as the provider's library lays them out."""
    said = [("system", request.system)] if request.system else []
    for message in messages_of(request):
        role = "user" if isinstance(message, ModelRequest) else "assistant"
        texts = [
            part.content for part in message.parts if isinstance(part, UserPromptPart | TextPart)
        ]
        said.append((role, "\n\n".join(text for text in texts if isinstance(text, str))))
    return said


def transcript(file: Path, task: str, answers: dict[str, list[str]] | None = None) -> list[Asked]:
    """All that the agents of a graph are sent when it runs on a task."""
    with recorded() as calls:
        asyncio.run(_run(Graph.load(file), task, answers or {}))
    return calls


async def _run(graph: Graph, task: str, answers: dict[str, list[str]]) -> None:
    async with Engine(db=None, allow_python=True) as engine:
        session = await engine.start(graph, task)
        while (await session.settled()).status == "waiting":
            node = session.asking[0].node_id
            await session.answer(answers[node].pop(0), node=node)


if __name__ == "__main__":
    replies = {key: text.split("|") for key, _, text in (a.partition("=") for a in sys.argv[3:])}
    for call in transcript(Path(sys.argv[1]), sys.argv[2], replies):
        print(f"──── {call.node}, round {call.round}")
        for role, text in call.sent:
            print(f"{role:>9}: {text}")
        print(f"       => {call.answer}\n")
