"""What `rondel run` prints: for people as it goes, or one JSON object a line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from rondel.cli.failures import complain
from rondel.cli.screen import below, visible
from rondel.sessions.event import Event
from rondel.sessions.records import LoopResult, Result, UsageTotal

SIMULATED = "simulated models: no key, no network; agents without a provider use them"
EXCERPT = 100
"""Columns of an excerpt where nobody knows how wide the screen is."""

COLOURS = {"completed": "green", "bounded": "yellow", "waiting": "yellow"}


class View(Protocol):
    """Where a run shows itself."""

    def open(self, title: str, *, simulated: bool) -> None:
        """Say what runs, and whether some of its agents have no provider."""

    def show(self, event: Event) -> None:
        """Show one event."""

    def prompt(self, node: str) -> None:
        """Ask for the answer to a question that is shown already."""

    def answered(self, node: str, text: str) -> None:
        """Show an answer that nobody typed here."""

    def withdraw(self, node: str) -> None:
        """Take back a question that somebody answered elsewhere."""

    def pause(self) -> None:
        """Let others write to the screen."""

    def close(self, result: Result) -> None:
        """Show what became of it all."""


class JsonView:
    """One event a line, and last the result; what a person must know goes to stderr."""

    def open(self, title: str, *, simulated: bool) -> None:  # noqa: ARG002
        if simulated:
            complain(SIMULATED, "note")

    def show(self, event: Event) -> None:
        print(json_line(event), flush=True)

    def prompt(self, node: str) -> None:
        print(f"{node}> ", end="", file=sys.stderr, flush=True)

    def answered(self, node: str, text: str) -> None:
        """The event `human_input_received` says it."""

    def withdraw(self, node: str) -> None:
        """So it does here."""

    def pause(self) -> None:
        """Every line is written at once."""

    def close(self, result: Result) -> None:
        line = {"event": "result", **msgspec.to_builtins(result)}
        print(json_line(line), flush=True)


class TerminalView:
    """Lines for people: an excerpt of each model's answer, a line per round, a summary."""

    def __init__(self, agents: int, loops: int) -> None:
        """`agents` and `loops` are the columns that their names take."""
        from rich.console import Console

        self._console = Console(
            file=below(sys.stdout), highlight=False, markup=False, emoji=False, soft_wrap=True
        )
        self._width = self._console.width if self._console.is_terminal else EXCERPT
        self._spinner: Any = None
        self._texts: dict[str, str] = {}
        self._agents = agents
        self._loops = loops + len(" round 10")

    def open(self, title: str, *, simulated: bool) -> None:
        if simulated:
            self._print(SIMULATED, "dim")
        self._print(title, "dim")
        if self._console.is_terminal:
            self._spinner = self._console.status("", spinner="dots")
            self._spinner.start()

    def show(self, event: Event) -> None:
        shown = self._shown.get(event.event)
        if shown is not None:
            shown(self, event)

    def prompt(self, node: str) -> None:
        self._rest()
        self._console.print(f"{visible(node)}> ", end="", style="bold")
        self._console.file.flush()

    def answered(self, node: str, text: str) -> None:
        self._print(f"{node}> {text}", "bold")

    def withdraw(self, node: str) -> None:
        self._print(f"\n{node} was answered elsewhere", "dim")

    def pause(self) -> None:
        self._rest()
        self._console.file.flush()

    def close(self, result: Result) -> None:
        self._rest()
        self._print("")
        self._print(f"{'status':8}{status_text(result)}", COLOURS.get(result.status, "red"))
        for loop in result.loops:
            self._print(f"{'loop':8}{loop_text(loop)}", "yellow" if loop.bounded else "")
        if result.usage.model_calls:
            self._print(f"{'usage':8}{usage_text(result.usage)}")
        if result.output is not None:
            self._print(f"output\n\n{result.output}")

    # Inside

    def _print(self, text: str, style: str = "") -> None:
        self._console.print(visible(text), style=style or None, soft_wrap=True)

    def _rest(self) -> None:
        """Stop the spinner: the next line is the person's or the last."""
        if self._spinner is not None:
            self._spinner.stop()

    def _stream(self, event: Event) -> None:
        address = str(event.address)
        text = self._texts[address] = self._texts.get(address, "") + event.data["chunk"]
        self._work(f"{address}: ", text[-self._width :])

    def _work(self, address: str, text: str = "") -> None:
        """What is under way now, where somebody watches."""
        if self._spinner is not None:
            self._spinner.update(self._line(address, text))
            self._spinner.start()

    def _node(self, event: Event) -> None:
        status, address = event.data["status"], str(event.address)
        if status == "running":
            self._work(address)
            return
        text = self._texts.pop(address, "")
        if text:
            name = str(event.node_id).ljust(self._agents)
            self._console.print(self._line(f"  {name}  ", text), style="dim")

    def _line(self, start: str, text: str) -> Any:
        """One line that fits; wide characters count as two."""
        from rich.text import Text

        line = Text(visible(start + " ".join(text.split())))
        line.truncate(self._width - 1, overflow="ellipsis")
        return line

    def _inner_loop_ended(self, event: Event) -> None:
        if "/" in str(event.address):
            self._print(f"{event.address} ended: {ending(event.data)}", "dim")

    def _setback(self, event: Event) -> None:
        self._print(setback_text(event), "yellow")

    def _breaker(self, event: Event) -> None:
        what = "warns" if event.event.endswith("warning") else "locks the session"
        self._print(f"the circuit breaker {what}: {event.data['message']}", "yellow")

    def _turn(self, event: Event) -> None:
        self._texts.pop(str(event.address), None)
        said = self._line(f"  {event.data['agent']}: ", event.data["content"])
        self._console.print(said, style="dim")

    def _memory_error(self, event: Event) -> None:
        self._print(f"memory failed, the run goes on: {event.data['error']}", "red")

    def _error(self, event: Event) -> None:
        who = event.address or "session"
        again = ", trying again" if event.data["kind"] == "retry" else ""
        self._print(f"{who} failed{again}: {event.data['error']}", "red")

    def _round(self, event: Event) -> None:
        data = event.data
        loop = str(event.address).rpartition("[")[0]
        label = f"{loop} round {data['round']}"
        score = "" if data["score"] is None else f"score {number(data['score'])}"
        delta = "" if data["delta"] is None else f"{round(data['delta'], 2):+g}"
        figures = f"{label:{self._loops}}  {score:12}{delta:8}"
        if data["tokens"]:
            figures += f"{data['tokens']:6,} tokens  {money(data['usd'])}"
        self._print(figures.rstrip(), "bold")

    def _question(self, event: Event) -> None:
        data = event.data
        self._rest()
        self._print(f"\n{event.node_id} asks", "bold")
        for message in data["messages"]:
            self._print(f"from {message['source']}:", "dim")
            self._print(_indented(content_text(message)))
        if data["description"].strip():
            self._print(data["description"].strip())
        if data["actions"]:
            self._print(f"answer with one of: {', '.join(data['actions'])}")

    _shown: dict[str, Callable[[TerminalView, Event], None]] = {
        "token_stream": _stream,
        "node_state_change": _node,
        "loop:round_completed": _round,
        "loop:regression": _setback,
        "loop:stagnation": _setback,
        "loop:exited": _inner_loop_ended,
        "circuit_breaker:warning": _breaker,
        "circuit_breaker:tripped": _breaker,
        "debate:round": _turn,
        "memory_error": _memory_error,
        "error": _error,
        "human_input_required": _question,
    }


def setback_text(event: Event) -> str:
    """A round that was worse than the best, or no better, and what follows."""
    data = event.data
    what = "fell behind the best" if event.event == "loop:regression" else "got no further"
    return f"{event.address} {what} ({number(data['delta'])}): {data['action']}"


def loop_text(loop: LoopResult) -> str:
    """A loop and how its last entry ended."""
    entries = f" (the last of {loop.entries} entries)" if loop.entries > 1 else ""
    return f"{loop.loop}: {ending(msgspec.to_builtins(loop))}{entries}"


def ending(loop: dict[str, Any]) -> str:
    """How a loop ended, in words."""
    rounds = loop["rounds"]
    text = f"{rounds} round{'' if rounds == 1 else 's'}, {loop['exit_reason']}"
    value, threshold = loop["value"], loop["threshold"]
    if value is not None and threshold is not None:
        sign = ">=" if value >= threshold else "<"
        text += f" ({number(value)} {sign} {number(threshold)})"
    if loop["target"] is not None and loop["score"] is not None and value != loop["score"]:
        text += f", score {number(loop['score'])} of {number(loop['target'])}"
    if loop["best_round"] is not None:
        text += f", best round {loop['best_round']}"
    text += ", goal not reached" if loop["bounded"] else ""
    return f"{text}; {loop['note']}" if loop["note"] else text


def number(value: float) -> str:
    """A score as people write it."""
    return f"{round(value, 2):g}"


def money(usd: float) -> str:
    """A cost; small ones to a hundredth of a cent."""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


def status_text(result: Result) -> str:
    """A status and why."""
    if result.status == "suspended_locked":
        return f"{result.status}: {result.reason}: {result.message}".rstrip(": ")
    return f"{result.status}: {result.message or result.reason}".rstrip(": ")


def usage_text(usage: UsageTotal) -> str:
    """What model calls took, in words."""
    calls = f"{usage.model_calls:,} model call{'' if usage.model_calls == 1 else 's'}"
    if not usage.tokens:
        return calls
    tokens = f"{usage.tokens:,} tokens ({usage.input_tokens:,} in, {usage.output_tokens:,} out)"
    return f"{calls}, {tokens}, {money(usage.usd)}"


def json_line(value: Any) -> str:
    """Anything as one line of JSON, the same bytes each time."""
    return msgspec.json.encode(msgspec.to_builtins(value)).decode()


def content_text(message: dict[str, Any]) -> str:
    """What a message says: its text, the names of its parts, or its data."""
    content = message["content"]
    if isinstance(content, list):
        content = "\n".join(part.get("text") or part.get("name", "") for part in content)
    return str(content) or msgspec.json.encode(message["data"]).decode()


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
