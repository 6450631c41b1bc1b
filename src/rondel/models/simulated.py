"""The provider `simulated`: a model that costs nothing and whose answers depend on the seed
only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from math import cos, pi, sqrt
from random import Random
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.graph.guarantees import NO_KEYS, Calls, Guarantee
from rondel.models.embedder import Embedded, Purpose, Vector
from rondel.models.model import ModelAnswer, ProviderConfig, Request
from rondel.models.prices import SIMULATED, usd
from rondel.models.prose import Language, language_of, sentences, topic_of
from rondel.models.sampling import Sampler
from rondel.models.tokens import count_input, count_tokens, words_in

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
MOODS = (0.4, 1.0)
"""The range of the mood of a structured answer without a score."""

DIMENSIONS = 256
WORD, PIECE = 1.0, 0.4
"""The weights of a word and of three letters of it, so that its other forms are near."""

CallNumber = Annotated[int, Field(strict=True, ge=1)]


class ScoreConfig(BaseModel):
    """How the score goes from call to call.

    By `step`, up or down, until it stalls; up and down by `swing` every `period` calls; one drop.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    start: Number = 60
    step: Number = 10
    noise: Annotated[Number, Field(ge=0)] = 0
    stall_after: CallNumber | None = None
    drop_at: CallNumber | None = None
    drop: Annotated[Number, Field(gt=0)] = 20
    swing: Annotated[Number, Field(ge=0)] = 0
    period: Annotated[int, Field(strict=True, ge=2)] = 2

    @property
    def scale(self) -> int:
        """The best score: 100, or 10 if no score goes beyond 10."""
        return 10 if max(self.start + self.swing, self.step * 10) <= 10 else 100

    def at(self, call: int, rng: Random) -> int | float:
        """The score of the node's call of that number, from 1; within 0 and 100."""
        gains = min(call, self.stall_after or call) - 1
        score = self.start + self.step * gains
        if self.swing:
            score += self.swing * cos(2 * pi * (call - 1) / self.period)
        if call == self.drop_at:
            score -= self.drop
        if self.noise:
            score += rng.uniform(-self.noise, self.noise)
        score = round(min(100.0, max(0.0, float(score))), 1)
        return int(score) if score.is_integer() else score


class SimulatedConfig(ProviderConfig):
    """A seed, and how its answers are scored, if they are."""

    seed: Annotated[int, Field(strict=True)] | str = 0
    score: ScoreConfig | None = None

    def guarantee(self) -> Guarantee:
        """One call; prose without JSON in it, and a score if one is set."""
        return Guarantee(
            routes=False,
            emits=True,
            keys=frozenset({"score"}) if self.score else NO_KEYS,
            passes=False,
            free_text=False,
            calls=Calls(1, None, None, why="simulated text has no fixed length"),
        )


class SimulatedModel:
    """Makes plausible text from the node's role and input; each call differs from the last."""

    def __init__(self, config: SimulatedConfig) -> None:
        self._seed = config.seed
        self._score = config.score
        self._name = config.name or SIMULATED
        self._price = config.price

    async def answer(self, request: Request) -> ModelAnswer:
        return self._answered(request)

    def most(self, request: Request) -> Usage:
        """The exact usage: the same question gets the same answer."""
        return self._answered(replace(request, emit=_unheard)).usage

    def _answered(self, request: Request) -> ModelAnswer:
        call = request.index + 1
        rng = Random(f"{self._seed}\n{request.node_id}\n{request.system}\n{call}")  # noqa: S311
        language = language_of(request.text, request.system)
        told = (message.readable for message in request.messages)
        topic = topic_of(request.text, *told, request.system)
        if request.schema is not None:
            return self._structured(request, request.schema, rng, topic, language)
        lines = sentences(rng, request.system, topic, call, language)
        data = {}
        if self._score:
            data["score"] = score = self._score.at(call, rng)
            lines.append(language.score.format(score=score))
        content = self._streamed(lines, language.join, request)
        return ModelAnswer(content, data, self._usage(request, content))

    def _structured(
        self, request: Request, schema: dict[str, Any], rng: Random, topic: str, language: Language
    ) -> ModelAnswer:
        """An answer that is one JSON object of that schema."""
        call = request.index + 1
        score = self._score.at(call, rng) if self._score else None
        mood = rng.uniform(*MOODS) if not self._score else (score or 0) / self._score.scale

        def sentence() -> str:
            return rng.choice(sentences(rng, request.system, topic, call, language)[1:])

        data = Sampler(schema, rng, min(mood, 1.0), sentence, score).filled()
        content = self._streamed([json.dumps(data, ensure_ascii=False)], "", request)
        return ModelAnswer(content, data, self._usage(request, content))

    def _streamed(self, lines: list[str], join: str, request: Request) -> str:
        pieces = [lines[0], *(join + line for line in lines[1:])]
        for piece in pieces:
            request.emit(piece)
        return "".join(pieces)

    def _usage(self, request: Request, content: str) -> Usage:
        taken = count_input(request), count_tokens(content)
        return Usage(self._name, *taken, usd(self._name, *taken, price=self._price))


def simulating(config: ProviderConfig) -> SimulatedConfig:
    """A simulated model of the same name, at the same price."""
    return SimulatedConfig.model_validate({"name": config.name}, context=config.context)


def _unheard(chunk: str) -> None:
    """Drops the stream."""


class SimulatedEmbedder:
    """Embeds texts so that those with common words, word parts or Chinese characters are near."""

    def __init__(self, config: ProviderConfig) -> None:
        self._name = config.name or SIMULATED
        self._price = config.price

    async def embed(self, texts: Sequence[str], purpose: Purpose = "document") -> Embedded:
        """Equal texts have equal vectors; the purpose makes no difference."""
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
    """Add `simulated`, which answers and embeds."""
    registry.provider(
        "simulated", SimulatedConfig, lambda config, _registry: SimulatedModel(config)
    )
    registry.embedder("simulated", ProviderConfig, lambda config, _: SimulatedEmbedder(config))
