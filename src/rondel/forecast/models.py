"""Simulated models whose words, and whose scores if wanted, differ from run to run."""

from __future__ import annotations

from contextvars import ContextVar
from random import Random

from rondel.engine.registry import Registry
from rondel.models.model import Answer, ProviderConfig, Request
from rondel.models.prose import is_reviewer
from rondel.models.scripted import ScriptedConfig, scripted
from rondel.models.simulated import ScoreConfig, SimulatedConfig, SimulatedModel

RUN: ContextVar[str] = ContextVar("RUN")
"""Which run this code is part of."""

AS_CONFIGURED: ContextVar[bool] = ContextVar("AS_CONFIGURED", default=False)
"""Whether scores and scripts go as the graph says; else they vary around that."""


class ForecastModel:
    """A simulated model with another seed in every run."""

    def __init__(self, config: ProviderConfig, registry: Registry) -> None:
        self._config = (
            config if isinstance(config, SimulatedConfig) else SimulatedConfig(name=config.name)
        )
        self._script = (
            scripted(config.at_once(), registry) if isinstance(config, ScriptedConfig) else None
        )

    async def answer(self, request: Request) -> Answer:
        """What this run's model says."""
        if self._script is not None and AS_CONFIGURED.get():
            return await self._script.answer(request)
        run = RUN.get()
        config = self._config
        score = config.score if AS_CONFIGURED.get() else self._score(run, request)
        changed = {"seed": f"{config.seed}/{run}", "score": score}
        return await SimulatedModel(config.model_copy(update=changed)).answer(request)

    def _score(self, run: str, request: Request) -> ScoreConfig | None:
        """How this run's scores go: like those of the graph, or plausible ones for a reviewer."""
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
    """The same names, every provider simulated."""
    return registry.replacing("provider", ForecastModel)
