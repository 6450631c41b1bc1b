"""The state of a session as plain data, so that a long session opens without its whole past.

A snapshot after n ticks and the ticks from n on give the state that all ticks give. It is a
shortcut, never the truth: a snapshot that does not fit is thrown away and the journal folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rondel.engine import ticks
from rondel.engine.core.checkpoint import RETRIED, Checkpoint, Emission, Remembered
from rondel.engine.core.contract import LoopEnd, Ruling
from rondel.engine.core.expansion import Expansion
from rondel.engine.core.frame import NOWHERE, Frame
from rondel.engine.core.progress import Progress
from rondel.engine.core.state import ENDED, SessionState
from rondel.engine.core.step import Step
from rondel.engine.core.transcript import EVERYTHING, AgingTranscript, Delivery, Prefix, Transcript
from rondel.engine.message import Message
from rondel.engine.protocols import Question, Usage, Verdict
from rondel.graph.plan import InnerLoop, Plan, PlanEdge, Scope

FORMAT = 4


class _Sent(msgspec.Struct, array_like=True):
    prefix: tuple[int, ...]
    round: int
    level: int
    place: int
    number: int
    message: Message | None


class _Node(msgspec.Struct, array_like=True):
    node: int
    inbox: list[_Sent]
    retained: list[Message]
    keeps: bool
    stamps: list[int]
    private: Any
    own: list[tuple[Message, ...]] = []
    own_entry: int = 0


class _Progress(msgspec.Struct, omit_defaults=True):
    allowance: int
    on_limit: str
    active_at_start: float
    grants: int = 1
    tokens: int = 0
    usd: float = 0.0
    last_value: float | None = None
    best_value: float | None = None
    best_round: int | None = None
    reference: float | None = None
    stale: int = 0
    scored: bool = False
    met: bool = False
    begun: list[int] = []
    last_emitted: dict[int, Emission] = {}
    best_emitted: dict[int, Emission] = {}
    checkpoint: tuple[list[_Node], list[int]] | None = None


class _Frame(msgspec.Struct, omit_defaults=True):
    entry: int
    parent: int | None
    owner: int | None
    item: int
    head: int | None
    round: int
    waits: list[int]
    fired: list[int]
    open: int
    busy: int
    progress: _Progress
    hits: dict[int, dict[int, list[int]]] = {}
    exited: bool = False
    retriggered: bool = False
    leaving: bool = False
    checking_until: bool = msgspec.field(default=False, name="judging")
    halted: bool = False
    cut: bool = False
    rolls_back: bool = False
    nudged: bool = False
    ruling: Ruling | None = None
    ways: dict[int, Emission] | None = None
    level: int = 0
    waiting_items: list[int] = msgspec.field(default_factory=list, name="held")
    emitted: dict[int, Emission] = {}
    outputs: dict[int, Sequence[Message]] = {}
    verdict: Verdict | None = None
    verdict_place: tuple[int, int] = NOWHERE
    goal: Verdict | None = None
    goal_place: tuple[int, int] = NOWHERE
    scores: list[float | None] = msgspec.field(default_factory=list, name="values")
    score_places: list[tuple[int, int]] = msgspec.field(default_factory=list, name="places")
    said: list[tuple[tuple[int, int], dict[str, Any], str]] = []


class _Step(msgspec.Struct, omit_defaults=True):
    number: int
    node: int
    frame: int
    item: int
    level: int
    round: int
    visit: int
    seen: int
    inputs: list[Message] = []
    fresh: list[Message] = []
    answer: Any = None
    routing: tuple[Message, ...] | None = None
    parts: dict[str, Any] | None = None
    attempts: tuple[str, ...] = ()
    earlier: int = 0
    due: float = 0.0
    unexpanded: bool = False
    expansion: Expansion | None = None
    owner: int | None = None
    part: int = 0
    group: int = 0
    private: Any = None


class Snapshot(msgspec.Struct, omit_defaults=True):
    """Everything a session's state holds, as JSON can hold it."""

    format: int
    status: str
    reason: str
    message: str
    inputs: dict[str, Any]
    started_at: float
    last_at: float
    idle: float
    spent: Usage
    calls: int
    step_count: int
    entry_count: int
    frames: list[_Frame]
    steps: list[_Step]
    questions: list[tuple[int, Question]]
    nodes: list[_Node]
    loops: dict[int, LoopEnd]
    bounded: list[tuple[tuple[int, ...], bool]]
    stuck: list[int]
    silent: list[int]
    signals: dict[str, Any] = {}
    paused: bool = False
    pause_reason: str = ""
    debug: list[str] = []
    free: bool = False
    lock: ticks.Locked | None = None
    parked: dict[int, int] = {}
    own: Usage = Usage()
    own_calls: int = 0
    root_outputs: dict[int, Sequence[Message]] = {}
    guard: Any = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Snapshot)


def dump(state: SessionState, guard: Any = None) -> bytes:
    """The state, and what the guard of the session knows."""
    root = state.root
    return _encoder.encode(
        Snapshot(
            format=FORMAT,
            status=state.status,
            reason=state.reason,
            message=state.message,
            inputs=state.inputs,
            started_at=state.started_at,
            last_at=state.last_at,
            idle=state.idle,
            spent=state.spent,
            calls=state.calls,
            step_count=state.step_count,
            entry_count=state.entry_count,
            frames=[_dump_frame(frame) for frame in state.frames.values()],
            steps=[_dump_step(step) for step in state.steps.values()],
            questions=list(state.questions.items()),
            nodes=[_dump_node(number, found) for number, found in state.transcripts.items()],
            loops=state.loop_ends,
            bounded=list(state.goals_missed.items()),
            stuck=list(state.unrouted),
            silent=list(state.silent),
            signals=state.signals,
            paused=state.paused,
            pause_reason=state.pause_reason,
            debug=sorted(state.debug),
            free=state.free,
            lock=state.lock,
            parked=state.parked,
            own=state.own,
            own_calls=state.own_calls,
            root_outputs=root.outputs if root is not None else {},
            guard=guard,
        )
    )


def load(state: SessionState, blob: bytes) -> Any:
    """Make a fresh state what was dumped, and return what its guard knew.

    Raises ValueError if it does not fit.
    """
    try:
        snapshot = _decoder.decode(blob)
        if snapshot.format != FORMAT:
            raise ValueError(f"snapshot of format {snapshot.format}")
        if snapshot.status == "failed" and snapshot.reason in RETRIED:
            raise ValueError("what a failure has ended is not in a snapshot")
        _Restoration(state, snapshot).run()
        return snapshot.guard
    except (msgspec.MsgspecError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the snapshot does not fit: {error}") from error


def _dump_frame(frame: Frame) -> _Frame:
    return _Frame(
        entry=frame.entry,
        parent=frame.parent.entry if frame.parent is not None else None,
        owner=frame.owner.number if frame.owner is not None else None,
        head=frame.scope.head,
        hits={
            item: {node: sorted(edges) for node, edges in nodes.items()}
            for item, nodes in frame.hits.items()
        },
        progress=_dump_progress(frame.progress),
        **{name: getattr(frame, name) for name in _PLAIN},
    )


def _dump_progress(progress: Progress) -> _Progress:
    checkpoint = progress.checkpoint
    return _Progress(
        checkpoint=None
        if checkpoint is None
        else ([_dump_remembered(*item) for item in checkpoint.nodes.items()], checkpoint.begun),
        **{name: getattr(progress, name) for name in _PROGRESS},
    )


def _dump_remembered(number: int, then: Remembered) -> _Node:
    retained, stamps = then.retained[: then.length], then.stamps[: then.length]
    inbox = _dump_inbox(then.inbox)
    return _Node(number, inbox, retained, then.keeps, stamps, None, then.own, then.own_entry)


def _dump_step(step: Step) -> _Step:
    whole = step.transcript.window == EVERYTHING and not step.part
    return _Step(
        number=step.number,
        node=step.node.index,
        frame=step.frame.entry,
        item=step.item,
        level=step.level,
        round=step.round,
        visit=step.visit,
        seen=len(step.inputs),
        inputs=[] if whole else list(step.inputs),
        fresh=list(step.fresh),
        answer=step.answer,
        routing=step.routing,
        parts=step.parts,
        attempts=step.attempts,
        earlier=step.earlier,
        due=step.due,
        unexpanded=step.unexpanded,
        expansion=step.expansion,
        owner=None if step.owner is None else step.owner.number,
        part=step.part,
        group=step.group,
        private=step.private,
    )


def _dump_node(number: int, transcript: Transcript) -> _Node:
    stamps = transcript.stamps if isinstance(transcript, AgingTranscript) else []
    inbox = _dump_inbox(transcript.inbox)
    kept = transcript.retained, transcript.keeps, stamps, transcript.private
    return _Node(number, inbox, *kept, transcript.own, transcript.own_entry)


def _dump_inbox(inbox: list[Delivery]) -> list[_Sent]:
    return [
        _Sent(sent.prefix, sent.round, sent.level, sent.place, sent.number, sent.message)
        for sent in inbox
    ]


_PLAIN = tuple(
    name
    for name in _Frame.__struct_fields__
    if name not in ("entry", "parent", "owner", "head", "hits", "progress")
)
_PROGRESS = tuple(name for name in _Progress.__struct_fields__ if name != "checkpoint")


_TOLD = ("status", "reason", "message", "inputs", "signals", "started_at", "last_at", "idle")


class _Restoration:
    """Builds the objects of a session from a snapshot, frames and steps in the order they began."""

    def __init__(self, state: SessionState, snapshot: Snapshot) -> None:
        self._state = state
        self._plan: Plan = state.plan
        self._snapshot = snapshot
        self._frames = {frame.entry: frame for frame in snapshot.frames}
        self._steps = {step.number: step for step in snapshot.steps}
        self._restored: dict[int, Step] = {}

    def run(self) -> None:
        state, snapshot = self._state, self._snapshot
        for node in snapshot.nodes:
            self._restore_node(node)
        for frame in snapshot.frames:
            self._frame(frame.entry)
        for data in snapshot.steps:
            self._step(data.number)
        for _, step in sorted(self._restored.items()):
            state.steps[step.number] = step
        for name in _TOLD:
            setattr(state, name, getattr(snapshot, name))
        state.ended = state.status in ENDED
        state.running = state.status == "running"
        state.questions = dict(snapshot.questions)
        state.spent, state.calls = snapshot.spent, snapshot.calls
        state.step_count = snapshot.step_count
        state.entry_count = snapshot.entry_count
        state.paused, state.pause_reason = snapshot.paused, snapshot.pause_reason
        state.debug, state.free = frozenset(snapshot.debug), snapshot.free
        state.lock = snapshot.lock
        state.parked = snapshot.parked
        state.own, state.own_calls = snapshot.own, snapshot.own_calls
        state.cuts = sum(frame.cut for frame in state.frames.values())
        state.loop_ends = snapshot.loops
        state.goals_missed = dict(snapshot.bounded)
        state.unrouted = dict.fromkeys(snapshot.stuck)
        state.silent = dict.fromkeys(snapshot.silent)
        self._restore_root()

    def _restore_node(self, node: _Node) -> None:
        transcript = self._state.transcripts.of(node.node)
        transcript.private = node.private
        transcript.inbox = self._inbox(node.inbox)
        transcript.replace(node.retained, keeps=node.keeps)
        transcript.own, transcript.own_entry = node.own, node.own_entry
        if isinstance(transcript, AgingTranscript):
            transcript.stamps = node.stamps

    def _inbox(self, inbox: list[_Sent]) -> list[Delivery]:
        return [
            Delivery(
                *(sent.prefix, sent.round, sent.level, sent.place, sent.number, sent.message),
                self._marked(sent.place),
            )
            for sent in inbox
        ]

    def _marked(self, place: int) -> PlanEdge | None:
        """The edge that a delivery came by, if that does more than deliver."""
        edge = self._plan.edges[place] if place >= 0 else None
        return edge if edge is not None and edge.marks else None

    def _frame(self, entry: int) -> Frame:
        frames = self._state.frames
        if entry in frames:
            return frames[entry]
        data = self._frames[entry]
        owner = self._step(data.owner) if data.owner is not None else None
        parent = self._frame(data.parent) if data.parent is not None else None
        frame = Frame(entry, self._scope(data, parent, owner), parent, owner)
        for name in _PLAIN:
            setattr(frame, name, getattr(data, name))
        frame.hits = {
            item: {node: set(edges) for node, edges in nodes.items()}
            for item, nodes in data.hits.items()
        }
        self._restore_progress(frame.progress, data.progress)
        frames[entry] = frame
        return frame

    def _restore_progress(self, progress: Progress, data: _Progress) -> None:
        for name in _PROGRESS:
            setattr(progress, name, getattr(data, name))
        if data.checkpoint is None:
            return
        nodes, begun = data.checkpoint
        remembered = {
            node.node: Remembered(
                *(node.retained, len(node.retained), node.stamps, node.keeps),
                self._inbox(node.inbox),
                *(node.own, node.own_entry),
            )
            for node in nodes
        }
        progress.checkpoint = Checkpoint(remembered, begun)

    def _scope(self, data: _Frame, parent: Frame | None, owner: Step | None) -> Scope:
        if data.head is not None and parent is not None:
            group = parent.scope.items[data.item]
            if isinstance(group, InnerLoop):
                return group.scope(data.head)
        inner = owner.node.inner if owner is not None else self._plan.root
        if inner is None:
            raise LookupError(f"entry {data.entry} has no scope")
        return inner

    def _step(self, number: int) -> Step:
        state = self._state
        if number in self._restored:
            return self._restored[number]
        data = self._steps[number]
        node = self._plan.nodes[data.node]
        transcript = state.transcripts.of(data.node)
        frame = self._frame(data.frame)
        step = Step(number, node, frame, data.item, data.level, data.round, data.visit, transcript)
        step.inputs = data.inputs
        if transcript.window == EVERYTHING and not data.part:
            step.inputs = Prefix(transcript.retained, data.seen)
        step.fresh = data.fresh
        step.answer = data.answer
        step.routing = data.routing
        step.parts = data.parts
        step.attempts, step.earlier, step.due = data.attempts, data.earlier, data.due
        step.unexpanded, step.expansion = data.unexpanded, data.expansion
        step.owner = None if data.owner is None else self._step(data.owner)
        step.part, step.group, step.private = data.part, data.group, data.private
        self._restored[number] = step
        return step

    def _restore_root(self) -> None:
        state = self._state
        state.root = next((f for f in state.frames.values() if f.parent is None), None)
        if state.root is None and self._snapshot.status != "pending":
            state.root = Frame(1, self._plan.root, None, None)
            state.root.outputs = self._snapshot.root_outputs
