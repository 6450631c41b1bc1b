"""What a step is shown besides its messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rondel.engine.message import Message, task_message
from rondel.engine.step import Step


@dataclass(frozen=True, slots=True)
class Recalled:
    """The session's task, and what the node said before in this entry of its loop, oldest first."""

    task: Message | None = None
    own: Sequence[Message] = ()

    @property
    def messages(self) -> list[Message]:
        """All of it, the task first."""
        return [*([] if self.task is None else [self.task]), *self.own]


NOTHING = Recalled()


def recalled_by(step: Step, seen: Sequence[Message], inputs: Mapping[str, Any]) -> Recalled:
    """What a step is shown; what it sees anyway, word for word, it is not shown again."""
    recall = step.node.recall
    own = step.transcript.own_in(step.frame.loop_entry)
    if not (recall.task or own):
        return NOTHING
    known = {"", *(message.readable for message in seen)}
    task = task_message(inputs) if recall.task else None
    if task is not None and task.readable in known:
        task = None
    return Recalled(task, [message for message in own if message.readable not in known])
