"""The node type `memory`: hands on what the session's group remembers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Sequence
from functools import partial
from math import log
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit
from rondel.engine.registry import Registry
from rondel.errors import ModelError
from rondel.graph.guarantees import Calls, Guarantee
from rondel.graph.moments import to_millisecond
from rondel.guards.memory import MEMORY_ERROR, attempt, failure_json
from rondel.journal.store import Group, MemoryEntry
from rondel.journal.working_memory import WorkingMemory
from rondel.models.choice import knowing, with_types
from rondel.models.embedder import Embedded, Embedder, EmbeddingConfig, similarity
from rondel.models.real_config import ServedConfig
from rondel.models.tokens import words_in
from rondel.nodes.agent_history import HISTORY, entry_text

MEMORY = "memory"
NOBODY = Group("", own=True)
PIECE, OVERLAP = 500, 50
"""The size of a document's pieces, and the overlap of two pieces, in characters."""

SENTENCE_ENDS = "。！？.!?\n"


RANKS = 60
"""A number that is added to each rank before two rankings are merged, so that neither ranking
decides alone; 60 is the usual one."""


class MemoryDocument(BaseModel):
    """A text that can be found; a long one is split into pieces."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    text: str


class MemoryConfig(BaseModel):
    """How many entries it retrieves, and how it compares them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: int = Field(
        50,
        strict=True,
        ge=1,
        description="The most entries: those that have most to do with the node's input.",
    )
    embedding: EmbeddingConfig | None = Field(
        None,
        description="The model by which entries of like meaning are found; without it they are "
        "found by recency and words.",
    )

    min_similarity: float | None = Field(
        None, ge=-1, le=1, description="With `embedding`: what is further away is left out."
    )
    documents: list[MemoryDocument] = Field(
        [], description="Texts that are searched in place of what the session's group remembers."
    )
    also_session: bool = Field(
        False, strict=True, description="With `documents`: both are searched."
    )

    def guarantee(self) -> Guarantee:
        """It emits its input with the memories added."""
        keys = frozenset({HISTORY})
        return Guarantee(routes=False, emits=True, keys=keys, free_text=False, calls=self._calls())

    def _calls(self) -> Calls:
        """One call for the question and one for new entries, each with its attempts."""
        if self.embedding is None:
            return Calls()
        options = self.embedding.options
        attempts = options.attempts if isinstance(options, ServedConfig) else 1
        free = 0.0 if isinstance(options, ServedConfig) and options.tariff.free else None
        return Calls(2 * attempts, None, free, why="what is remembered has no fixed length")


class MemoryProcessor:
    """Passes its last message on, with the group's working memory in its data."""

    __slots__ = ("_documents", "_embedder", "_least", "_limit", "_registry", "_session")

    def __init__(self, config: MemoryConfig, registry: Registry) -> None:
        self._limit = config.limit
        self._least = config.min_similarity
        found = [(each.name, text) for each in config.documents for text in _pieces(each.text)]
        self._documents = [
            MemoryEntry(NOBODY, "", f"{name}#{number}", number, name, text, {})
            for number, (name, text) in reversed([*enumerate(found)])
        ]
        self._session = config.also_session or not found
        self._registry = registry
        self._embedder = None if config.embedding is None else config.embedding.built(registry)

    async def process(self, ctx: Context) -> Emit:
        entries = [*(await self._remembered(ctx) if self._session else ()), *self._documents]
        found = await self._found(ctx, entries)
        last = ctx.messages[-1] if ctx.messages else Message()
        data = {**last.data, HISTORY: [_json(*each) for each in reversed(found)]}
        return Emit((msgspec.structs.replace(last, data=data, source=""),))

    async def _remembered(self, ctx: Context) -> Sequence[MemoryEntry]:
        memory: WorkingMemory = self._registry.service(MEMORY)
        recall = partial(memory.recall, ctx.session_id, ctx.inputs, ctx.now)
        return await attempt(ctx, "retrieval", recall) or []

    async def _found(
        self, ctx: Context, entries: Sequence[MemoryEntry]
    ) -> list[tuple[MemoryEntry, float | None]]:
        """The entries to hand on, newest first, with their similarity if that is known."""
        if not entries or not ctx.text.strip():
            return [(entry, None) for entry in entries[: self._limit]]
        texts = [entry_text(msgspec.to_builtins(entry.content)) for entry in entries]
        near = None if self._embedder is None else await _nearness(ctx, self._embedder, texts)
        if near is not None:
            least = -1.0 if self._least is None else self._least
            places = [place for place in _best(near, self._limit) if near[place] >= least]
            return [(entries[place], near[place]) for place in places]
        figures = _merged(_by_words(ctx.text, texts))
        return [(entries[place], None) for place in _best(figures, self._limit)]


async def _nearness(ctx: Context, embedder: Embedder, texts: list[str]) -> list[float] | None:
    """The similarity of each text to the node's input; None if the model fails."""
    try:
        question = await _paid(ctx, embedder.embed([ctx.text], "query"))
        known = await _paid(ctx, embedder.embed(texts, "document"))
    except ModelError as error:
        await ctx.substep("embedding", partial(failure_json, error), MEMORY_ERROR)
        return None
    return [similarity(question.vectors[0], vector) for vector in known.vectors]


async def _paid(ctx: Context, embedding: Awaitable[Embedded]) -> Embedded:
    """The embeddings, reserved in the budgets and recorded in the ledger."""
    await ctx.reserve(lambda: None)
    embedded = await embedding
    for usage in embedded.usages:
        ctx.charge(usage)
    return embedded


def _pieces(text: str) -> list[str]:
    """A text in pieces of comparable length, cut at the end of a sentence where possible."""
    found: list[str] = []
    start = 0
    while start < len(text):
        piece = text[start : start + PIECE]
        if start + PIECE < len(text):
            end = max(piece.rfind(mark) for mark in SENTENCE_ENDS)
            piece = piece[: end + 1] if end > PIECE // 2 else piece
        found.append(piece.strip())
        start += len(piece) - (OVERLAP if start + len(piece) < len(text) else 0)
    return [piece for piece in found if piece]


def _by_words(question: str, texts: Sequence[str]) -> list[float]:
    """The share of the question's words that each text has; rare words count more."""
    asked = set(words_in(question))
    held = [asked & set(words_in(text)) for text in texts]
    among = Counter(word for words in held for word in words)
    weights = {word: log(1 + len(texts) / (1 + among[word])) for word in asked}
    total = sum(weights.values())
    return [sum(weights[word] for word in words) / total if total else 0.0 for words in held]


def _merged(relevances: Sequence[float]) -> list[float]:
    """Relevance and recency as one figure, by reciprocal ranks; the texts are newest first.

    What has nothing to do with the question counts by its recency alone.
    """
    order = sorted(range(len(relevances)), key=lambda place: (-relevances[place], place))
    ranks = {place: rank for rank, place in enumerate(order) if relevances[place]}
    return [
        1 / (RANKS + place) + (1 / (RANKS + ranks[place]) if place in ranks else 0.0)
        for place in range(len(relevances))
    ]


def _best(figures: Sequence[float], limit: int) -> list[int]:
    """The places of the highest figures, at most `limit`, in the order of the texts."""
    order = sorted(range(len(figures)), key=lambda place: (-figures[place], place))
    return sorted(order[:limit])


def _json(entry: MemoryEntry, near: float | None) -> dict[str, Any]:
    fields = {
        "content": msgspec.to_builtins(entry.content),
        "node_id": entry.node_id,
        "session": entry.session,
        "address": entry.address,
        "confidence": entry.confidence,
        "timestamp": to_millisecond(entry.created_at),
    }
    return fields if near is None else {**fields, "similarity": round(near, 4)}


def register(registry: Registry) -> None:
    """Add `memory`."""
    embedding: Any = knowing(registry, EmbeddingConfig)
    registry.node(MEMORY, with_types(MemoryConfig, embedding=embedding | None), MemoryProcessor)
