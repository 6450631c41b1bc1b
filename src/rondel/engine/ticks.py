"""What happened, as the journal stores it: the only input of the core.

Every tick carries its time, because the core has no clock. Steps and loop entries are named by
the numbers the core gave them; the same ticks in the same order give the same numbers.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rondel.engine.message import Message
from rondel.engine.protocols import Question, Usage, Verdict


class Tick(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="t", gc=False):
    """The base of all ticks; `at` is seconds since the epoch."""

    at: float


class Started(Tick, frozen=True, tag="start"):
    """The session began with these inputs."""

    inputs: dict[str, Any]
    estimate: int | None = None
    """How many tokens it will take, as far as was known then."""
    estimated_from: str = ""
    debug: list[str] = []
    """The heads of loops after whose rounds it pauses, besides those whose contract says so."""


Altered = dict[int, list[Message | None]]
"""By edge, what its condition let through or its process made of a step's messages."""


class Finished(Tick, frozen=True, tag="done"):
    """A step produced `messages`, and these edges fired.

    `altered` holds, for an edge whose condition held for only some messages or whose process
    changed them, what came out: a message each, or None where the process dropped it.
    """

    step: int
    messages: tuple[Message, ...] = ()
    fired: tuple[int, ...] = ()
    altered: Altered = {}
    state: Any = msgspec.UNSET
    verdict: Verdict | None = None
    report: dict[str, Any] | None = None
    usage: list[Usage] = []
    took: float = 0.0
    retried: list[str] = []
    entropy: float | None = None
    """How much of a model's words was new, where a guard has measured it."""


class Failed(Tick, frozen=True, tag="fail"):
    """A step failed for good; `retried` holds the errors of its earlier attempts."""

    step: int
    error: str
    kind: str = "error"
    usage: list[Usage] = []
    took: float = 0.0
    retried: list[str] = []


class Suspended(Tick, frozen=True, tag="ask"):
    """A step waits for an answer from outside."""

    step: int
    question: Question
    state: Any = msgspec.UNSET
    usage: list[Usage] = []


class Answered(Tick, frozen=True, tag="answer"):
    """Somebody answered a step's question."""

    step: int
    answer: Any
    by: str = ""


class Substepped(Tick, frozen=True, tag="sub"):
    """A part of a step is done; it is not done again when the step is."""

    step: int
    name: str
    value: Any
    usage: list[Usage] = []
    event: str = ""
    """The name of the event that tells of it, if one does."""


class Stage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What came along one dynamic edge, in parts, and how a node runs over them."""

    mode: str
    parts: list[Message]
    max_parallel: int = 10
    group_size: int = 3
    passes_one: bool = False
    """A single part goes on as it is, and later layers of a tree see nothing else."""


class Expanded(Tick, frozen=True, tag="expand"):
    """A step runs its node over parts, each a step; without any, its node's graph is entered."""

    step: int
    stages: list[Stage] = []
    shared: list[int] = []
    """The places, among the step's messages, of those that every part sees."""


class Spent(Tick, frozen=True, tag="spend"):
    """What a step has spent that was cut off and runs again, or never ends."""

    step: int
    usage: list[Usage]


class Attempted(Tick, frozen=True, tag="attempt"):
    """An attempt of a step failed; the next one begins then."""

    step: int
    error: str
    until: float
    usage: list[Usage] = []


class Refused(Tick, frozen=True, tag="refuse"):
    """A step may not spend any more: the budget of an entry around it is used up."""

    step: int
    entry: int
    usage: list[Usage] = []
    took: float = 0.0


class UntilChecked(Tick, frozen=True, tag="judge"):
    """Whether the `until` of a loop's contract held after its round."""

    entry: int
    met: bool = msgspec.field(name="held")


class Noted(Tick, frozen=True, tag="note"):
    """A guard tells something that changes nothing."""

    event: str
    data: dict[str, Any]
    node: str = ""
    address: str = ""


class WayOut(Tick, frozen=True, tag="out"):
    """What the processes of the edges made of the messages a contract sends out of a loop."""

    entry: int
    altered: Altered = {}


class Paused(Tick, frozen=True, tag="pause"):
    """No new step starts until the session is resumed."""

    by: str = ""


class Resumed(Tick, frozen=True, tag="resume"):
    """The session goes on, after a pause or in a new process."""

    by: str = ""
    free: bool = False
    """Whether it pauses after no further round."""


class Retried(Tick, frozen=True, tag="retry"):
    """A session that a step's failure had ended goes on: that step runs again."""

    by: str = ""


class Stopped(Tick, frozen=True, tag="stop"):
    """Somebody ended the session."""

    by: str = ""


class Locked(Tick, frozen=True, tag="lock"):
    """A guard locked the session."""

    reason: str
    message: str
    figures: dict[str, Any] = {}


class Unlocked(Tick, frozen=True, tag="unlock"):
    """Somebody opened the lock, and said why."""

    by: str = ""
    justification: str = ""


class Aborted(Tick, frozen=True, tag="abort"):
    """The session cannot go on for a reason outside its steps."""

    reason: str
    message: str


class Signalled(Tick, frozen=True, tag="signal"):
    """Somebody outside told the session something that later steps can read."""

    name: str
    data: Any = None
    by: str = ""


class Forked(Tick, frozen=True, tag="fork"):
    """What lies before this is the past of another session."""

    parent: str


Spending = Finished | Failed | Suspended | Substepped | Spent | Attempted | Refused
"""What may tell of model calls."""

Pausing = Paused | Resumed | Retried
"""What holds the session up, or lets it go on."""

Control = Signalled | Stopped | Locked | Unlocked | Aborted | Noted | Forked
"""What else comes from outside the steps."""

RareTick = (
    Started
    | Failed
    | Suspended
    | Answered
    | Substepped
    | Expanded
    | Spent
    | Attempted
    | Refused
    | UntilChecked
    | WayOut
    | Pausing
    | Control
)
"""Any but the end of a step."""

AnyTick = Finished | RareTick
