"""The `params` of a real model: common ones, and those that only its provider knows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rondel.graph.quantities import Duration
from rondel.models.real import GOOGLE, OPENAI, ApiDialect

READ_TIMEOUT = 300.0
"""Seconds without a sign of life after which a call has failed."""

Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1)]
Effort = Literal["minimal", "low", "medium", "high", "xhigh", "max"]
"""How hard a model thinks before it answers."""


class Params(BaseModel):
    """Sampling and limits of a call; unknown names go to the provider as they are.

    `timeout` is how long the model may be silent, before its first word and between any two.
    """

    model_config = ConfigDict(
        extra="allow", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    temperature: Annotated[Number, Field(ge=0)] | None = None
    top_p: Annotated[Number, Field(ge=0, le=1)] | None = None
    top_k: Count | None = None
    max_tokens: Count | None = None
    seed: Annotated[int, Field(strict=True)] | None = None
    stop: str | list[str] | None = None
    presence_penalty: Number | None = None
    frequency_penalty: Number | None = None
    logit_bias: dict[str, int] | None = None
    parallel_tool_calls: bool | None = None
    thinking: bool | Effort | dict[str, Any] | None = None
    timeout: Duration = READ_TIMEOUT
    extra_headers: dict[str, SecretStr] = {}
    extra_body: dict[str, Any] = {}

    def refused_by(self, dialect: ApiDialect) -> list[str]:
        """The names that cannot be passed on."""
        given = self.model_fields_set & dialect.lacks
        if dialect.is_closed:
            given |= (self.model_extra or {}).keys()
        return sorted(given)

    def settings(self, dialect: ApiDialect) -> dict[str, Any]:
        """The parameters as the library's model settings, with its retries off."""
        body = {**(self.model_extra or {}), **self.extra_body}
        settings: dict[str, Any] = {"max_retries": 0} if dialect.retries else {}
        for name in Params.model_fields.keys() - {"stop", "timeout", "extra_headers", "extra_body"}:
            if (value := getattr(self, name)) is not None:
                settings[name] = value
        if isinstance(self.thinking, dict):  # in the provider's own words
            own = settings.pop("thinking")
            if dialect is GOOGLE:
                settings["google_thinking_config"] = own
            else:
                body.setdefault("thinking", own)
        if self.stop is not None:
            settings["stop_sequences"] = [self.stop] if isinstance(self.stop, str) else self.stop
        if dialect is OPENAI and "top_k" in settings:
            body.setdefault("top_k", settings.pop("top_k"))
        if body:
            settings[dialect.body] = body
        if self.extra_headers:
            settings["extra_headers"] = {
                name: value.get_secret_value() for name, value in self.extra_headers.items()
            }
        return settings
