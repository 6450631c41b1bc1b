"""Language models: real ones, those that need no network, and what tokens cost."""

from __future__ import annotations

from rondel.engine.registry import Registry
from rondel.models.real import EMBEDDING, PROVIDERS


def register(registry: Registry) -> None:
    """Add every built-in provider; each file is imported when it is used."""
    registry.later("provider", f"{__name__}.scripted", "scripted")
    registry.later("provider", f"{__name__}.simulated", "simulated")
    registry.later("provider", f"{__name__}.bridge", *(real.name for real in PROVIDERS))
    registry.later("embedder", f"{__name__}.simulated", "simulated")
    registry.later("embedder", f"{__name__}.bridge_embedder", *(real.name for real in EMBEDDING))
