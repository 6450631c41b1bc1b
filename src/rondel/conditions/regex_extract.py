"""The edge process `regex_extract`: what a pattern finds becomes the content."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from rondel.conditions.patterns import Pattern, readable
from rondel.engine.message import Message
from rondel.engine.registry import Registry
from rondel.graph.guarantees import EdgeGuarantee


class RegexExtractConfig(BaseModel):
    """A pattern, the group to take, and what to make of it, or of its absence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: Annotated[str, Field(min_length=1), AfterValidator(readable)] = Field(
        description="What is looked for in the text."
    )
    group: Annotated[int, Field(strict=True, ge=0)] | str = Field(
        0, description="Which group of the match is taken, by number or name; 0 is all of it."
    )
    template: str = Field("{match}", min_length=1, description="What is made of a match.")
    multiple: bool = Field(False, strict=True, description="Take every match, one a line.")
    case_sensitive: bool = Field(True, strict=True, description="Whether case counts.")
    on_no_match: Literal["pass", "drop", "default"] = Field(
        "pass", description="Without a match: leave the message, drop it, or take default_value."
    )
    default_value: str = Field("", description="The content for on_no_match: default.")

    def edge_guarantee(self) -> EdgeGuarantee:
        """It changes only the text, and drops messages only if `on_no_match` says so."""
        return EdgeGuarantee(drops=self.on_no_match == "drop", adds=False)

    @model_validator(mode="after")
    def _group_exists(self) -> Self:
        Pattern(self.pattern).demand_group(self.group)
        return self


class RegexExtract:
    """Replaces a message's content by what the pattern finds; role and data stay."""

    __slots__ = ("_config", "_pattern")

    def __init__(self, config: RegexExtractConfig) -> None:
        self._config = config
        self._pattern = Pattern(config.pattern, ignore_case=not config.case_sensitive)

    def __call__(self, message: Message) -> Message | None:
        found = self._found(message.text)
        if found is not None:
            return msgspec.structs.replace(message, content=found)
        match self._config.on_no_match:
            case "pass":
                return message
            case "drop":
                return None
            case "default":
                return msgspec.structs.replace(message, content=self._config.default_value)

    def _found(self, text: str) -> str | None:
        """The extracted text, or None if the group took part in no match."""
        values = (match[self._config.group] for match in self._pattern.matches_in(text))
        filled = (
            self._config.template.replace("{match}", value) for value in values if value is not None
        )
        if self._config.multiple:
            return "\n".join(lines) if (lines := list(filled)) else None
        return next(filled, None)


def register(registry: Registry) -> None:
    """Add `regex_extract`."""
    registry.process(
        "regex_extract", RegexExtractConfig, lambda config, _registry: RegexExtract(config)
    )
