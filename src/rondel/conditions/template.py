"""The edge process `template`: a template makes the content anew.

Templates are filled by Jinja in a sandbox: a template reaches nothing but the text it is given.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rondel.engine.message import Message
from rondel.engine.registry import Registry
from rondel.errors import StepFailed
from rondel.graph.guarantees import EdgeGuarantee

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

LARGEST = 1_000_000
"""The most characters that a template may make."""

MOST = 10_000
"""The largest number that a template may count to or multiply by."""


def checked_template(text: str) -> str:
    """The template, if it can be read; else ValueError."""
    from jinja2 import TemplateSyntaxError

    try:
        _environment().from_string(text)
    except TemplateSyntaxError as error:
        raise ValueError(f"is no template: {error.message} (line {error.lineno})") from None
    except (RecursionError, ValueError, SyntaxError) as error:
        raise ValueError(f"is no template: {error}") from None
    return text


def renderer(text: str) -> Callable[[str], str]:
    """A function that fills the template with a text, as `input` and as `extracted`."""
    template = _environment().from_string(text)

    def render(given: str) -> str:
        parts: list[str] = []
        size = 0
        try:
            for part in template.generate(input=given, extracted=given, environment={}):
                size += len(part)
                if size > LARGEST:
                    raise StepFailed(f"the template makes more than {LARGEST:,} characters")
                parts.append(part)
        except StepFailed:
            raise
        except Exception as error:  # whatever the template's author did
            said = " ".join(str(error).split())
            raise StepFailed(f"the template failed: {type(error).__name__}: {said}") from error
        return "".join(parts)

    return render


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class BoundedSandbox(ImmutableSandboxedEnvironment):
        """A sandbox that refuses large multiplications and ranges."""

        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            sizes = [len(x) if hasattr(x, "__len__") else x for x in (left, right)]
            if operator == "**" or any(abs(size) > MOST for size in sizes):
                raise OverflowError(f"{operator} makes too much of it in a template")
            return super().call_binop(context, operator, left, right)

    environment = BoundedSandbox(autoescape=False, undefined=StrictUndefined)
    environment.filters["fromjson"] = json.loads
    environment.filters["tojson"] = _to_json
    environment.globals = {"range": _short_range}
    return environment


def _short_range(*limits: int) -> range:
    counted = range(*limits)
    if len(counted) > MOST:
        raise OverflowError(f"a range of a template has {MOST:,} numbers at most")
    return counted


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


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
