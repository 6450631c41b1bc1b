"""The config of every real provider: model, address, key, retries."""

from __future__ import annotations

import os
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from rondel.errors import CallError
from rondel.graph.quantities import Wait
from rondel.models.endpoint import Endpoint, host_of, is_local, is_loopback
from rondel.models.model import ProviderConfig
from rondel.models.params import Params
from rondel.models.prices import Tariff
from rondel.models.real import RealProvider

Count = Annotated[int, Field(strict=True, ge=1)]


class ServedConfig(ProviderConfig):
    """A model that a provider serves, and the limits within which it is asked."""

    real: ClassVar[RealProvider]

    name: str = Field(min_length=1)
    attempts: Annotated[Count, Field(le=20)] = Field(
        4, description="How often one answer is asked for before the call has failed."
    )
    backoff: Wait = Field(0.5, description="The first wait between two attempts; then it doubles.")
    max_concurrency: Count = Field(
        32, description="Calls at once to this provider's address, from all sessions."
    )
    requests_per_minute: Count | None = Field(
        None, description="Calls that may start in any minute, counted the same way."
    )

    @property
    def tariff(self) -> Tariff:
        """The prices of the model; the price table does not apply at a local address."""
        local = self.base_url is not None and is_local(self.base_url)
        real = self.real
        return Tariff(self.name, real.prices, self.price, listed=not local, free=real.free)

    def endpoint(self, stream: bool = True) -> Endpoint:
        """The endpoint; raises CallError if the key is missing."""
        params, address = Params.model_validate(self.params), self._address()
        return Endpoint(
            *(self.real, self.name, address, self._key(), params, stream, self.tariff),
            place=self.place,
        )

    @property
    def place(self) -> dict[str, str]:
        """The place in a cloud; empty for most providers."""
        return {}

    def _address(self) -> str:
        return self.base_url or self.real.address

    def _key(self) -> str | None:
        """The key that is set, else the environment's, which is for the provider's own address
        only.

        A graph that names another address does not get a key that was made for the provider,
        unless the graph says so or the address is of this machine.
        """
        real = self.real
        if given := self._given_key():
            return given
        at_home = self._is_at_home()
        anywhere = not real.address and not real.home
        url = self.base_url or ""
        trusted = at_home or anywhere or is_loopback(url) or host_of(url).endswith(real.home)
        if (found := self._found_key()) and trusted:
            return found
        if at_home and real.keys:
            raise CallError(
                f"the provider {real.name!r} needs a key: set {real.keys[0]} in the environment or "
                "api_key in the graph, or run with --provider simulated"
            )
        return None

    def _is_at_home(self) -> bool:
        """Whether it is asked at the provider's own address, also where the graph names it."""
        if self.base_url is None:
            return True
        own, asked = urlsplit(self.real.address), urlsplit(self.base_url)
        return (own.scheme, own.hostname) == (asked.scheme, asked.hostname)

    def _given_key(self) -> str:
        return "" if self.api_key is None else self.api_key.get_secret_value().strip()

    def _found_key(self) -> str | None:
        """The provider's key in the environment."""
        found = (os.environ.get(name, "").strip() for name in self.real.keys)
        return next(filter(None, found), None)

    @field_validator("params")
    @classmethod
    def _params_are_right(cls, params: dict[str, Any]) -> dict[str, Any]:
        refused = Params.model_validate(params).refused_by(cls.real.dialect)
        if refused:
            raise ValueError(f"{cls.real.name} does not take {', '.join(refused)}")
        return params

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, base_url: str | None) -> str | None:
        if base_url is not None:
            parts = urlsplit(base_url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("must be an address like https://example.org/v1")
            if parts.fragment:
                raise ValueError("must have no fragment: what follows # is never sent")
        return base_url
