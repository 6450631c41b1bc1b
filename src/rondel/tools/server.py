"""An MCP server as a graph describes it (a command or an address), and the way to it."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from rondel.graph.quantities import Duration
from rondel.graph.secrets import looks_random
from rondel.graph.variables import EnvironmentText
from rondel.models.redaction import Redaction, Text, public_url, secrets_in_url

if TYPE_CHECKING:
    from rondel.tools.connection import Connection

CONNECTION = "rondel.tools.connection"

COMMANDS = "leave to start programs"
"""The service that says whether an engine lets tools start programs."""

SECRET_NAME = re.compile(r"key|token|secret|pass|pwd|auth|cred|private|cookie|sign", re.IGNORECASE)
FLAG = re.compile(r"--?([\w-]+)(?:=(.*))?", re.DOTALL)
LAUNCHER = re.compile(r"(python|pypy)[\d.]*|uvx?|pipx|npx|bunx|node|deno")
LAUNCHED_BY = frozenset({"-m", "-u", "-I", "-y", "--yes", "-q", "--quiet", "run", "exec", "tool"})
"""Words of a launcher after which the program's name may follow."""


def _words(value: Any) -> Any:
    return shlex.split(value) if isinstance(value, str) else value


Command = Annotated[
    list[Text], BeforeValidator(_words, json_schema_input_type=str | list[str]), Field(min_length=1)
]


class ServerConfig(BaseModel):
    """How a server is reached; its environment and headers do not show."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    command: Command | None = None
    args: list[Text] = []
    env: dict[str, SecretStr] = {}
    inherit_env: bool = Field(
        False, description="Whether the program sees this one's environment too; else PATH, HOME."
    )
    cwd: Text | None = Field(None, description="The folder in which the program starts.")
    start_timeout: Duration = Field(60.0, description="How long it may take to be there.")
    url: Text | None = None
    headers: dict[str, SecretStr] = {}

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        if url is not None:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("must be an address like http://127.0.0.1:8000/mcp")
        return url

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("an MCP server needs either a command or a url")
        foreign = ("headers",) if self.command else ("args", "env", "inherit_env", "cwd")
        for name in foreign:
            if name in self.model_fields_set:
                other = "url" if self.command else "command"
                raise ValueError(f"{name!r} belongs to a server with a {other}; drop it")
        return self

    @property
    def words(self) -> list[str]:
        """The command with all its arguments."""
        return [*(self.command or ()), *self.args]

    @property
    def title(self) -> str:
        """Its name for logs and errors, without arguments, which may be secret."""
        if self.url is not None:
            return public_url(self.url)
        command, *rest = self.words
        name = os.path.basename(command)
        if LAUNCHER.fullmatch(name):
            told = next((word for word in rest if word not in LAUNCHED_BY), "-")
            return name if told.startswith("-") else os.path.basename(told)
        return name

    @property
    def shown(self) -> str:
        """The command without secrets; empty for a server with an address."""
        return self.hidden_in_errors.of(shlex.join(self.words)) if self.command else ""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of `env`."""
        return {name: value.get_secret_value() for name, value in self.env.items()}

    @property
    def headers_sent(self) -> dict[str, str]:
        """The headers of every request."""
        return {name: value.get_secret_value() for name, value in self.headers.items()}

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for equal configurations."""
        extras = (*sorted(self.environment.items()), *sorted(self.headers_sent.items()))
        how = self.inherit_env, self.cwd, self.start_timeout
        return self.url, tuple(self.words), extras, how

    @property
    def hidden_in_errors(self) -> Redaction:
        """Hides every value of the environment and the headers, and secrets in arguments."""
        values = [*self.environment.values(), *self._secrets_of_environment()]
        from_outside = [word for word in self.words if isinstance(word, EnvironmentText)]
        secrets = [*self._secrets_of_words(), *self._sent_secrets()]
        return Redaction([*values, *from_outside, *secrets])

    @property
    def hidden_in_outputs(self) -> Redaction:
        """Hides values that are secret by name or form; other values may stand in a tool's text."""
        return Redaction(
            [*self._secrets_of_environment(), *self._secrets_of_words(), *self._sent_secrets()]
        )

    def _sent_secrets(self) -> Iterator[str]:
        for value in self.headers_sent.values():
            yield value
            yield value.rpartition(" ")[2]  # of "Bearer TOKEN"
        yield from secrets_in_url(self.url or "")

    def _secrets_of_environment(self) -> Iterator[str]:
        for name, value in self.environment.items():
            if "://" in value:
                yield from secrets_in_url(EnvironmentText(value))
            if SECRET_NAME.search(name) or looks_random(value):
                yield value

    def _secrets_of_words(self) -> Iterator[str]:
        """The secrets in arguments, known by their form, their address, or the flag before them."""
        flag = ""
        for word in self.words[1:]:
            found = FLAG.fullmatch(word)
            name, value = (found[1], found[2] or "") if found else (flag, word)
            flag = name if found and found[2] is None else ""
            if "://" in value:
                yield from secrets_in_url(word if value is word else type(word)(value))
            elif looks_random(value) or SECRET_NAME.search(name):
                yield value


_connections: dict[asyncio.AbstractEventLoop, dict[object, Connection]] = {}


async def connection_to(server: ServerConfig) -> Connection:
    """The connection to a server; equal configurations share one."""
    if CONNECTION not in sys.modules:  # it takes a second or two to import: not in the event loop
        await asyncio.to_thread(import_module, CONNECTION)
    from rondel.tools.connection import Connection

    loop = asyncio.get_running_loop()
    if loop not in _connections:
        for gone in [known for known in _connections if known.is_closed()]:
            del _connections[gone]
    connections = _connections.setdefault(loop, {})
    if server.key not in connections:
        connections[server.key] = Connection(server)
    return connections[server.key]
