"""Whether a text agrees: it contains a phrase of agreement that nothing around it negates.

The rule, in English and Chinese:

- A phrase of letters is a phrase of whole words: "I agreed" does not contain "i agree".
- The scope of a negation is the clause. A phrase is negated by a negative word before it in its
  clause ("I can't say I agree", "尚未达成共识"), by one right after it ("I agree with nothing"), in
  Chinese by one anywhere behind it in the clause ("达成共识是不可能的"), and by a denial that
  follows ("I agree, no.").
- A clause ends at punctuation and at "but". So "I do not object; I agree" agrees. A clause that
  cannot stand alone ("I don't think, honestly, that I agree") takes the whole sentence with it.
- A question asserts nothing: "I agree? No." Only a tag does: "I agree, right?"
- Neither does a wish, a need or a guess in the clause ("I wish I could say I agree",
  "我们需要达成共识"), a condition anywhere in the sentence ("If you drop it, I agree"), what others
  say ("he says I agree"), a quotation that is not all of the text, nor agreement in part or to
  differ ("I agree, but...", "I agree that we disagree", "离达成共识还有距离").
- Words that look negative or doubtful and are not ("no doubt", "I must say", "不仅", "非常") do not
  count.

Where a text is doubtful it does not agree: a debate that goes on too long costs a round, one that
ends too early its result.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

SCOPE = 300
"""The characters on either side of a phrase that are looked at."""

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u0060\u00b4", "'"))
_QUOTES = re.compile('["“”«»「」『』*_]')

_SENTENCE_END = re.compile(r"[.!?;。\n]+")
_CLAUSE_END = re.compile(r"[,:()\[\]、—–]| - |\bbut\b|\bhowever\b|但是?|不过|然而|可是|[.!?;。\n]+")
_SO = re.compile(r"(?:\b(?:and|so|thus|hence|therefore)\b|并且?|而且|且|所以|因此|于是)\s*$")
_DEPENDENT = re.compile(
    r"\s*(?:(?:that|whether|why|how|to say|say|saying|think|believe|feel|claim|mean)\b"
    r"|说|认为|觉得|以为|相信)"
)

_NOT_DOUBTFUL = re.compile(
    r"\b(?:must|have to|has to|would|should|can|could|want to|need to|let me) "
    r"(?:say|admit|concede|confess|add|confirm|conclude)\b"
    r"|\beven (?:if|when|so)\b|\bonce (?:again|more)\b|\bif (?:anything|i may)\b|\bas if\b"
    r"|会议|社会|大会|协会|机会|会上|会后|会谈|可能性"
)
_DOUBTFUL = re.compile(
    r"\b(?:wish(?:es|ed)?|hop(?:e|es|ed|ing)|want(?:s|ed)?|needs?|must|should|shall|ought|would"
    r"|could|might|may|maybe|perhaps|possibly|probably|almost|nearly|guess|suppose|why|how|whether"
    r"|when|before|until|till|so that|in order|likely|expect|pretend|imagine|tempted|try|trying)\b"
    r"|需要|必须|必需|应该|应当|希望|盼|期待|想|愿|力求|争取|努力|为了|尽快|尽量|早日|试图|尝试|可能"
    r"|也许|或许|似乎|好像|快要|即将|有望|几乎|差点|接近|部分|怎样|怎么|如何|什么时候|何时|难道"
    r"|(?:[为离距将会能]|距离|能够|可以|即可)$"
)
_CONDITION = re.compile(
    r"\b(?:if|unless|until|once|provided|providing|assuming|as (?:soon|long) as|should you|were you"
    r"|in case|on condition|when)\b|如果|假如|假设|倘若|要是|若是|只要|只有|一旦|除非|直到|的话"
)
_REPORTED = re.compile(
    r"\b(?!(?:i|never|ever|already|just|always|also|not|have|had|nobody)\b)[a-z]+ "
    r"(?:says|said|claims|claimed|writes|wrote|tells|told|thinks|believes|pretends|asks|asked)\b"
    r"|\b(?:you|they|we|people|others|some) (?:say|claim|write|think|believe|pretend|ask)\b"
    r"|(?:你|他|她|它|们|对方|有人|对手|人家)(?:们)?(?:说|声称|宣称|认为|以为|写道)|声称|所谓"
)
_DOUBTFUL_BEHIND = re.compile(
    r"[\s,]*(?:(?:but|however|except|though|although|yet|only|if|unless|until|once|when|provided"
    r"|providing|assuming|as (?:soon|long) as|on (?:one|the|a) condition|conditionally|partly"
    r"|partially|in part|in principle|in theory|for now|for the sake"
    r"|to (?:some|a certain|an) extent|up to a point|with (?:some|part|half|parts)"
    r"|但|不过|然而|可是)\b|(?:但|不过|然而|可是))"
)
_APART_BEHIND = re.compile(
    r"[^.!?;。\n]*?(?:\b(?:disagree\w*|differ|differs|apart|no (?:consensus|agreement|deal))\b"
    r"|吗|呢|还有距离|还有很|还差|还远|尚远|还需|需要|之前|前提|的条件|的路|目标|的可能|的过程|的话|与否)"
)
_TAG = re.compile(r"[\w' ]{1,16}")
_QUOTED_LINE = re.compile(r"^\s*>.*$", re.MULTILINE)
_QUOTATION = re.compile('["“«「『]([^"“”«»「」『』]*)["”»」』]')

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
    plain = _plain(_own_words(text))
    return any(
        not _negated(plain, found.start(), found.end())
        and not _doubtful(plain, found.start(), found.end())
        for phrase in phrases
        for found in _pattern(phrase).finditer(plain)
    )


def _own_words(text: str) -> str:
    """The text without its quotations; a text that is one quotation stays as it is."""
    rest = _QUOTATION.sub(" … ", _QUOTED_LINE.sub("", text))
    return rest if any(map(str.isalnum, rest)) else text


def _doubtful(text: str, start: int, end: int) -> bool:
    """Whether a clause is a wish, a need, a condition, a question, another's view, or partial."""
    sentence = _NOT_DOUBTFUL.sub(
        " ", _after_last(_SENTENCE_END, text[max(0, start - SCOPE) : start])
    )
    if _CONDITION.search(sentence) or _REPORTED.search(sentence):
        return True
    if _DOUBTFUL.search(_after_last(_CLAUSE_END, sentence).rstrip()):
        return True
    rest = text[end : end + SCOPE]
    if _DOUBTFUL_BEHIND.match(rest) or _APART_BEHIND.match(rest):
        return True
    mark = _SENTENCE_END.search(rest)
    return mark is not None and "?" in mark[0] and not _ends_with_a_tag(rest[: mark.start()])


def _ends_with_a_tag(behind: str) -> bool:
    """Whether the text ends in a tag question, as in "I agree, right?"."""
    _, comma, last = behind.rpartition(",")
    return bool(comma) and _TAG.fullmatch(last) is not None


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
