"""The node type `template`: fills a template with the text it gets."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rondel.conditions.template import checked_template, renderer
from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit
from rondel.engine.registry import Registry
from rondel.graph.guarantees import NO_KEYS, Calls, Guarantee


class TemplateConfig(BaseModel):
    """A template of Jinja; the text of the newest message is its `input`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    template: Annotated[str, Field(min_length=1), AfterValidator(checked_template)]

    def guarantee(self) -> Guarantee:
        """It emits the filled template, along all its edges, and calls no model."""
        return Guarantee(routes=False, emits=True, keys=NO_KEYS, passes=False, calls=Calls())


class TemplateProcessor:
    """Emits the filled template; an empty message if it got none."""

    __slots__ = ("_render",)

    def __init__(self, config: TemplateConfig) -> None:
        self._render = renderer(config.template)

    async def process(self, ctx: Context) -> Emit:
        return self.process_now(ctx)

    def process_now(self, ctx: Context) -> Emit:
        """The filled template; nothing is awaited."""
        if not ctx.messages:
            return Emit((Message(role="user"),))
        return Emit((Message(self._render(ctx.messages[-1].text), role="user"),))


def register(registry: Registry) -> None:
    """Add `template`."""
    registry.node("template", TemplateConfig, lambda config, _registry: TemplateProcessor(config))
