"""The endpoint of a real model: address, key and dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from rondel.graph.secrets import looks_secret
from rondel.models.params import Params
from rondel.models.prices import Tariff
from rondel.models.real import RealProvider
from rondel.models.redaction import Redaction, public_url, secrets_in_url


@dataclass(frozen=True, eq=False)
class Endpoint:
    """One model at one address; its text hides the key."""

    provider: RealProvider
    model: str
    address: str = field(repr=False)
    key: str | None = field(repr=False)
    params: Params
    tariff: Tariff
    stream: bool = True
    responses: bool = False
    """Whether OpenAI's Responses API is used instead of Chat Completions."""
    hints: bool = True
    """Whether cache hints are sent."""
    place: Mapping[str, str] = field(default_factory=dict)
    """Its place in a cloud (region, profile, project)."""

    @property
    def public_address(self) -> str:
        """The address without secrets."""
        return public_url(self.address)

    @property
    def base(self) -> str:
        """The address without its query; paths are added to it."""
        return urlunsplit((*urlsplit(self.address)[:3], "", ""))

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        """The query of every request."""
        return tuple(parse_qsl(urlsplit(self.address).query, keep_blank_values=True))

    @property
    def is_own_address(self) -> bool:
        """Whether this is the provider's own address."""
        return not self.provider.address or host_of(self.address) == host_of(self.provider.address)

    @cached_property
    def redaction(self) -> Redaction:
        """Hides the key and everything else that may be secret."""
        headers = (value.get_secret_value() for value in self.params.extra_headers.values())
        named = _named_like_secrets({**(self.params.model_extra or {}), **self.params.extra_body})
        return Redaction([self.key or "", *secrets_in_url(self.address), *headers, *named])


def _named_like_secrets(value: Any, name: str = "") -> Iterator[str]:
    """The values of parameters whose names say that they are secret."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _named_like_secrets(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from _named_like_secrets(item, name)
    elif isinstance(value, str) and looks_secret(name):
        yield value


def host_of(url: str) -> str:
    """The host of an address."""
    return urlsplit(url).hostname or ""


def is_loopback(url: str) -> bool:
    """Whether the address is of this machine."""
    host = host_of(url)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_local(url: str) -> bool:
    """Whether the address is on this machine or in a private network, where nothing is billed."""
    host = host_of(url)
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan"))
