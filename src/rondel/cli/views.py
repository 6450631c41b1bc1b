"""What `rondel run` prints where nobody watches: plain lines, or one JSON object a line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from rondel.cli.cells import flat, padded, short, wide
from rondel.cli.failures import complain
from rondel.cli.language import counted, translated, translated_lines, words
from rondel.cli.live.session_now import SessionNow, text_after, waiting_text
from rondel.cli.screen import visible
from rondel.cli.tables import json_line
from rondel.sessions.event import Event
from rondel.sessions.records import LoopResult, Result, UsageTotal

SIMULATED = "simulated models: no key, no network; agents without a provider use them"
EXCERPT = 100
"""Columns of an excerpt where nobody knows how wide the screen is."""

NAMES = 24
"""Columns that the names of agents take at most."""

COLOURS = {"completed": "green", "bounded": "yellow", "waiting": "yellow"}
GOES_ON = ("loop:round_started", "loop:round_completed", "human_input_required")


class JsonView:
    """One event a line, and last the result; what a person must know goes to stderr."""

    def open(self, title: str, *, simulated: bool, past: SessionNow) -> None:  # noqa: ARG002
        if simulated:
            complain(words(SIMULATED), "note")

    def show(self, event: Event) -> None:
        print(json_line(event), flush=True)

    def prompt(self, node: str) -> None:
        print(f"{node}> ", end="", file=sys.stderr, flush=True)

    def answered(self, node: str, text: str) -> None:
        """Nothing to show: the event `human_input_received` says it."""

    def withdraw(self, node: str) -> None:
        """Nothing to show: an event says it."""

    def pause(self) -> None:
        """Every line is written at once."""

    def close(self, result: Result) -> None:
        line = {"event": "result", **msgspec.to_builtins(result)}
        print(json_line(line), flush=True)


class PlainView:
    """Lines for people: an excerpt of each model's answer, a line per round, a summary."""

    def __init__(self, agents: int, loops: int) -> None:
        """`agents` and `loops` are the columns that their names take."""
        self._texts: dict[str, str] = {}
        self._failures: list[tuple[str, str]] = []
        """Failures that may be the session's; each is printed once."""
        self._agents = min(agents, NAMES)
        self._loops = loops + len(" round 10")

    def open(self, title: str, *, simulated: bool, past: SessionNow) -> None:  # noqa: ARG002
        """Show the title, whether some agents are simulated, and what happened before."""
        if simulated:
            self._print(words(SIMULATED), "dim")
        self._print(title, "dim")

    def show(self, event: Event) -> None:
        """Show one event."""
        if self._failures and _goes_on(event):
            self._tell_failures("")
        shown = self._shown.get(event.event)
        if shown is not None:
            shown(self, event)

    def prompt(self, node: str) -> None:
        """Ask for the answer to a question that is shown already."""
        print(f"{visible(node)}> ", end="", flush=True)

    def answered(self, node: str, text: str) -> None:
        """Show an answer that nobody typed here."""
        self._print(f"{node}> {text}", "bold")

    def withdraw(self, node: str) -> None:
        """Remove the prompt of a question that was answered elsewhere."""
        self._print("\n" + words("{node} was answered elsewhere", node=node), "dim")

    def pause(self) -> None:
        """Let others write to the terminal."""
        sys.stdout.flush()

    def close(self, result: Result) -> None:
        """Show the result."""
        self._tell_failures(result.message)
        self._print("")
        self._figure(words("status"), ended_text(result), COLOURS.get(result.status, "red"))
        for loop in result.loops:
            self._figure(words("loop"), loop_text(loop), "yellow" if loop.bounded else "")
        if result.usage.model_calls:
            self._figure(words("usage"), usage_text(result.usage), "")
        if result.output is not None:
            self._print(f"{words('output')}\n\n{result.output}")

    # How it is written

    def _print(self, text: str, style: str = "") -> None:  # noqa: ARG002
        print(visible(text).expandtabs(), flush=True)

    def _excerpt(self, start: str, text: str) -> None:
        """One line that fits, of something longer."""
        self._print(start + short(text, EXCERPT - 1 - len(start)), "dim")

    def _figure(self, name: str, text: str, style: str) -> None:
        self._print(f"{wide(name, 8)}{text}", style)

    # What is written

    def _tell_failures(self, told: str) -> None:
        for who, error in self._failures:
            if error not in told:
                self._print(words("{who} failed: {error}", who=who, error=translated(error)), "red")
        self._failures.clear()

    def _stream(self, event: Event) -> None:
        address = str(event.address)
        self._texts[address] = text_after(self._texts.get(address, ""), event)

    def _waits(self, event: Event) -> None:
        who = padded(flat(str(event.data["agent"])), self._agents)
        self._excerpt(f"  {who}  ", waiting_text(event.data))

    def _node(self, event: Event) -> None:
        if event.data["status"] == "running":
            return
        text = self._texts.pop(str(event.address), "")
        if text:
            self._excerpt(f"  {padded(flat(str(event.node_id)), self._agents)}  ", text)

    def _inner_loop_ended(self, event: Event) -> None:
        if "/" in str(event.address):
            end = words("{loop} ended: {how}", loop=event.address, how=ending(event.data))
            self._print(end, "dim")

    def _setback(self, event: Event) -> None:
        self._print(setback_text(event), "yellow")

    def _breaker(self, event: Event) -> None:
        why = translated(event.data["message"])
        if event.event.endswith("warning"):
            self._print(words("the circuit breaker warns: {why}", why=why), "yellow")
        else:
            self._print(words("the circuit breaker locks the session: {why}", why=why), "yellow")

    def _turn(self, event: Event) -> None:
        self._texts.pop(str(event.address), None)
        self._excerpt(f"  {event.data['agent']}: ", event.data["content"])

    def _memory_error(self, event: Event) -> None:
        error = translated(event.data["error"])
        self._print(words("memory failed, the run goes on: {error}", error=error), "red")

    def _error(self, event: Event) -> None:
        who, error = str(event.address or "session"), event.data["error"]
        if event.data["kind"] != "retry":
            self._failures.append((who, error))
            return
        again = words("{who} failed, trying again: {error}", who=who, error=translated(error))
        self._print(again, "red")

    def _round(self, event: Event) -> None:
        data = event.data
        loop = str(event.address).rpartition("[")[0]
        label = f"{loop} {words('round {round}', round=data['round'])}"
        number_ = "" if data["score"] is None else number(data["score"])
        score = words("score {score}", score=number_) if number_ else ""
        delta = "" if data["delta"] is None else f"{round(data['delta'], 2):+g}"
        figures = f"{wide(label, self._loops)}  {wide(score, 12)}{delta:8}"
        if data["tokens"]:
            tokens = words("{tokens:,} tokens", tokens=data["tokens"])
            figures += f"{wide(tokens, -13)}  {money(data['usd'])}"
        self._print(figures.rstrip(), "bold")

    def _question(self, event: Event) -> None:
        data = event.data
        self._print("\n" + words("{node} asks", node=event.node_id), "bold")
        for message in data["messages"]:
            self._print(words("from {source}:", source=message["source"]), "dim")
            self._print(_indented(content_text(message)))
        if data["description"].strip():
            self._print(translated_lines(data["description"].strip()))
        if data["actions"]:
            actions = ", ".join(data["actions"])
            self._print(words("answer with one of: {actions}", actions=actions))

    _shown: dict[str, Callable[[Any, Event], None]] = {
        "token_stream": _stream,
        "model_waiting": _waits,
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


View = JsonView | PlainView
"""How a run is shown: to programs or to people."""


def _goes_on(event: Event) -> bool:
    """Whether an event shows that the session goes on after a failure."""
    starts = event.event == "node_state_change" and event.data["status"] == "running"
    return starts or event.event in GOES_ON


def setback_text(event: Event) -> str:
    """A round that was worse than the best, or no better, and what follows."""
    delta, action = number(event.data["delta"]), event.data["action"]
    if event.event == "loop:regression":
        text = "{round} fell behind the best ({delta}): {action}"
    else:
        text = "{round} got no further ({delta}): {action}"
    return words(text, round=event.address, delta=delta, action=action)


def loop_text(loop: LoopResult) -> str:
    """A loop and how its last entry ended."""
    entries = ""
    if loop.entries > 1:
        entries = words(" (the last of {count} entries)", count=loop.entries)
    return f"{loop.loop}{words(': ')}{ending(msgspec.to_builtins(loop))}{entries}"


def ending(loop: dict[str, Any]) -> str:
    """How a loop ended, in words."""
    rounds = counted(loop["rounds"], "{count} round", "{count} rounds")
    text = f"{rounds}{words(', ')}{loop['exit_reason']}"
    value, threshold = loop["value"], loop["threshold"]
    if value is not None and threshold is not None:
        sign = ">=" if value >= threshold else "<"
        text += f" ({number(value)} {sign} {number(threshold)})"
    if loop["target"] is not None and loop["score"] is not None and value != loop["score"]:
        score, target = number(loop["score"]), number(loop["target"])
        text += words(", ") + words("score {score} of {target}", score=score, target=target)
    if loop["best_round"] is not None:
        text += words(", ") + words("best round {round}", round=loop["best_round"])
    if loop["bounded"]:
        text += words(", ") + words("goal not reached")
    return f"{text}{words('; ')}{translated(loop['note'])}" if loop["note"] else text


def number(value: float) -> str:
    """A score without needless digits."""
    return f"{round(value, 2):g}"


def money(usd: float) -> str:
    """A cost in USD; small ones to a hundredth of a cent."""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


def status_text(result: Result) -> str:
    """A status and why."""
    message = translated(result.message)
    if result.status == "suspended_locked":
        return f"{result.status}: {result.reason}: {message}".rstrip(": ")
    return f"{result.status}: {message or result.reason}".rstrip(": ")


def ended_text(result: Result) -> str:
    """The status without the error, which is printed beside it."""
    return result.status if result.status == "failed" else status_text(result)


def usage_text(usage: UsageTotal) -> str:
    """What model calls took, in words."""
    calls = counted(usage.model_calls, "{count} model call", "{count} model calls")
    if not usage.tokens:
        return calls
    tokens = words(
        "{tokens:,} tokens ({input:,} in, {output:,} out)",
        tokens=usage.tokens,
        input=usage.input_tokens,
        output=usage.output_tokens,
    )
    return words(", ").join((calls, tokens, money(usage.usd)))


def content_text(message: dict[str, Any]) -> str:
    """What a message says: its text, the names of its parts, or its data."""
    content = message["content"]
    if isinstance(content, list):
        content = "\n".join(part.get("text") or part.get("name", "") for part in content)
    return str(content) or msgspec.json.encode(message["data"]).decode()


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
