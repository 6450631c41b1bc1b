"""Surrogates: both halves of a character are joined, a half alone is replaced."""

from __future__ import annotations

import re
from typing import Any

_HALF = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """The text with its halves joined or replaced, so that every encoding can hold it."""
    if text.isascii() or _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def wholly(value: Any) -> Any:
    """Plain data with all texts made whole; data without halves is returned as it is."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        made: dict[Any, Any] = {wholly(key): wholly(item) for key, item in value.items()}
        changed = len(made) != len(value) or any(
            key is not old or item is not made[key]
            for (old, item), key in zip(value.items(), made, strict=True)
        )
        return made if changed else value
    if isinstance(value, list | tuple):
        items = [wholly(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return items if isinstance(value, list) else tuple(items)
    return value


class Joiner:
    """Text in pieces, where a character may be split over two of them."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """What can be handed on now; a first half waits for the second."""
        text, self._half = self._half + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole(text)

    def end(self) -> str:
        """What is left when no piece follows."""
        half, self._half = self._half, ""
        return whole(half)
