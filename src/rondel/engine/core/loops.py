"""Rounds, contracts and ways out: when a loop goes on, when it ends, and with what."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from rondel.engine.core.asking import limit_question
from rondel.engine.core.checkpoint import Checkpoint, Emission
from rondel.engine.core.effects import (
    Judge,
    Leave,
    LoopAsked,
    LoopEnded,
    RoundEnded,
    RoundStarted,
    Setback,
)
from rondel.engine.core.frame import Frame
from rondel.engine.core.ruling import Ruling, by_budget, by_goal, by_regression, by_stagnation
from rondel.engine.core.schedule import Schedule, Settled
from rondel.engine.message import Message
from rondel.engine.protocols import Question
from rondel.engine.ticks import Altered
from rondel.graph.plan import Group
from rondel.graph.reasons import EXIT_EDGE, FAILED, MAX_ROUNDS, NO_RETRIGGER

ROUND_END = "round_end"
"""Why a session is paused that somebody looks at round by round."""

LOOP = "LOOP"
"""The source of what a loop itself tells its head."""


class Loops(Schedule):
    """The part of the core that follows the contracts."""

    questions: dict[int, Question]
    """What is asked, by step; what a loop asks, by the negative of its entry."""
    step_count: int
    paused: bool
    pause_reason: str
    debug: frozenset[str]
    """The heads of the loops after whose rounds the session pauses, besides those that say so."""
    free: bool
    """Whether somebody said that it pauses after no further round."""

    @abstractmethod
    def _leave_graph(self, frame: Frame) -> None:
        """Every item of a graph is over."""

    @abstractmethod
    def _open(self, asker: int, question: Question) -> None:
        """Ask a question and wait for the answer."""

    # Rounds

    def _enter_group(self, parent: Frame, item: int, group: Group) -> bool:
        hits = parent.take_hits(item)
        heads = [node for node, edges in hits.items() if len(edges) >= group.quorum[node]]
        if not heads:
            return self._skip(parent, item)
        if len(heads) > 1:
            names = " and ".join(repr(self.plan.nodes[head].id) for head in sorted(heads))
            text = f"a loop is entered at one node, but {names} were triggered at once"
            self._end("failed", "two_entries", text, FAILED)
            return True
        parent.busy += 1
        self._next_round(self._frame(group.scope(heads[0]), parent, None))
        return True

    def _next_round(self, frame: Frame) -> None:
        frame.begin_round()
        if frame.scope.carry is not None:
            self._forget_old_rounds(frame, frame.scope.carry)
        if self.effects is not None:
            self.effects.append(RoundStarted(frame, frame.round, frame.address))
        head = frame.scope.head
        assert head is not None  # noqa: S101
        frame.busy += 1
        if frame.scope.strays:
            self._settle_all(
                [(frame, item) for item in frame.scope.strays if not self._begin(frame, item)]
            )
        self._start(frame, frame.scope.item_of[head], head)

    def _forget_old_rounds(self, frame: Frame, carry: int) -> None:
        begun = frame.progress.begun = [*frame.progress.begun, self.step_count][-carry - 1 :]
        if len(begun) > 1:
            self.contexts.age(frame.scope.nodes, begun[0] + 1)

    def _end_round(self, frame: Frame) -> Settled | None:
        if frame.scope.head is None:
            self._leave_graph(frame)
            return None
        if frame.scope.judges and not self._is_cut(frame):
            frame.judging = True
            self.commands.put(Judge(frame, *frame.hear()))
            return None
        return self._decide(frame, held=False)

    def _decide(self, frame: Frame, *, held: bool) -> Settled | None:
        """The one point where a loop decides whether it goes on."""
        scope, progress, value = frame.scope, frame.progress, frame.value
        frame.judging = False
        goal: Ruling | None = None
        if held or scope.target is not None:
            goal = by_goal(scope.contract, value, held)
        progress.met = goal is not None
        cut = bool(self.cuts) and self._is_cut(frame)
        best = progress.best_value
        delta = None if self.effects is None else progress.delta(value)
        self._close_round(frame, value, cut=cut)
        if self.effects is not None:
            self.effects.append(RoundEnded(frame, frame.round, frame.address, value, delta))
        ruling: Ruling | None = None
        if cut or scope.has_budget:
            ruling = by_budget(scope.contract.budget, progress, self.active, cut=cut)
        if ruling is None and frame.exited:
            return self._leave_by_edge(frame)
        if ruling is None:
            ruling = goal
        if ruling is None and value is not None and scope.heeds_setbacks:
            ruling = self._setback(frame, value, best)
        if ruling is None and frame.round >= progress.allowance:
            ruling = Ruling(MAX_ROUNDS, float(frame.round), float(progress.allowance))
        return self._go_on(frame) if ruling is None else self._end_by_contract(frame, ruling)

    def _close_round(self, frame: Frame, value: float | None, *, cut: bool) -> None:
        progress = frame.progress
        progress.scored = progress.scored or value is not None
        if cut:
            progress.last_emitted = {**progress.last_emitted, **frame.emitted}
            return
        if frame.scope.heeds_setbacks and progress.is_best(value):
            self._mark_best(frame)
        progress.close_round(frame.round, value, frame.emitted)

    def _mark_best(self, frame: Frame) -> None:
        """Remember where the best round so far ended, if a later one may start from there."""
        regression, progress = frame.scope.contract.regression, frame.progress
        if regression is not None and regression.action == "rollback":
            nodes = self.contexts.remember(frame.scope.nodes)
            progress.checkpoint = Checkpoint(nodes, list(progress.begun))

    def _setback(self, frame: Frame, value: float, best: float | None) -> Ruling | None:
        """Look for a round that is worse or no better, tell of it, and say if the loop ends."""
        contract, progress = frame.scope.contract, frame.progress
        regression, patience = contract.regression, contract.patience
        ruling: Ruling | None = None
        if regression is not None and best is not None and best - value >= regression.drop:
            self._tell_setback(frame, value - best, regression.action, regressed=True)
            frame.rolls_back = regression.action == "rollback"
            ruling = by_regression(contract, best - value)
        if patience is not None and progress.has_stalled(value, patience):
            gain = value - (progress.reference or 0.0)
            self._tell_setback(frame, gain, patience.then, regressed=False)
            frame.nudged = patience.then == "nudge"
            progress.stale = 0
            ruling = ruling or by_stagnation(contract, gain)
        return ruling

    def _tell_setback(self, frame: Frame, delta: float, action: str, *, regressed: bool) -> None:
        if self.effects is not None:
            self.effects.append(
                Setback(frame, frame.round, frame.address, regressed, delta, action)
            )

    def _go_on(self, frame: Frame) -> Settled | None:
        """The next round, if anything starts it."""
        checkpoint = frame.progress.checkpoint
        if frame.rolls_back and checkpoint is not None:
            self.contexts.restore(frame.scope.nodes, checkpoint.nodes)
            frame.progress.begun = list(checkpoint.begun)
            frame.progress.last_value = frame.progress.best_value
            frame.retriggered = True
        if not frame.retriggered:
            return self._leave(frame, Ruling(NO_RETRIGGER))
        if frame.nudged:
            self._nudge(frame)
        if self._pauses_after(frame):
            frame.halted = self.paused = True
            self.pause_reason = ROUND_END
            return None
        self._next_round(frame)
        return None

    def _pauses_after(self, frame: Frame) -> bool:
        """Whether somebody wants to look at each round of the loop before the next one."""
        if self.free:
            return False
        scope = frame.scope
        named = bool(self.debug) and self.plan.nodes[scope.head or 0].id in self.debug
        return named or scope.contract.debug

    def _begin_halted(self) -> None:
        """The session goes on, and with it every loop that waited for that after a round."""
        for frame in [frame for frame in self.frames.values() if frame.halted]:
            frame.halted = False
            if not self.ended:
                self._next_round(frame)

    def _nudge(self, frame: Frame) -> None:
        """Tell the head, after all else it is told, that the loop gets nowhere."""
        patience, head = frame.scope.contract.patience, frame.scope.head
        assert patience is not None and head is not None  # noqa: S101, PT018
        text = (
            f"The last {patience.rounds} rounds gained less than {patience.min_delta:g}. "
            "Take a different approach this time."
        )
        if patience.min_delta == 0:
            text = text.replace("gained less than 0", "gained nothing")
        message = Message(text, role="user", source=LOOP)
        level = frame.scope.last_level + 2
        sent = (frame.prefix, frame.round, level, -1, 0, message, None)
        self.contexts.of(head).put(sent)

    # Ends

    def _leave_by_edge(self, frame: Frame) -> Settled | None:
        scope, head = frame.scope, frame.scope.head
        assert head is not None  # noqa: S101
        if scope.exit_now or not frame.retriggered:
            return self._leave(frame, Ruling(EXIT_EDGE))
        frame.leaving = True
        frame.busy += 1
        self._start(frame, scope.item_of[head], head, visit=2)
        return None

    def _end_by_contract(self, frame: Frame, ruling: Ruling) -> Settled | None:
        scope, progress = frame.scope, frame.progress
        if frame.exited or (frame.parent is not None and self._is_cut(frame.parent)):
            return self._leave(frame, ruling)
        if frame.reached:
            ways = scope.goal_ways or scope.limit_ways
            return self._send_out(frame, ruling, ways, progress.last_emitted)
        match progress.on_limit:
            case "fail":
                self._fail_at_limit(frame, ruling)
                return None
            case "ask":
                self._ask(frame, ruling)
                return None
            case "best" if progress.best_round is not None:
                return self._send_out(frame, ruling, scope.limit_ways, progress.best_emitted)
            case _:
                return self._send_out(frame, ruling, scope.limit_ways, progress.last_emitted)

    def _send_out(
        self, frame: Frame, ruling: Ruling, ways: tuple[int, ...], emitted: dict[int, Emission]
    ) -> Settled | None:
        """Leave by these edges, with what their sources emitted in the round handed on."""
        nothing: Emission = (frame.prefix, frame.round, 0, ())
        sent = {edge: emitted.get(edge, nothing) for edge in ways}
        if any(self.plan.edges[edge].spec.process is not None for edge in ways):
            frame.ruling, frame.ways = ruling, sent
            self.commands.put(Leave(frame, sent))
            return None
        self._force_out(frame, sent, {})
        return self._leave(frame, ruling)

    def _force_out(
        self,
        frame: Frame,
        ways: dict[int, Emission],
        altered: Altered,
    ) -> None:
        """Fire the edges by which a contract leaves the loop."""
        for index, (prefix, of_round, level, emitted) in ways.items():
            edge = self.plan.edges[index]
            messages: Sequence[Message | None] = altered.get(index) or emitted
            transcript = self.contexts.of(edge.target)
            for number, message in enumerate(messages):
                if edge.touches:
                    carried = message if edge.carry else None
                    marked = edge if edge.marks else None
                    transcript.put((prefix, of_round, level, index, number, carried, marked))
            if not emitted or any(message is not None for message in messages):
                frame.pull_out(index, edge.target)

    def _fail_at_limit(self, frame: Frame, ruling: Ruling) -> None:
        self._record_end(frame, ruling)
        del self.frames[frame.entry]
        text = (
            f"loop {frame.scope.name!r} ended after round {frame.round} without reaching its "
            f"goal: {ruling.reason}{ruling.figures}; its on_limit is fail"
        )
        self._end("failed", ruling.reason, text, FAILED)

    def _ask(self, frame: Frame, ruling: Ruling, refused: str = "") -> None:
        """At its limit a loop waits for somebody to say how it goes on."""
        frame.ruling = ruling
        question = limit_question(frame, ruling, refused)
        self._open(-frame.entry, question)
        emitted = frame.progress.last_emitted
        shown = [m for way in frame.scope.limit_ways if way in emitted for m in emitted[way][3]]
        self._mark(LoopAsked(frame, frame.address, question, shown))

    def _leave(self, frame: Frame, ruling: Ruling) -> Settled | None:
        """End the loop; the item it is in the scope around it is settled."""
        self._record_end(frame, ruling)
        self.contexts.drop_pending(frame.scope.nodes)
        del self.frames[frame.entry]
        self.cuts -= frame.cut
        parent = frame.parent
        assert parent is not None  # noqa: S101
        parent.busy -= 1
        parent.take_up(frame)
        return parent, frame.item

    def _record_end(self, frame: Frame, ruling: Ruling) -> None:
        self._mark(LoopEnded(frame, self.endings.record(frame, ruling, self.plan)))
