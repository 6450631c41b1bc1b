"""What travels along an edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, NoReturn

import msgspec


class NoData(dict[str, Any]):
    """The data of a message that has none: one empty object, shared by all, never changed."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a message is never changed; make it with its data: Message(text, data)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


NO_DATA = NoData()


class GivenData(dict[str, Any]):
    """The data that a node was given: a copy, so whoever changes it is told that it is in vain."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "what a node was given is never changed; return what it hands on, as in: "
            "return {**inp.data, 'score': 90}"
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return deepcopy(dict(self), memo)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


TASK = "TASK"
"""The source of the message that start nodes get."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One part of a message's content: text, or a reference to an attachment.

    `attachment` is the SHA-256 of the bytes, which are kept beside the journal.
    """

    text: str = ""
    attachment: str = ""
    media_type: str = ""
    name: str = ""
    size: int = 0


class Message(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Content with a role, a source and structured data; never changed once made.

    It can be part of no cycle, and sessions hold many: the garbage collector is spared them.
    """

    content: str | list[Part] = ""
    data: dict[str, Any] = NO_DATA
    role: str = "assistant"
    source: str = ""
    kept: bool = False
    own_role: bool = False
    """Whether a model is told it in its role; else what others say is the user's to it."""

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.text)

    @property
    def readable(self) -> str:
        """The text; a message of data alone reads as its JSON."""
        text = self.text
        if not text and self.data:
            return msgspec.json.encode(self.data).decode()
        return text

    @property
    def empty(self) -> bool:
        """Whether it says nothing at all."""
        return not self.content and not self.data


def attached_in(inputs: Mapping[str, Any]) -> list[Part]:
    """What a session's inputs hold under `attachments`; any other list there is plain data."""
    given = inputs.get("attachments")
    if not isinstance(given, list) or not all(map(_is_attachment, given)):
        return []
    return [msgspec.convert(item, Part) for item in given]


def _is_attachment(item: Any) -> bool:
    try:
        return bool(msgspec.convert(item, Part).attachment)
    except msgspec.ValidationError:
        return False


def task_in(inputs: Mapping[str, Any]) -> str | list[Part]:
    """What start nodes are told: the `task`, and what is attached to it."""
    task = inputs.get("task", "")
    text = task if isinstance(task, str) else msgspec.json.encode(task).decode()
    attached = attached_in(inputs) if "attachments" in inputs else []
    if not attached:
        return text
    return [Part(text), *attached] if text else attached


def task_message(inputs: Mapping[str, Any]) -> Message:
    """What a session's inputs ask for, as its start nodes are told."""
    data = inputs if isinstance(inputs, dict) else dict(inputs)
    return Message(task_in(inputs), data, "user", TASK)


def merged_data(messages: Iterable[Message]) -> dict[str, Any]:
    """The data of all messages in one object; later messages win."""
    merged: dict[str, Any] = {}
    for message in messages:
        if message.data:
            merged.update(message.data)
    return merged
