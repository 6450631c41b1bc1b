"""What a provider says of a call that it does not take, and what it means by it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

LONGEST_MESSAGE = 200

FILTERED = (
    *("content filter", "content policy", "content management", "usage policy"),
    *("exists risk", "inspection failed", "inspectionfailed", "inappropriate content"),
    "不安全或敏感",
)
"""How providers say that they will not have such a text: each in words of its own."""

WEB_PAGE = re.compile(r"\s*<(!doctype html|html|head|body|\?xml)", re.IGNORECASE)
TITLE = re.compile(r"<(title|h1)[^>]*>(.{1,200}?)</\1", re.IGNORECASE | re.DOTALL)


def said_by(error: BaseException) -> str:
    """The provider's own words, shortened to a line; of a web page only what its title says."""
    body = getattr(error, "body", None)
    text = _message(body) or getattr(error, "message", "") or str(error)
    if WEB_PAGE.match(text):
        title = TITLE.search(text)
        text = f"a web page: {unescape(title[2])}" if title else "a web page"
    text = " ".join(str(text).split()) or type(error).__name__
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def is_filtered(error: BaseException) -> bool:
    """Whether the provider will not have such a text."""
    said = str(getattr(error, "body", None) or error).lower().replace("_", " ")
    return any(words in said for words in FILTERED)


def _message(body: Any) -> str:
    """The message in an error's body, wherever the provider puts it."""
    if isinstance(body, Mapping):
        for key in ("message", "error", "detail"):
            if key in body and (text := _message(body[key])):
                return text
        return ""
    return body if isinstance(body, str) else ""
