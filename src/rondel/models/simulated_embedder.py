"""The embedder of `simulated`: free, and the same vector for the same text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from math import sqrt

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.models.embedder import Embedded, Purpose, Vector
from rondel.models.model import ProviderConfig
from rondel.models.prices import SIMULATED, usd
from rondel.models.tokens import count_tokens
from rondel.models.words import words_in

DIMENSIONS = 256
WORD, PIECE = 1.0, 0.4
"""The weights of a word and of three letters of it, so that its other forms are near."""


class SimulatedEmbedder:
    """Embeds texts so that those with common words, word parts or Chinese characters are near."""

    def __init__(self, config: ProviderConfig) -> None:
        self._name = config.name or SIMULATED
        self._price = config.price

    async def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> Embedded:
        """The same vector for the same text, whatever it is for."""
        del purpose
        taken = sum(count_tokens(text) for text in texts)
        price = usd(self._name, taken, 0, price=self._price)
        return Embedded([_vector(text) for text in texts], [Usage(self._name, taken, 0, price)])


def _vector(text: str) -> Vector:
    """The hashed features of a text as a vector of length 1; zero if it has no word."""
    sums = [0.0] * DIMENSIONS
    for feature, weight in _features(text):
        digest = blake2b(feature.encode(errors="replace"), digest_size=4).digest()
        place = int.from_bytes(digest)
        sums[place % DIMENSIONS] += weight if place >> 31 else -weight
    length = sqrt(sum(each * each for each in sums))
    return [each / length for each in sums] if length else sums


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in words_in(text):
        yield word, WORD
        edged = f"<{word}>"
        if len(word) > 3:
            yield from ((edged[at : at + 3], PIECE) for at in range(len(edged) - 2))


def register(registry: Registry) -> None:
    """Add `simulated`."""
    registry.embedder("simulated", ProviderConfig, lambda config, _: SimulatedEmbedder(config))
