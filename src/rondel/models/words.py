"""The words of a text, Chinese ones too."""

from __future__ import annotations

import re
from unicodedata import normalize

WIDE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
RUN = re.compile(rf"[{WIDE}]+|[^\W_{WIDE}]+")


def words_in(text: str) -> list[str]:
    """The words of a text in order, case folded; Chinese and Japanese give pairs of characters."""
    found: list[str] = []
    for run in RUN.findall(normalize("NFKC", text).casefold()):
        if "\u3040" <= run[0] <= "\u9fff" and len(run) > 1:
            found += (run[at : at + 2] for at in range(len(run) - 1))
        else:
            found.append(run)
    return found
