"""Simulated models whose words, and whose scores if wanted, differ from run to run."""

from __future__ import annotations

from contextvars import ContextVar
from random import Random

from rondel.engine.protocols import Usage
from rondel.engine.registry import Registry
from rondel.models.model import Model, ModelAnswer, ProviderConfig, Request, most_of
from rondel.models.prose import is_reviewer
from rondel.models.scripted import ScriptedConfig, scripted
from rondel.models.simulated import (
    ScoreConfig,
    SimulatedConfig,
    SimulatedEmbedder,
    SimulatedModel,
    simulating,
)

RUN: ContextVar[str] = ContextVar("RUN")
"""Which run this code is part of."""

AS_CONFIGURED: ContextVar[bool] = ContextVar("AS_CONFIGURED", default=False)
"""Whether scores and scripts follow the graph exactly; otherwise they vary around it."""


class ForecastModel:
    """A simulated model with another seed in every run."""

    def __init__(self, config: ProviderConfig, registry: Registry) -> None:
        self._config = config if isinstance(config, SimulatedConfig) else simulating(config)
        self._script = (
            scripted(config.at_once(), registry) if isinstance(config, ScriptedConfig) else None
        )

    async def answer(self, request: Request) -> ModelAnswer:
        """The answer of this run's model."""
        return await self._model(request).answer(request)

    def most(self, request: Request) -> Usage | None:
        """What its answer takes at most."""
        return most_of(self._model(request), request)

    def _model(self, request: Request) -> Model:
        if self._script is not None and AS_CONFIGURED.get():
            return self._script
        run = RUN.get()
        config = self._config
        score = config.score if AS_CONFIGURED.get() else self._score(run, request)
        changed = {"seed": f"{config.seed}/{run}", "score": score}
        return SimulatedModel(config.model_copy(update=changed))

    def _score(self, run: str, request: Request) -> ScoreConfig | None:
        """The scores of this run: those of the graph, or plausible ones for a reviewer."""
        rng = Random(f"{run}\n{request.node_id}")  # noqa: S311
        given = self._config.score
        if given is None and not is_reviewer(request.system):
            return None
        base = given or ScoreConfig()
        return base.model_copy(
            update={
                "start": base.start + rng.uniform(-10, 10),
                "step": base.step * rng.uniform(0.3, 1.3),
                "noise": max(base.noise, 3.0),
            }
        )


def forecasting(registry: Registry) -> Registry:
    """A registry with the same names, in which every provider is simulated."""
    simulated = registry.replacing("provider", ForecastModel)
    return simulated.replacing("embedder", lambda config, _registry: SimulatedEmbedder(config))
