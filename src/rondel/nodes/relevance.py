"""The relevance of texts to a question, by their words or their embeddings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

from rondel.models.tokens import words_in

RANKS = 60
"""What is added to a rank before two rankings are merged: the usual figure, which lets neither
decide alone."""


def by_words(question: str, texts: Sequence[str]) -> list[float]:
    """The share of the question's words that each text has; rare words count more."""
    asked = set(words_in(question))
    held = [asked & set(words_in(text)) for text in texts]
    among = Counter(word for words in held for word in words)
    weights = {word: log(1 + len(texts) / (1 + among[word])) for word in asked}
    total = sum(weights.values())
    return [sum(weights[word] for word in words) / total if total else 0.0 for words in held]


def merged(relevances: Sequence[float]) -> list[float]:
    """Relevance and recency as one figure, by reciprocal ranks; the texts are newest first.

    What has nothing to do with the question counts by its recency alone.
    """
    order = sorted(range(len(relevances)), key=lambda place: (-relevances[place], place))
    ranks = {place: rank for rank, place in enumerate(order) if relevances[place]}
    return [
        1 / (RANKS + place) + (1 / (RANKS + ranks[place]) if place in ranks else 0.0)
        for place in range(len(relevances))
    ]


def best(figures: Sequence[float], limit: int) -> list[int]:
    """The places of the highest figures, at most `limit`, in the order of the texts."""
    order = sorted(range(len(figures)), key=lambda place: (-figures[place], place))
    return sorted(order[:limit])
