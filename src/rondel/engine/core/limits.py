"""Where a loop or the whole run has used up what it may: refusals, and what people answer."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from rondel.engine import ticks
from rondel.engine.core.asking import CONTINUE, STOP, Choice, chosen
from rondel.engine.core.effects import Effect, LoopAnswered
from rondel.engine.core.frame import Frame
from rondel.engine.core.loops import Loops
from rondel.engine.core.ruling import Ruling, by_budget, by_goal
from rondel.engine.core.steps import Steps
from rondel.engine.protocols import Question
from rondel.graph.plan import Plan
from rondel.graph.reasons import BUDGET_EXHAUSTED, CANCELLED, EXIT_EDGE

NO_QUESTIONS: Final[dict[int, Question]] = {}
NOBODY: Final[dict[int, int]] = {}
"""What every session begins with, shared by all and never changed."""


class Limits(Loops):
    """The part of the core that says no."""

    root: Frame | None

    def __init__(self, plan: Plan, effects: list[Effect] | None) -> None:
        super().__init__(plan, effects)
        self.steps = Steps()
        self.questions = NO_QUESTIONS
        self.parked = NOBODY
        """Steps that were refused and wait for leave, and the entry whose budget is used up."""

    @abstractmethod
    def _drop(self, number: int) -> None:
        """End a step without an output."""

    def _open(self, asker: int, question: Question) -> None:
        if self.questions is NO_QUESTIONS:
            self.questions = {}
        self.questions[asker] = question

    # Budgets

    def _refuse(self, tick: ticks.Refused) -> None:
        """A model call was refused: nothing new starts in the loop whose budget is used up."""
        step, frame = self.steps[tick.step], self.frames[tick.entry]
        if frame.scope.head is None:
            self._exhaust()
            return
        if self._asks(frame):
            self.parked = {**self.parked, step.number: frame.entry}
            if -frame.entry not in self.questions:
                budget = frame.scope.contract.budget
                ruling = by_budget(budget, frame.progress, self.active, cut=True)
                self._ask(frame, ruling or Ruling(BUDGET_EXHAUSTED))
            return
        if not frame.cut:
            frame.cut = True
            self.cuts += 1
        self._drop(step.number)

    def _asks(self, frame: Frame) -> bool:
        """Whether somebody is to say how a loop goes on whose budget is used up."""
        if frame.progress.on_limit != "ask" or frame.leaving or self._is_cut(frame):
            return False
        return by_goal(frame.scope.contract, frame.value, held=False) is None

    def _exhaust(self) -> None:
        """The budget of the whole run is used up."""
        assert self.root is not None  # noqa: S101
        budget = self.plan.spec.limits.budget
        ruling = by_budget(budget, self.root.progress, self.active, cut=True)
        figures = "" if ruling is None else ruling.figures
        text = f"the run used up what graph.limits allows{figures}; raise it, or bound its loops"
        self._end("failed", BUDGET_EXHAUSTED, text, BUDGET_EXHAUSTED)

    # What loops ask

    def _answer_loop(self, tick: ticks.Answered) -> None:
        frame = self.frames[-tick.step]
        self._mark(LoopAnswered(frame, frame.address, tick))
        choice, ruling = chosen(tick.answer), frame.ruling or Ruling(EXIT_EDGE)
        if choice is None:
            self._ask(frame, ruling, str(tick.answer))
            return
        del self.questions[tick.step]
        frame.ruling = None
        parked = [step for step, entry in self.parked.items() if entry == frame.entry]
        for step in parked:
            del self.parked[step]
        if choice.action == CONTINUE and not self._is_cut(frame):
            self._extend(frame, choice, parked)
        elif choice.action != STOP:
            self._take_best(frame, ruling, parked)
        else:
            text = f"stopped by {tick.by or 'the user'} at the limit of loop {frame.scope.name!r}"
            self._record_end(frame, ruling)
            del self.frames[frame.entry]
            self._end("cancelled", "stopped", text, CANCELLED)

    def _extend(self, frame: Frame, choice: Choice, parked: list[int]) -> None:
        progress = frame.progress
        rounds = choice.rounds or frame.scope.max_rounds
        progress.allowance = frame.round + rounds
        progress.grants += 1
        progress.stale = 0
        if parked:
            self.commands.put_all([self.steps[step] for step in parked])
        else:
            self._settle_all([self._go_on(frame)])

    def _take_best(self, frame: Frame, ruling: Ruling, parked: list[int]) -> None:
        frame.progress.on_limit = "best"
        if not parked:
            self._settle_all([self._end_by_contract(frame, ruling)])
            return
        frame.cut = True
        self.cuts += 1
        for step in parked:
            self._drop(step)
