"""Asking a model as an agent would."""

from __future__ import annotations

import asyncio
from typing import Any

from rondel import conditions, models
from rondel.engine.message import Message
from rondel.engine.registry import Registry
from rondel.models.model import Model, ModelAnswer, Request


def registry() -> Registry:
    """The built-in providers and conditions."""
    result = Registry()
    conditions.register(result)
    models.register(result)
    return result


def model(provider: str, **config: Any) -> Model:
    """A model of that provider, as a graph would have it."""
    known = registry()
    valid = known.config_model("provider", provider).model_validate(
        config, context={"registry": known}
    )
    built: Model = known.build("provider", provider, valid)
    return built


def ask(asked: Model, text: str = "Why loops?", index: int = 0, **values: Any) -> ModelAnswer:
    """One answer of the model."""
    values = {"node_id": "Writer", "messages": [Message(text)], **values}
    return asyncio.run(asked.answer(Request(text=text, index=index, **values)))
