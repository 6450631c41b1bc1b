"""Whether a text agrees: it contains a phrase of agreement that nothing around it negates.

The rule, in English and Chinese:

- A phrase of letters is a phrase of whole words: "I agreed" does not contain "i agree".
- The scope of a negation is the clause. A phrase is negated by a negative word before it in its
  clause ("I can't say I agree", "尚未达成共识"), by one right after it ("I agree with nothing"), in
  Chinese by one anywhere behind it in the clause ("达成共识是不可能的"), and by a denial that
  follows ("I agree, no.").
- A clause ends at punctuation and at "but". So "I do not object; I agree" agrees. A clause that
  cannot stand alone ("I don't think, honestly, that I agree") takes the whole sentence with it.
- A question asserts nothing: "I agree? No."
- Words that look negative and are not ("no doubt", "不仅", "非常") do not count.

Where a text is doubtful it does not agree: a debate that goes on too long costs a round, one that
ends too early its result.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

SCOPE = 300
"""How many characters on either side of a phrase are looked at."""

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u0060\u00b4", "'"))
_QUOTES = re.compile('["“”«»「」『』*_]')

_SENTENCE_END = re.compile(r"[.!?;。\n]+")
_CLAUSE_END = re.compile(r"[,:()\[\]、—–]| - |\bbut\b|\bhowever\b|但是?|不过|然而|可是|[.!?;。\n]+")
_SO = re.compile(r"(?:\b(?:and|so|thus|hence|therefore)\b|并且?|而且|且|所以|因此|于是)\s*$")
_DEPENDENT = re.compile(
    r"\s*(?:(?:that|whether|why|how|to say|say|saying|think|believe|feel|claim|mean)\b"
    r"|说|认为|觉得|以为|相信)"
)

_NOT_NEGATIVE = re.compile(
    r"\bnot only\b|\bnothing but\b|\bcan(?:not|'t) (?:help )?but\b"
    r"|\bno (?:doubt|question|problems?|objections?|reservations?|further \w+)\b"
    r"|\bwithout (?:a |any )?(?:doubt|question|reservations?|hesitation|objections?)\b"
    r"|(?:\b(?:not|never|cannot|no longer)|n't) (?:deny|doubt|dispute|object|disagree)\b"
    r"|不得不|不能不|不可否认|不否认|不怀疑|不再?反对|不仅|不但|不只|不光|不管|不论|不断|不约而同"
    r"|不错|不少|不久|不同(?!意)|毫?无疑问?|毋庸置疑|[毫]?无异议|没有(?:任何)?(?:异议|分歧|问题|疑问|意见)"
    r"|毫无保留|无论|非常|除非|未来|否则"
)
_ENGLISH_NEGATIVE = (
    r"\b(?:not|never|no|nor|neither|none|nobody|nothing|nowhere|cannot|without|hardly|scarcely"
    r"|barely|rarely|seldom|unable|refus(?:e|es|ed|ing)|den(?:y|ies|ied|ying)"
    r"|doubt(?:s|ed|ing|ful)?|far from"
    r"|(?:do|does|did|ca|wo|would|could|should|is|are|was|were)nt)\b"
    r"|n't\b"
)
_CHINESE_NEGATIVE = (
    "[没不未否]|无法|无从|无望|无意|难以|很难|太难|困难|并非|绝非|远非|拒绝|休想|为时[尚过]早"
)
_NEGATIVE = re.compile(f"{_ENGLISH_NEGATIVE}|{_CHINESE_NEGATIVE}")
_NEGATIVE_BEHIND = re.compile(
    r"\s*(?:(?:with|on|about|to|in)\s+)?"
    r"(?:nothing|none|nobody|neither|no\b|not (?:at all|yet|really)|disagree)"
    f"|.*?(?:{_CHINESE_NEGATIVE})"
)
_DENIAL = re.compile(
    r"\W*(?:no|nope|not|never|not (?:really|at all|quite|yet|so)|不是?|没有|并没有|并不|才怪)"
    r"\s*(?:[.!?,;。]|$)"
)
_NOTHING = re.compile(r"(?!)")


def agrees(text: str, phrases: Iterable[str]) -> bool:
    """Whether `text` contains one of the phrases, whatever its case, and does not negate it."""
    plain = _plain(text)
    return any(
        not _negated(plain, found.start(), found.end())
        for phrase in phrases
        for found in _pattern(phrase).finditer(plain)
    )


def _plain(text: str) -> str:
    """The text in one case, with plain punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    return _QUOTES.sub("", folded)


def _pattern(phrase: str) -> re.Pattern[str]:
    words = _plain(phrase).split()
    if not words:
        return _NOTHING
    body = r"\s+".join(map(re.escape, words))
    start = r"(?<![a-z0-9'])" if _is_letter(body[:1]) else ""
    end = r"(?![a-z0-9]|'[a-z])" if _is_letter(body[-1:]) else ""
    return re.compile(start + body + end)


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _negated(text: str, start: int, end: int) -> bool:
    sentence = _after_last(_SENTENCE_END, text[max(0, start - SCOPE) : start])
    clause = _after_last(_CLAUSE_END, sentence)
    before = sentence if _DEPENDENT.match(clause) else clause
    if not _SO.search(before) and _NEGATIVE.search(_NOT_NEGATIVE.sub(" ", before)):
        return True
    rest = text[end : end + SCOPE]
    mark = _CLAUSE_END.search(rest)
    behind = rest[: mark.start()] if mark else rest
    if _NEGATIVE_BEHIND.match(_NOT_NEGATIVE.sub(" ", behind)):
        return True
    return mark is not None and ("?" in mark[0] or bool(_DENIAL.match(rest, mark.end())))


def _after_last(mark: re.Pattern[str], text: str) -> str:
    last = 0
    for found in mark.finditer(text):
        last = found.end()
    return text[last:]
