"""All that the ticks of one session have led to so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rondel.engine import ticks
from rondel.engine.core.checkpoint import StepFailure
from rondel.engine.core.contract import LoopEnd
from rondel.engine.core.effects import Command, Effect
from rondel.engine.core.frame import Frame
from rondel.engine.core.step import Step
from rondel.engine.core.transcripts import Transcripts
from rondel.engine.message import Message
from rondel.engine.protocols import Question, Usage
from rondel.graph.plan import Plan, PlanNode, Scope

NOTHING_SPENT: Final = Usage()

NO_INPUTS: Final[dict[str, Any]] = {}
NO_QUESTIONS: Final[dict[int, Question]] = {}
NO_STEPS_PARKED: Final[dict[int, int]] = {}
NO_LOOP_ENDS: Final[dict[int, LoopEnd]] = {}
NO_GOALS_MISSED: Final[dict[tuple[int, ...], bool]] = {}
NO_NODES: Final[dict[int, None]] = {}
NOT_DEBUGGED: Final[frozenset[str]] = frozenset()
NO_LEVELS: Final[list[Frame]] = []
"""What every session begins with, shared by all and never changed: many need no more."""

ENDED: Final = frozenset({"completed", "bounded", "failed", "cancelled"})


class SessionState:
    """The state of one session; the modules beside this one change it, tick by tick.

    With `effects` given, they also note down there what happened.
    """

    def __init__(self, plan: Plan, effects: list[Effect] | None = None) -> None:
        self.plan = plan
        self.effects = effects
        self.commands: list[Command] = []
        """What is to be done because of the last tick."""
        self.inputs = NO_INPUTS
        self.status = "pending"
        self.running = False
        """Whether the status is running."""
        self.ended = False
        """Whether the session is over."""
        self.reason = ""
        self.message = ""
        self.paused = False
        self.pause_reason = ""
        self.debug = NOT_DEBUGGED
        """The heads of loops after whose rounds the session pauses, besides those that say so."""
        self.free = False
        """Whether somebody said that it pauses after no further round."""
        self.failure: StepFailure | None = None
        """What the failure of a step has ended, for a session that may go on from there."""
        self.lock: ticks.Locked | None = None
        self.signals: dict[str, Any] = {}
        self.started_at = 0.0
        self.last_at = 0.0
        self.idle = 0.0
        """Seconds the session has spent waiting, paused, locked or without a process."""
        self.spent = NOTHING_SPENT
        """What all model calls so far took together."""
        self.calls = 0
        self.own = NOTHING_SPENT
        """What model calls took without those of another session whose past this one shares."""
        self.own_calls = 0
        self.root: Frame | None = None
        self.frames: dict[int, Frame] = {}
        """Graphs and loops under way, by the number of their entry."""
        self.entry_count = 0
        self.steps: dict[int, Step] = {}
        """Steps under way, by number."""
        self.step_count = 0
        self.transcripts = Transcripts(plan)
        self.questions = NO_QUESTIONS
        """What is asked, by step; what a loop asks, by the negative of its entry."""
        self.parked = NO_STEPS_PARKED
        """Steps that were refused a model call and wait, and the entry whose budget is used up."""
        self.cuts = 0
        """How many loops have run out of budget and wait for the end of their round."""
        self.ended_levels = NO_LEVELS
        """Rounds that go by level, in which an item was settled since the last look."""
        self.loop_ends = NO_LOOP_ENDS
        """By head, how the last entry of its loop ended."""
        self.goals_missed = NO_GOALS_MISSED
        """By loop, whichever its head: whether its last entry missed its goal."""
        self.unrouted = NO_NODES
        """Nodes whose newest messages no edge took."""
        self.silent = NO_NODES
        """Nodes with a graph inside them whose ends produced nothing, the last time it ran."""

    def mark(self, effect: Effect) -> None:
        """Note down what happened, if somebody watches."""
        if self.effects is not None:
            self.effects.append(effect)

    def add_frame(self, scope: Scope, parent: Frame | None, owner: Step | None) -> Frame:
        """A new entry of a scope."""
        self.entry_count += 1
        frame = Frame(self.entry_count, scope, parent, owner, self.active)
        self.frames[frame.entry] = frame
        return frame

    def is_cut(self, frame: Frame) -> bool:
        """Whether a budget around the frame is used up, so that nothing new starts in it."""
        return bool(self.cuts) and any(around.cut for around in frame.outward())

    def is_waiting(self, step: Step) -> bool:
        """Whether a step waits for its inner graph, an answer, or a budget."""
        inside = step.expansion is not None or (
            step.node.inner is not None and step.routing is None and not step.unexpanded
        )
        return inside or step.number in self.questions or step.number in self.parked

    @property
    def active(self) -> float:
        """Seconds the session has run so far, waiting excluded."""
        return self.last_at - self.started_at - self.idle

    @property
    def next_deadline(self) -> float | None:
        """When the first open question expires."""
        deadlines = [q.deadline for q in self.questions.values() if q.deadline is not None]
        return min(deadlines, default=None)

    def asker(self, question: int) -> tuple[PlanNode, str]:
        """Who asks an open question, and where: a step's node, or the head of a loop."""
        if question > 0:
            step = self.steps[question]
            return step.node, step.address
        frame = self.frames[-question]
        return self.plan.nodes[frame.scope.head or 0], frame.address

    @property
    def output(self) -> Sequence[Message] | None:
        """What the first end node with output produced."""
        return None if self.root is None else self.root.output

    @property
    def loops(self) -> list[LoopEnd]:
        """How the last entry of every loop ended, in the order of the heads in the file."""
        return [self.loop_ends[head] for head in sorted(self.loop_ends)]
