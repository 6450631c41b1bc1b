"""Language models: real ones, those that need no network, and what tokens cost."""

from __future__ import annotations

from rondel.engine.registry import Registry
from rondel.models import bridge, scripted, simulated


def register(registry: Registry) -> None:
    """Add every built-in provider."""
    scripted.register(registry)
    simulated.register(registry)
    bridge.register(registry)
