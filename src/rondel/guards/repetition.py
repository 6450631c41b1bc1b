"""How a node repeats itself: the same output many times, a cycle of outputs, little that is new."""

from __future__ import annotations

import re
import struct
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any, Self
from zlib import crc32

LONGEST_CYCLE = 6
TIMES_OVER = 3
"""How often a cycle must be repeated before it counts."""

MOST = 16_384
"""How many neighbourhoods are remembered of one node in one loop; at most 90 kB in a snapshot."""

# Scripts written without spaces (Thai to Khmer, kana, Han): each character is a token.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+|[^\w\s]|_")


def is_run(said: Sequence[str], repeats: int) -> bool:
    """Whether the last `repeats` outputs are all the same."""
    return len(said) >= repeats and len(set(said[-repeats:])) == 1


def cycle_in(said: Sequence[str]) -> int | None:
    """The length of the cycle that the last outputs repeated often enough, if there is one."""
    for length in range(2, LONGEST_CYCLE + 1):
        last = said[-length * TIMES_OVER :]
        if len(last) < length * TIMES_OVER or len(set(last)) == 1:
            continue
        if all(last[at] == last[at + length] for at in range(len(last) - length)):
            return length
    return None


def neighbourhoods(tokens: list[str]) -> list[int]:
    """For each token, the hash of it and its two neighbours; the text's ends count as such."""
    ended = ["", *tokens, ""]
    return [
        crc32(" ".join(ended[at : at + 3]).encode("utf-8", "surrogatepass"))
        for at in range(len(tokens))
    ]


class Novelty:
    """The share of an output that the node's earlier ones do not already contain."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, None] = {}

    def measure(self, text: str) -> float:
        """The entropy of the node's next output: 0 for a repeat, 1 for something new.

        A token is known if it stands where it stood before: between the same neighbours, or
        beside a token that does.
        """
        hashes = neighbourhoods(_TOKEN.findall(text) or [""])
        known = [False, *(each in self._known for each in hashes), False]
        new = sum(not any(known[at : at + 3]) for at in range(len(hashes)))
        self._remember(hashes)
        return new / len(hashes)

    def _remember(self, hashes: list[int]) -> None:
        self._known |= dict.fromkeys(hashes)
        over = len(self._known) - MOST
        if over > 0:
            for each in list(islice(self._known, over)):
                del self._known[each]

    def dump(self) -> str:
        """Its state as JSON."""
        return b64encode(struct.pack(f"<{len(self._known)}I", *self._known)).decode("ascii")

    @classmethod
    def of(cls, dumped: str) -> Self:
        """The object that `dump` gave this JSON for."""
        novelty, packed = cls(), b64decode(dumped)
        novelty._known = dict.fromkeys(struct.unpack(f"<{len(packed) // 4}I", packed))
        return novelty


class NodeOutputs:
    """What one node has said in one entry of a loop."""

    __slots__ = ("_keep", "entropies", "novelty", "said", "warned")

    def __init__(self, window: int, repeats: int) -> None:
        self.novelty = Novelty()
        self.entropies: deque[float] = deque(maxlen=window)
        self.said: list[str] = []
        """The signatures of its newest outputs."""
        self.warned = False
        self._keep = max(repeats, LONGEST_CYCLE * TIMES_OVER)

    def add(self, signature: str) -> None:
        """Note an output."""
        self.said = [*self.said, signature][-self._keep :]

    @property
    def mean(self) -> float | None:
        """The mean novelty of its last outputs; None while there are too few."""
        if len(self.entropies) < (self.entropies.maxlen or 0):
            return None
        return sum(self.entropies) / len(self.entropies)

    def dump(self) -> list[Any]:
        """Its state as JSON."""
        return [self.novelty.dump(), list(self.entropies), self.said, self.warned]

    @classmethod
    def load(cls, window: int, repeats: int, dumped: Sequence[Any]) -> Self:
        """What `dump` gave this JSON for."""
        outputs = cls(window, repeats)
        novelty, entropies, outputs.said, outputs.warned = dumped
        outputs.novelty = Novelty.of(novelty)
        outputs.entropies.extend(entropies)
        return outputs
