"""Messages, what an edge does to them, and the context in which a node finds them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.reference.document import Edge

Path = tuple[int, ...]


@dataclass(frozen=True)
class Message:
    """What an edge carries."""

    content: str
    source: str
    role: str = "user"
    data: dict[str, Any] = field(default_factory=dict)
    kept: bool = False
    """Set by an edge with `keep_message`; a passthrough hands the mark on with the message."""

    @property
    def words(self) -> str:
        """The text; of data alone, that."""
        return self.content or (repr(self.data) if self.data else "")

    @property
    def is_empty(self) -> bool:
        """Whether there is neither text nor data in it."""
        return not self.content and not self.data


@dataclass(frozen=True)
class Delivery:
    """A message that passed an edge's condition, on its way to the edge's target."""

    path: Path
    """The sending step's logical path, the edge's place, the message's index: the order to apply.

    A step's path holds round and level of every scope from the root down, then a 0. Rounds count
    from 1, so a plain node sorts before what runs inside a loop at its level.
    """
    message: Message | None
    """None where the edge carries no data, or its process dropped the message."""
    clears_context: bool = False
    clears_kept: bool = False


@dataclass(frozen=True)
class Retained:
    """A message in a node's context, and the step after which the node retained it."""

    message: Message
    since: Path | None = None
    """None while the node has not run with it."""


@dataclass
class Context:
    """What one node has been sent and what it remembers."""

    window: int
    retained: list[Retained] = field(default_factory=list)
    pending: list[Delivery] = field(default_factory=list)
    said: list[tuple[object, list[Message]]] = field(default_factory=list)
    """All that the node said inside loops, with the entry of the innermost one."""

    def copy(self) -> Context:
        """The same, to be put back later."""
        lists = list(self.retained), list(self.pending), list(self.said)
        return Context(self.window, *lists)

    def take_inputs(self) -> list[Message]:
        """Apply the pending deliveries in logical order; return all that the node now sees."""
        for delivery in sorted(self.pending, key=lambda d: d.path):
            self._apply(delivery)
        self.pending.clear()
        return [each.message for each in self.retained]

    def _apply(self, delivery: Delivery) -> None:
        if delivery.clears_context:
            self.retained = [each for each in self.retained if each.message.kept]
        if delivery.clears_kept:
            self.retained = [each for each in self.retained if not each.message.kept]
        if delivery.message is not None:
            self.retained.append(Retained(delivery.message))

    def remember(self, outputs: list[Message], step: Path) -> None:
        """Forget what the window does not hold, after the node ran; date what it holds."""
        if self.window >= 0:
            self.retained = _newest(self.retained, self.window)
        if self.window != 0:
            self.retained += [Retained(message) for message in outputs]
        self.retained = [replace(each, since=each.since or step) for each in self.retained]

    def recalled(self, entry: object, most: int | None, inputs: list[Message]) -> list[Message]:
        """The newest outputs of this entry that the node does not see anyway; None is all."""
        outputs = [messages for when, messages in self.said if when is entry]
        newest = outputs if most is None else outputs[max(len(outputs) - most, 0) :]
        seen = ["", *(message.words for message in inputs)]
        return [each for messages in newest for each in messages if each.words not in seen]

    def forget_unless(self, carried: Callable[[Path], bool]) -> None:
        """Drop what was retained at a time that is not carried on; kept messages stay."""
        self.retained = [
            each
            for each in self.retained
            if each.message.kept or each.since is None or carried(each.since)
        ]


def _newest(retained: list[Retained], places: int) -> list[Retained]:
    """The kept messages, and the newest of the others in the places that those leave free."""
    others = [place for place, each in enumerate(retained) if not each.message.kept]
    free = max(places - (len(retained) - len(others)), 0)
    newest = others[max(len(others) - free, 0) :]
    return [each for place, each in enumerate(retained) if each.message.kept or place in newest]


def condition_holds(condition: Any, message: Message) -> bool:
    """Whether an edge's condition accepts a message."""
    if isinstance(condition, dict):
        return _keyword_accepts(condition.get("config") or {}, message.content)
    return str(condition).lower() == "true"


def _keyword_accepts(config: dict[str, Any], text: str) -> bool:
    case_sensitive = config.get("case_sensitive", True)
    wanted, refused = config.get("any") or [], config.get("none") or []
    patterns = config.get("regex") or []

    def contains(word: str) -> bool:
        return word in text if case_sensitive else word.lower() in text.lower()

    if any(contains(word) for word in refused):
        return False
    flags = 0 if case_sensitive else re.IGNORECASE
    if any(contains(word) for word in wanted) or any(re.search(p, text, flags) for p in patterns):
        return True
    return not wanted and not patterns


def carried(edge: Edge, message: Message) -> Message | None:
    """The message as the edge hands it over; None if its process drops it."""
    text: str | None = message.content
    if edge.process is not None:
        text = _regex_extract(edge.process["config"], message.content)
    if text is None:
        return None
    return replace(message, content=text, kept=message.kept or edge.keep_message)


def _regex_extract(config: dict[str, Any], text: str) -> str | None:
    flags = 0 if config.get("case_sensitive", True) else re.IGNORECASE
    matches = list(re.finditer(config["pattern"], text, flags))
    if not matches:
        return _without_match(config, text)
    if not config.get("multiple", False):
        matches = matches[:1]
    template = config.get("template") or "{match}"
    found = [match.group(config.get("group", 0)) or "" for match in matches]
    return "\n".join(template.replace("{match}", each) for each in found)


def _without_match(config: dict[str, Any], text: str) -> str | None:
    match config.get("on_no_match", "pass"):
        case "pass":
            return text
        case "default":
            return config.get("default_value") or ""
        case _:
            return None
