"""Novelty entropy: how much of a node's output its earlier outputs do not already contain."""

from __future__ import annotations

import re
import struct
import unicodedata
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from itertools import groupby
from typing import Any, Self

HISTORY = 12
"""Outputs remembered: a cycle of up to so many messages is seen."""

WIDTH = 5
"""Neighbouring tokens in a shingle."""

SAMPLE = 448
"""Shingles remembered of one output: all, or those of lowest hash where there are more."""

LEAST_SAMPLE = 32
"""Fewer shingles than this say nothing about a message of which they are a sample."""

FORGIVEN = 0.11
"""Share of unknown shingles that single changed words explain, where only a sample is known."""

SHORT, SHORT_SCALE = 80, 3
"""In a message of up to so many tokens, new ones are measured against so few."""

LONG, LONG_SCALE = 150, 2 / 3
"""In a message of so many tokens or more, new ones are measured against this share of it."""

EVERY_HASH = 2**32 - 1

# Scripts written without spaces (Thai to Khmer, kana, Han): each character is a token.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_DIGIT = re.compile(r"\d")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMERALS = "〇零一二三四五六七八九十百千"
# The look-behind lets a run of numerals be read once only, however long it is.
_CHINESE_NUMBER = re.compile(
    rf"(?<=第)[{_NUMERALS}]++"
    rf"|(?<![{_NUMERALS}])[{_NUMERALS}]++(?=[年月日号时点分秒])"
    rf"|(?<=星期|礼拜)[{_NUMERALS}日天]"
    rf"|(?<=周)[{_NUMERALS}日]"
)
_DATE_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        january february march april may june july august september october november december
        jan feb mar apr jun jul aug sep sept oct nov dec
        monday tuesday wednesday thursday friday saturday sunday
        mon tue tues wed thu thur thurs fri sat sun
        """,
    )
)


def tokens_of(text: str) -> list[str]:
    """The words of a text, and the characters of scripts without spaces; no numbers, no dates."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = _CHINESE_NUMBER.sub("", _UUID.sub("", folded))
    words = (
        token
        for token in _TOKEN.findall(bare)
        if not _DIGIT.search(token) and token not in _DATE_WORDS
    )
    return [token for token, _ in groupby(words)]


def shingles_of(tokens: Sequence[str]) -> list[int]:
    """The hashes of all WIDTH neighbouring tokens, in order; the text's ends count as tokens."""
    ended = ["", *tokens, ""]
    last = max(1, len(ended) - WIDTH + 1)
    # No token is empty or has white space in it, so that different shingles read differently.
    return [_hash(" ".join(ended[start : start + WIDTH])) for start in range(last)]


def _hash(shingle: str) -> int:
    digest = blake2b(shingle.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is remembered of one output: its size, and a bounded sample of its shingles."""

    tokens: int
    distinct: int
    """How many different shingles it has."""
    reach: int
    """The sample holds every shingle whose hash is at most this."""
    sample: frozenset[int]

    @classmethod
    def of(cls, tokens: int, shingles: Sequence[int]) -> Self:
        """The fingerprint of an output, in time linear in its length."""
        distinct = frozenset(shingles)
        if len(distinct) <= SAMPLE:
            return cls(tokens, len(distinct), EVERY_HASH, distinct)
        lowest = nsmallest(SAMPLE, distinct)
        return cls(tokens, len(distinct), lowest[-1], frozenset(lowest))

    def within(self, reach: int) -> frozenset[int]:
        """The sample up to a hash."""
        if self.reach == reach:
            return self.sample
        return frozenset(shingle for shingle in self.sample if shingle <= reach)

    def dump(self) -> list[Any]:
        """As JSON."""
        packed = struct.pack(f"<{len(self.sample)}I", *sorted(self.sample))
        return [self.tokens, self.distinct, self.reach, b64encode(packed).decode("ascii")]

    @classmethod
    def load(cls, dumped: Sequence[Any]) -> Self:
        """The fingerprint that was dumped."""
        tokens, distinct, reach, sample = dumped
        packed = b64decode(sample)
        hashes = struct.unpack(f"<{len(packed) // 4}I", packed)
        return cls(tokens, distinct, reach, frozenset(hashes))


@dataclass(frozen=True, slots=True)
class Difference:
    """How a message differs from an earlier one."""

    message: Fingerprint
    earlier: Fingerprint
    new: float
    """Tokens of the message that are in no shingle of the earlier one."""
    lost: float
    """Shingles of the earlier one that the message has not."""

    @classmethod
    def between(
        cls, message: Fingerprint, shingles: Sequence[int], earlier: Fingerprint
    ) -> Self | None:
        """The difference, or None where the samples have too little in common to tell."""
        reach = min(message.reach, earlier.reach)
        mine, theirs = message.within(reach), earlier.within(reach)
        lost = len(theirs - mine) / max(1, len(theirs)) * earlier.distinct
        if reach == EVERY_HASH:
            return cls(message, earlier, _uncovered(message.tokens, shingles, theirs), lost)
        if min(len(mine), len(theirs)) < LEAST_SAMPLE:
            return None
        looked_at = [shingle for shingle in shingles if shingle <= reach]
        unknown = sum(shingle not in theirs for shingle in looked_at) / len(looked_at)
        share = max(0.0, unknown - FORGIVEN) / (1 - FORGIVEN)
        return cls(message, earlier, share * message.tokens, lost)

    @property
    def exact(self) -> bool:
        """Whether all shingles of both are known, and not a sample only."""
        return self.message.reach == self.earlier.reach == EVERY_HASH

    @property
    def contained(self) -> bool:
        """Whether at least half of the earlier message is in this one."""
        return 2 * self.lost <= self.earlier.distinct

    @property
    def growth(self) -> int:
        """How many tokens longer this message is."""
        return self.message.tokens - self.earlier.tokens

    def share(self) -> float:
        """What is new, measured against the message."""
        tokens = self.message.tokens
        longness = min(1.0, max(0.0, (tokens - SHORT) / (LONG - SHORT)))
        short_scale = min(tokens, SHORT_SCALE)
        return self.new / (short_scale + longness * (LONG_SCALE * tokens - short_scale))

    def share_of_growth(self) -> float:
        """What there is more of, measured against the growth and a quarter of what was lost."""
        if self.exact and not self.new:
            return 0.0
        more = self.message.distinct - self.earlier.distinct
        return min(max(more, 0), self.growth) / (self.growth + self.lost / 4)


def _uncovered(tokens: int, shingles: Sequence[int], known: frozenset[int]) -> int:
    # The shingle at `start` covers the tokens from there on, the text's ends counted in.
    covered, end = 0, 1
    for start, shingle in enumerate(shingles):
        if shingle in known:
            until = min(start + WIDTH, tokens + 1)
            covered += until - max(start, end)
            end = until
    return tokens - covered


class Novelty:
    """The outputs of one node, remembered so that the next one can be measured against them."""

    __slots__ = ("_history",)

    def __init__(self) -> None:
        self._history: deque[Fingerprint] = deque(maxlen=HISTORY)

    def measure(self, text: str) -> float:
        """The entropy of the node's next output: 0 for a repeat, 1 for something new."""
        # A text without words counts as one empty word, so that such texts repeat each other.
        tokens = tokens_of(text) or [""]
        shingles = shingles_of(tokens)
        message = Fingerprint.of(len(tokens), shingles)
        entropy = self._entropy(message, shingles)
        self._history.append(message)
        return entropy

    def dump(self) -> list[Any]:
        """The history as JSON, of bounded size."""
        return [fingerprint.dump() for fingerprint in self._history]

    @classmethod
    def of(cls, dumped: Sequence[Any]) -> Self:
        """The history that was dumped."""
        novelty = cls()
        novelty._history.extend(Fingerprint.load(entry) for entry in dumped)
        return novelty

    def _entropy(self, message: Fingerprint, shingles: Sequence[int]) -> float:
        compared = (Difference.between(message, shingles, earlier) for earlier in self._history)
        differences = [difference for difference in compared if difference is not None]
        grown = all(each.growth > 0 for each in differences if each.contained)
        shares = [
            each.share() + (each.share_of_growth() if grown and each.contained else 0)
            for each in differences
        ]
        return min([1.0, *shares])
