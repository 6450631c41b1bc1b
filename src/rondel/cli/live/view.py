"""The live view of a session: finished things above, what is under way below."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from rich.cells import cell_len

from rondel.certificate.loop_summaries import label_width, loops_of
from rondel.cli.cells import Line, Span, cut, flat, sparkline, wide, wrapped
from rondel.cli.language import words
from rondel.cli.live.lines import GraphFacts, Space, cost, facts_of, lines_of, score_text
from rondel.cli.live.painter import Painter
from rondel.cli.live.session_now import LoopNow, SessionNow, key_of
from rondel.cli.screen import visible
from rondel.cli.views import PlainView
from rondel.graph.plan import Plan
from rondel.sessions.agents import PLACES
from rondel.sessions.event import Event
from rondel.sessions.records import Result

FIGURE = 8
"""The column where figures begin."""

RECALLED = 8
"""The most scores of a resumed loop that are printed."""


class LiveView(PlainView):
    """Prints what is over, and paints below it a line for every step and loop under way."""

    def __init__(self, facts: GraphFacts, agents: int, loops: int) -> None:
        super().__init__(agents, loops)
        self._facts = facts
        self._current = SessionNow()
        self._painter = Painter(self._draw)

    def open(self, title: str, *, simulated: bool, past: SessionNow) -> None:
        self._current = past
        super().open(title, simulated=simulated, past=past)
        for loop in past.loops.values():
            if loop.scores:
                self._painter.print([self._recalled(loop)])
        self._painter.start()

    def show(self, event: Event) -> None:
        with self._painter.lock:
            depth = self._current.depth(str(event.address or ""))
            self._current.fold(event)
            if depth < 2 or event.event not in ("node_state_change", "loop:round_completed"):
                super().show(event)
            else:
                self._texts.pop(str(event.address), None)
        if event.event != "human_input_required":
            self._painter.start()

    def prompt(self, node: str) -> None:
        self._painter.pause()
        self._painter.write((Span(f"{visible(node)}> ", "bold"),))

    def pause(self) -> None:
        self._painter.pause()

    def close(self, result: Result) -> None:
        self._painter.stop()
        super().close(result)

    # How it is written

    def _print(self, text: str, style: str = "") -> None:
        lines = wrapped(visible(text), self._painter.columns)
        self._painter.print([(Span(line, style),) for line in lines])

    def _figure(self, name: str, text: str, style: str) -> None:
        first, *more = wrapped(visible(text), self._painter.columns - FIGURE)
        lines = [wide(name, FIGURE) + first, *(" " * FIGURE + line for line in more)]
        self._painter.print([(Span(line, style),) for line in lines])

    def _excerpt(self, start: str, text: str) -> None:
        line: Line = (Span(visible(start) + flat(text), "dim"),)
        self._painter.print([cut(line, self._painter.columns)])

    # What is written

    def _question(self, event: Event) -> None:
        self._painter.pause()
        super()._question(event)

    def _round(self, event: Event) -> None:
        address = str(event.address)
        if self._current.depth(key_of(address)):
            return  # an inner loop is told when it ends
        super()._round(event)

    def _inner_loop_ended(self, event: Event) -> None:
        if self._current.depth(str(event.address)) < 2:
            super()._inner_loop_ended(event)

    def _turn(self, event: Event) -> None:
        self._texts.pop(str(event.address), None)
        most = self._facts.node(str(event.node_id)).rounds
        turn = f"{event.data['round']}/{most}" if most else event.data["round"]
        said = words("round {round}", round=turn)
        self._excerpt(f"  {event.data['agent']} ({said}): ", event.data["content"])

    def _recalled(self, loop: LoopNow) -> Line:
        """The rounds of a loop that goes on."""
        target = self._facts.loop(loop.head).target
        scores = [*loop.scores]
        parts = [words("rounds so far: {rounds}", rounds=len(loop.scores))]
        parts.append(score_text(scores[-RECALLED:], target))
        if loop.usd:
            parts.append(cost(loop.usd))
        text = f"{flat(loop.key)}  {' · '.join(parts)}  "
        return Span(text, "bold"), Span(sparkline(scores, target), "cyan")

    def _draw(self, columns: int, rows: int, frame: int) -> list[Line]:
        return lines_of(self._current, self._facts, Space(columns, rows, time.time(), frame))

    _shown: dict[str, Any] = {
        **PlainView._shown,
        "loop:round_completed": _round,
        "loop:exited": _inner_loop_ended,
        "debate:round": _turn,
        "human_input_required": _question,
    }


def view_for(plan: Plan) -> PlainView:
    """The view of a run in this place: live where somebody watches, else plain."""
    facts = facts_of(plan)
    agents = [node.id for node in plan.nodes if node.spec.type in PLACES]
    columns = max(map(cell_len, agents), default=0), label_width(loops_of(plan))
    return LiveView(facts, *columns) if is_watched() else PlainView(*columns)


def is_watched() -> bool:
    """Whether a person looks at what is printed, on a terminal that can be painted on."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
