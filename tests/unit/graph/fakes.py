"""A small vocabulary for tests of the loader."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Passthrough(Config):
    only_last_message: bool = True


class Literals(Config):
    content: str = Field(min_length=1)
    role: Literal["user", "assistant"] = "user"


class LoopCounter(Config):
    max_iterations: int = Field(10, ge=1, strict=True)
    reset_on_emit: bool = True
    message: str | None = None


class Params(Config):
    temperature: float = 1.0


class Agent(Config):
    provider: str = "simulated"
    name: str = ""
    role: str = ""
    api_key: str = ""
    params: Params = Params()
    tools: str | list[str] = []


class Human(Config):
    description: str = ""


class Subgraph(Config):
    type: Literal["config", "file"] = "config"
    config: Any = Field(None, json_schema_extra={"x-rondel-graph": True})
    file: str | None = None

    def inner_graph(self) -> tuple[Any, ...] | None:
        if self.file is not None:
            return ("file", self.file)
        if self.type == "file":
            return ("file", self.config["path"])
        return None if self.config is None else ("inline", self.config, "config")


class Keyword(Config):
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    regex: tuple[str, ...] = ()
    case_sensitive: bool = True


class Function(Config):
    name: str


class RegexExtract(Config):
    pattern: str
    on_no_match: Literal["pass", "drop", "default"] = "pass"

    @model_validator(mode="after")
    def _known_start(self) -> Self:
        if self.pattern.startswith("*"):
            raise ValueError("a pattern cannot begin with '*'")
        return self


class FakeVocabulary:
    """The node types, conditions and processes of the seeds, and two functions."""

    ENTRIES: dict[str, dict[str, type[BaseModel]]] = {
        "node": {
            "passthrough": Passthrough,
            "literal": Literals,
            "loop_counter": LoopCounter,
            "agent": Agent,
            "human": Human,
            "subgraph": Subgraph,
        },
        "condition": {"keyword": Keyword, "function": Function},
        "process": {"regex_extract": RegexExtract, "function": Function},
        "split": {},
        "contract": {},
    }

    def names(self, kind: str) -> Iterable[str]:
        return ["is_good", "shorten"] if kind == "function" else self.ENTRIES[kind].keys()

    def config_model(self, kind: str, name: str) -> type[BaseModel] | None:
        return self.ENTRIES[kind].get(name)


VOCABULARY = FakeVocabulary()
