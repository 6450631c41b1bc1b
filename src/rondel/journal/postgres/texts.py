"""Texts as PostgreSQL takes them: it has no NUL and no half of a character."""

from __future__ import annotations

import re

_ESCAPED = re.compile(r"\\(\\|0|u[0-9a-f]{4})")


def stored(text: str) -> str:
    """The text without what PostgreSQL refuses; different texts stay different."""
    if "\\" in text or "\0" in text:
        text = text.replace("\\", "\\\\").replace("\0", "\\0")
    return text.encode("utf-8", "backslashreplace").decode()


def told(text: str) -> str:
    """The text that was stored."""
    return _ESCAPED.sub(_unescape, text) if "\\" in text else text


def _unescape(found: re.Match[str]) -> str:
    what = found[1]
    if what == "\\":
        return what
    return "\0" if what == "0" else chr(int(what[1:], 16))
