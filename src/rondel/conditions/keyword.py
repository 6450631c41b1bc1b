"""The condition `keyword`: words and patterns in a message's text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from rondel.conditions import patterns
from rondel.engine.message import Message
from rondel.engine.registry import Registry

Word = Annotated[str, Field(min_length=1)]
Pattern = Annotated[str, Field(min_length=1), AfterValidator(patterns.readable)]


class KeywordConfig(BaseModel):
    """A hit in `none` refuses; else a hit in `any` or `regex` passes; without those, all pass."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    any: list[Word] = Field([], description="One of these in the text makes the edge fire.")
    none: list[Word] = Field([], description="One of these keeps it from firing, whatever else.")
    regex: list[Pattern] = Field([], description="Patterns: a match makes it fire.")
    case_sensitive: bool = Field(
        default=True, strict=True, description="Whether case counts, in words and patterns."
    )

    def words(self) -> Sequence[str]:
        """The words that make a difference; patterns have none that could be named."""
        return (*self.any, *self.none)

    def implies(self, other: Any) -> bool:
        """Whether each word that makes this one pass or refuse does so in the other one too."""
        if not isinstance(other, KeywordConfig) or self.case_sensitive != other.case_sensitive:
            return False
        if not _each_contains_one(other.none, self.none, self.case_sensitive):
            return False
        if not (other.any or other.regex):
            return True
        opens = not (self.any or self.regex)
        if opens or not set(self.regex) <= set(other.regex):
            return False
        return _each_contains_one(self.any, other.any, self.case_sensitive)

    def never(self) -> bool:
        """Whether each word that it looks for holds one that it refuses."""
        if self.regex or not self.any:
            return False
        return _each_contains_one(self.any, self.none, self.case_sensitive)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.any or self.none or self.regex):
            raise ValueError("a keyword condition needs at least one of any, none and regex")
        return self


def _each_contains_one(words: list[str], parts: list[str], case_sensitive: bool) -> bool:
    """Whether a text that has any of the words has one of the parts, too."""
    if not case_sensitive:
        words, parts = [word.lower() for word in words], [part.lower() for part in parts]
    return all(any(part in word for part in parts) for word in words)


class KeywordCondition:
    """Whether a message's text has the right words."""

    __slots__ = ("_any", "_case_sensitive", "_none", "_open", "_regex")

    def __init__(self, config: KeywordConfig) -> None:
        self._case_sensitive = config.case_sensitive
        self._any = self._folded(config.any)
        self._none = self._folded(config.none)
        ignore_case = not config.case_sensitive
        self._regex = tuple(
            patterns.Pattern(pattern, ignore_case=ignore_case) for pattern in config.regex
        )
        self._open = not (config.any or config.regex)

    def __call__(self, message: Message, round: int) -> bool:  # noqa: ARG002
        content = message.content
        raw = content if isinstance(content, str) else message.text
        text = raw if self._case_sensitive else raw.lower()
        for word in self._none:
            if word in text:
                return False
        for word in self._any:
            if word in text:
                return True
        return self._open or any(pattern.found_in(raw) for pattern in self._regex)

    def _folded(self, words: list[str]) -> tuple[str, ...]:
        return tuple(words) if self._case_sensitive else tuple(word.lower() for word in words)


def register(registry: Registry) -> None:
    """Add `keyword`."""
    registry.condition("keyword", KeywordConfig, lambda config, _registry: KeywordCondition(config))
