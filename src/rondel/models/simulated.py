"""The provider `simulated`: a model that costs nothing and says the same for the same seed."""

from __future__ import annotations

from random import Random
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.graph.promises import NO_KEYS, Calls, Promise
from rondel.models.model import Answer, ProviderConfig, Request
from rondel.models.prices import SIMULATED, usd
from rondel.models.prose import language_of, sentences, topic_of
from rondel.models.tokens import count_input, count_tokens

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
CallNumber = Annotated[int, Field(strict=True, ge=1)]


class ScoreConfig(BaseModel):
    """How the score goes from call to call: up by `step`, until it stalls, but for one drop."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: Number = 60
    step: Number = 10
    noise: Annotated[Number, Field(ge=0)] = 0
    stall_after: CallNumber | None = None
    drop_at: CallNumber | None = None
    drop: Annotated[Number, Field(gt=0)] = 20

    def at(self, call: int, rng: Random) -> int | float:
        """The score of the node's call of that number, from 1; within 0 and 100."""
        gains = min(call, self.stall_after or call) - 1
        score = self.start + self.step * gains
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

    def promise(self) -> Promise:
        """One call; prose without JSON in it, and a score if one is set."""
        return Promise(
            routes=False,
            emits=True,
            keys=frozenset({"score"}) if self.score else NO_KEYS,
            passes=False,
            free_text=False,
            calls=Calls(1, None, None),
        )


class SimulatedModel:
    """Makes plausible text from the node's role and input; each call differs from the last."""

    def __init__(self, config: SimulatedConfig) -> None:
        self._seed = config.seed
        self._score = config.score
        self._name = config.name or SIMULATED

    async def answer(self, request: Request) -> Answer:
        call = request.index + 1
        rng = Random(f"{self._seed}\n{request.node_id}\n{request.system}\n{call}")  # noqa: S311
        language = language_of(request.text, request.system)
        topic = topic_of(request.text, request.system)
        lines = sentences(rng, request.system, topic, call, language)
        data = {}
        if self._score:
            data["score"] = score = self._score.at(call, rng)
            lines.append(language.score.format(score=score))
        content = self._streamed(lines, language.join, request)
        return Answer(content, data, self._usage(request, content))

    def _streamed(self, lines: list[str], join: str, request: Request) -> str:
        pieces = [lines[0], *(join + line for line in lines[1:])]
        for piece in pieces:
            request.emit(piece)
        return "".join(pieces)

    def _usage(self, request: Request, content: str) -> Usage:
        taken = count_input(request), count_tokens(content)
        return Usage(self._name, *taken, usd(self._name, *taken))


def register(registry: Registry) -> None:
    """Add `simulated`."""
    registry.provider(
        "simulated", SimulatedConfig, lambda config, _registry: SimulatedModel(config)
    )
