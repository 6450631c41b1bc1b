"""From the end of a step to the start of the next: what was produced goes where it belongs."""

from __future__ import annotations

from collections.abc import Sequence

from rondel.engine.core.effects import Effect
from rondel.engine.core.limits import Limits
from rondel.engine.core.outputs import Outputs
from rondel.engine.core.ruling import Ruling
from rondel.engine.core.step import Step
from rondel.engine.message import Message
from rondel.engine.protocols import Verdict
from rondel.engine.ticks import Altered
from rondel.graph.links import Link
from rondel.graph.plan import HEAD, Plan, Wire
from rondel.graph.reasons import EXIT_EDGE


class Handover(Limits):
    """The part of the core that follows the edges."""

    def __init__(self, plan: Plan, effects: list[Effect] | None) -> None:
        super().__init__(plan, effects)
        self.outputs = Outputs()

    def _pass_on(
        self, step: Step, messages: tuple[Message, ...], fired: tuple[int, ...], altered: Altered
    ) -> None:
        """What a step produced goes where it belongs, and what follows begins."""
        frame, item, outputs = step.frame, step.item, self.outputs
        if not fired or outputs.stuck or step.node.is_end:
            outputs.note(step.node, frame, messages, fired=bool(fired))
        tracked = frame.scope.tracked[item]
        if tracked:
            frame.track(tracked, (frame.prefix, step.round, step.level, messages))
        link = frame.links[item]
        if link is not None and fired and not (altered or frame.leaving or self.cuts):
            self._hand_on(step, link, messages)
            return
        if fired or altered:
            self._send(step, messages, fired, altered)
        self._after(step)

    def _take_verdict(self, step: Step, verdict: Verdict) -> None:
        if verdict.own:
            self.endings.note_node(step.node.index, verdict)
        else:
            step.frame.take_verdict(verdict, step.level, step.item)

    def _after(self, step: Step) -> None:
        frame = step.frame
        frame.busy -= 1
        if frame.leaving:
            self._settle_all([self._leave(frame, Ruling(EXIT_EDGE))])
        else:
            self._settle_all([(frame, step.item)])

    def _hand_on(self, step: Step, link: Link, messages: tuple[Message, ...]) -> None:
        """What `_send` and `_after` come to where the step's item leads straight to the next."""
        edge, item, node = link
        frame, transcript = step.frame, self.contexts.of(node)
        given = messages if transcript.lets_through(messages) else None
        if given is None:
            for number, message in enumerate(messages):
                sent = (frame.prefix, step.round, step.level, edge, number, message, None)
                transcript.put(sent)
        frame.open -= 1
        self._start(frame, item, node, given=given)

    def _send(
        self, step: Step, messages: tuple[Message, ...], fired: tuple[int, ...], altered: Altered
    ) -> None:
        frame = step.frame
        wires = frame.scope.wires[step.item]
        for edge, changed in altered.items():
            if edge not in fired and wires[edge].touches:
                self._deliver(step, wires[edge], changed)
        for edge in fired:
            wire = wires[edge]
            if frame.leaving and wire.trigger and not wire.hops:
                continue
            if wire.touches:
                self._deliver(step, wire, altered.get(edge) or messages)
            if not wire.near:
                if wire.trigger:
                    frame.pull(wire)
            elif wire.item == HEAD:
                frame.retriggered = True
            else:
                frame.own_fired()[wire.item] += 1

    def _deliver(self, step: Step, wire: Wire, messages: Sequence[Message | None]) -> None:
        prefix, transcript = step.frame.prefix, self.contexts.of(wire.target)
        for number, message in enumerate(messages):
            sent = message if wire.carry else None
            transcript.put((prefix, step.round, step.level, wire.edge, number, sent, wire.marked))
