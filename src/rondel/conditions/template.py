"""The edge process `template`: a template makes the content anew."""

from __future__ import annotations

from typing import Annotated

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rondel.conditions.templates import checked_template, renderer
from rondel.engine.message import Message
from rondel.engine.registry import Registry
from rondel.graph.guarantees import EdgeGuarantee


class TemplateProcessConfig(BaseModel):
    """A template of Jinja; the text of the message is its `input`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    template: Annotated[str, Field(min_length=1), AfterValidator(checked_template)] = Field(
        description="What is made of the message; its text is `input`."
    )

    def edge_guarantee(self) -> EdgeGuarantee:
        """It changes only the text, and drops nothing."""
        return EdgeGuarantee(drops=False, adds=False)


class TemplateProcess:
    """Replaces a message's content by what the template makes of it; role and data stay."""

    __slots__ = ("_render",)

    def __init__(self, config: TemplateProcessConfig) -> None:
        self._render = renderer(config.template)

    def __call__(self, message: Message) -> Message:
        return msgspec.structs.replace(message, content=self._render(message.text))


def register(registry: Registry) -> None:
    """Add `template`."""
    registry.process(
        "template", TemplateProcessConfig, lambda config, _registry: TemplateProcess(config)
    )
