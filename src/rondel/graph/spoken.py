"""A score that stands in plain words: `Score: 85/100`, `**Score:** 97`, `评分：85/100`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rondel.graph.values import number

CHINESE: Final = r"|(?:(?:总体|整体|综合|最终|本次|本轮|总)(?:的)?)?(?:评分|得分|分数|打分)|总分"
"""What a score is called in Chinese."""


def spoken_value(text: str, path: tuple[str, ...]) -> float | None:
    """The number after the last key of the path, where that begins a clause; of several, the last.

    It is taken as it is written: `8/10` is 8.
    """
    found: str | None = None
    for match in _pattern(path[-1]).finditer(text):
        found = match["number"]
    return None if found is None else number(found)


@lru_cache(maxsize=64)
def _pattern(key: str) -> re.Pattern[str]:
    name = re.escape(key).replace("_", "[_ ]")
    other = CHINESE if key == "score" else ""
    return re.compile(
        rf"""(?:^|[\n.!?;,(，。！？；、（])[ \t>\#*_|•\-]*  # the beginning of a clause
        (?:(?:(?:my|the|overall|final|total|weighted)[ ]){{0,2}}{name}{other})
        [ \t*_]*(?:[:：=|]|[ ]is[ ])[ \t*_]*  # a colon, inside the bold or after it
        (?P<number>[-+]?\d+(?:\.\d+)?)
        (?!\.?\d)(?![ ]*[-–—~～至到][ ]*\d)  # not a part of a number, no range
        """,
        re.VERBOSE | re.IGNORECASE,
    )
