"""Steps that run their node over the parts of what came to them: each run is a step of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from rondel.engine.core.effects import Route, StepStarted, StepTicked
from rondel.engine.core.ends import fail_session
from rondel.engine.core.state import SessionState
from rondel.engine.core.step import Step
from rondel.engine.core.work import DONE, GraphReached, Work
from rondel.engine.emit import UNCHANGED
from rondel.engine.message import Message
from rondel.engine.ticks import Expanded, Finished, Stage

TREE = "tree"


class Expansion(msgspec.Struct, gc=False):
    """How far a step is with its parts."""

    stages: list[Stage]
    shared: list[Message]
    """What every part sees besides its own."""
    stage: int = -1
    layer: int = 0
    """Of a tree, from 1."""
    groups: list[list[Message]] = []
    """What is run over in this layer, in order."""
    said: list[tuple[Message, ...]] = []
    begun: int = 0
    running: int = 0
    count: int = 0
    """How many parts have begun in all layers."""
    messages: list[Message] = []
    """What the stages so far came to."""
    states: dict[int, Any] = {}
    """Private states that parts left, by their numbers."""

    def next_layer(self) -> bool:
        """Go on to what is to be run over next, if anything is."""
        if self.stage >= 0:
            stage = self.stages[self.stage]
            spoken = [message for said in self.said for message in said]
            if stage.mode == TREE and len(self.groups) > 1 and spoken:
                self._begin(stage, spoken, self.layer + 1)
                return True
            self.messages = [*self.messages, *spoken]
        self.stage += 1
        if self.stage >= len(self.stages):
            return False
        stage = self.stages[self.stage]
        if stage.mode == TREE and stage.passes_one and len(stage.parts) == 1:
            self.groups, self.said, self.begun, self.layer = (
                [stage.parts],
                [tuple(stage.parts)],
                1,
                1,
            )
            return True
        self._begin(stage, stage.parts, 1)
        return True

    def _begin(self, stage: Stage, parts: list[Message], layer: int) -> None:
        size = stage.group_size if stage.mode == TREE else 1
        self.groups = [parts[at : at + size] for at in range(0, len(parts), size)]
        self.said = [() for _ in self.groups]
        self.begun, self.layer = 0, layer

    @property
    def most(self) -> int:
        """How many parts may run at once."""
        return self.stages[self.stage].max_parallel


def expand_step(state: SessionState, tick: Expanded) -> list[Work]:
    """A step is to run over parts, or its node's graph is to be entered after all."""
    step = state.steps[tick.step]
    step.unexpanded = False
    state.mark(StepTicked(step, tick, step.address))
    if not tick.stages:
        return [GraphReached(step)]
    shared = [step.inputs[place] for place in tick.shared]
    step.expansion = Expansion(tick.stages, shared)
    return _go_on(state, step, step.expansion)


def end_part(state: SessionState, part: Step, tick: Finished | None) -> list[Work]:
    """A part is over, with what its tick says or with nothing; it is not under way any more."""
    owner = part.owner
    assert owner is not None  # noqa: S101
    expansion: Expansion = owner.expansion
    expansion.running -= 1
    if tick is not None:
        expansion.said[part.group] = tick.messages
        if tick.state is not UNCHANGED:
            expansion.states = {**expansion.states, part.part: tick.state}
    return _go_on(state, owner, expansion)


def _go_on(state: SessionState, owner: Step, expansion: Expansion) -> list[Work]:
    """Start as many parts as may run; where none is left, the step's messages go on their way."""
    work: list[Work] = []
    # The nodes of an inner graph have one transcript each: its runs follow one another.
    alone = owner.node.inner is not None
    while True:
        if expansion.stage >= 0:
            most = 1 if alone else expansion.most
            waiting = expansion.begun < len(expansion.groups)
            while waiting and expansion.running < most and not state.is_cut(owner.frame):
                started = _start_part(state, owner, expansion)
                if started is None:
                    return DONE
                work.extend(started)
                waiting = expansion.begun < len(expansion.groups)
        if expansion.running:
            return work
        if not expansion.next_layer():
            break
    owner.expansion = None
    if expansion.states:
        owner.transcript.private = expansion.states[max(expansion.states)]
    owner.routing = tuple(expansion.messages)
    state.commands.append(Route(owner, owner.routing))
    return work


def _start_part(state: SessionState, owner: Step, expansion: Expansion) -> list[Work] | None:
    """Run the owner's node on the next part; None if the limits of the run do not allow it."""
    number = state.step_count + 1
    if number > state.plan.max_steps:
        text = f"the run reached its limit of {state.plan.max_steps} steps; raise "
        fail_session(state, "max_steps_reached", f"{text}graph.limits.max_steps")
        return None
    state.step_count = number
    place = expansion.begun
    group = expansion.groups[place]
    shared = expansion.shared if expansion.layer == 1 or not _is_first_only(expansion) else []
    expansion.begun += 1
    expansion.running += 1
    expansion.count += 1
    where = (owner.frame, owner.item, owner.level, owner.round, owner.visit, owner.transcript)
    part = Step(number, owner.node, *where, [*shared, *group], group)
    part.owner, part.part, part.group = owner, expansion.count, place
    part.private = owner.transcript.private
    state.steps[number] = part
    state.mark(StepStarted(part, part.address))
    if owner.node.inner is not None:
        return [GraphReached(part)]
    state.commands.append(part)
    return DONE


def _is_first_only(expansion: Expansion) -> bool:
    """Whether only the first layer of a tree sees what is shared."""
    return expansion.stages[expansion.stage].passes_one
