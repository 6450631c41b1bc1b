"""When two outputs are the same: case, white space, edges, rounds, dates and times do not count."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from rondel.engine.message import Message

MOMENT = " \ue000 "
"""Stands for a date or a time."""

COUNT = " \ue001 "
"""Stands for the number of a round or an attempt."""

ROUND_KEYS = {"round", "current_round", "attempt", "iteration", "retry"}
ROUND_KEYS |= {f"{key}s" for key in ROUND_KEYS} | {"iter", "retries"}
MOMENT_KEYS = {"timestamp", "time", "date", "datetime", "now", "created_at", "updated_at"}
LEAST_EPOCH = 1e9
"""From this number on, a value under such a key is a time: seconds since 1970."""

_ZH = "〇零一二三四五六七八九十百两"
_NUMBER = rf"[\d{_ZH}]{{1,4}}"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:\s?(?:z|utc|gmt|[+-]\d\d:?\d\d))?"
_MOMENTS = re.compile(
    "|".join(
        (
            rf"(?<![\w.]){_YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?:[t ]{_CLOCK}{_ZONE})?(?!\w)",
            rf"(?<![\w.])\d{{1,2}}[-/.]\d{{1,2}}[-/.]{_YEAR}(?!\w)",
            rf"(?<!\w){_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?(?!\w)",
            rf"(?<!\w){_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?(?!\w)",
            rf"(?<!\w){_MONTH}\s+{_YEAR}(?!\w)",
            rf"(?<![\w:.]){_CLOCK}(?:\s?[ap]\.?m\.?)?{_ZONE}(?![\w:])",
            r"(?<![\w:.])\d{1,2}\s?[ap]\.?m\.?(?!\w)",
            r"(?:timestamp|time|date|时间|日期)[\"'\s:=]{1,4}\d{10}(?:\d{3})?(?:\.\d+)?(?!\w)",
            rf"(?:{_NUMBER}\s*年\s*)?{_NUMBER}\s*月(?:\s*{_NUMBER}\s*[日号])?",
            rf"(?:上午|下午|晚上|凌晨|中午)\s*{_NUMBER}\s*[点时](?:\s*{_NUMBER}\s*分)?",
            rf"{_NUMBER}\s*[点时]\s*(?:{_NUMBER}\s*分(?:\s*{_NUMBER}\s*秒)?|半|钟|整)",
        )
    )
)
_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:星期|礼拜|周)[一二三四五六日天])"
_BESIDE_MOMENT = re.compile(rf"{_WEEKDAY}[,，]?\s*{MOMENT}|{MOMENT}[,，]?\s*\(?{_WEEKDAY}\)?")
_LABEL = r"(?<![a-z0-9])(?:round|attempt|iteration|iter|retry)s?"
_BETWEEN = r"[\"'\s:=#*_-]{0,6}(?:(?:no\.?|nr\.?|number)\s?)?"
_COUNTS = re.compile(
    "|".join(
        (
            rf"{_LABEL}{_BETWEEN}\d{{1,6}}(?!\w|[.,]\d)(?:\s?(?:/|of|out of)\s?\d{{1,6}}(?!\w))?",
            r"(?<!\w)(?:\d{1,4}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|"
            r"eighth|ninth|tenth)\s+(?:round|attempt|iteration|try|retry|pass|time)(?!\w)",
            rf"第\s*{_NUMBER}\s*(?:轮|次|回|遍)",
            rf"(?:轮次|回合|迭代|尝试|重试)(?:次数)?\s*[:=#]?\s*{_NUMBER}(?![\d.])",
        )
    )
)
_VERSION = re.compile(
    r"(?<![a-z0-9])(?:draft|version|revision|v|try|take|pass|turn)"
    rf"[\"'\s:=#*_-]{{0,4}}(\d{{1,4}})(?![\w.])|第\s*({_NUMBER})\s*(?:版|稿)"
)


def folded(text: str, round: int) -> str:
    """A text without what makes no difference; `round` is the round it was said in."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = _BESIDE_MOMENT.sub(MOMENT, _MOMENTS.sub(MOMENT, plain))
    plain = _COUNTS.sub(COUNT, plain)
    plain = _VERSION.sub(lambda found: _unless_round(found, round), plain)
    return _without_edges(" ".join(plain.split()))


def signature(messages: Sequence[Message], round: int) -> str:
    """A text that is equal for two outputs that count as the same."""
    said = [["".join(folded(m.text, round).split()), _plain(m.data, round)] for m in messages]
    return _digest(said)


def signature_of_call(call: dict[str, Any]) -> str:
    """A text that is equal for two calls of a tool with the same input and result."""
    return _digest(_plain(call, 0))


def _digest(value: Any) -> str:
    written = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return blake2b(written.encode(), digest_size=8).hexdigest()


def _plain(value: Any, round: int, key: str = "") -> Any:
    match value:
        case dict():
            return {str(k): _plain(v, round, str(k).casefold()) for k, v in value.items()}
        case list() | tuple():
            return [_plain(item, round, key) for item in value]
        case str():
            return "".join(folded(value, round).split())
        case bool() | None:
            return value
        case int() | float():
            if key in ROUND_KEYS:
                return COUNT
            return MOMENT if key in MOMENT_KEYS and value >= LEAST_EPOCH else value
    return str(value)


def _unless_round(found: re.Match[str], round: int) -> str:
    """The number of a draft or version, unless it is just the round's."""
    arabic, other = found.groups()
    number = int(arabic) if arabic else _number(other)
    return COUNT if number == round else found.group()


def _number(numeral: str) -> int:
    """A Chinese or Arabic number below a hundred; 0 for others."""
    if numeral.isdecimal():
        return int(numeral)
    digits = {sign: value for value, sign in enumerate("零一二三四五六七八九")}
    tens, ten, ones = numeral.rpartition("十")
    return 10 * digits.get(tens, 1) + digits.get(ones, 0) if ten else digits.get(ones, 0)


def _without_edges(text: str) -> str:
    """The text without punctuation at its edges; a sign or point before a number stays."""
    start, end = 0, len(text)
    while start < end and _is_edge(text[start]) and not _leads_number(text, start):
        start += 1
    while end > start and _is_edge(text[end - 1]):
        end -= 1
    return text[start:end] or text


def _is_edge(sign: str) -> bool:
    return sign.isspace() or unicodedata.category(sign)[0] == "P"


def _leads_number(text: str, at: int) -> bool:
    return text[at] in "-." and text[at + 1 : at + 2].isdecimal()
