"""The config of a real language model."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, create_model, field_validator

from rondel.errors import CallError
from rondel.graph.guarantees import NO_KEYS, Guarantee
from rondel.graph.quantities import Wait
from rondel.models.endpoint import Endpoint, host_of, is_local, is_loopback
from rondel.models.metering import largest_call
from rondel.models.model import ProviderConfig
from rondel.models.params import Params
from rondel.models.prices import Tariff
from rondel.models.real import OPENAI, RealProvider
from rondel.models.redaction import Text

ANY_REGION = "us-east-1"
"""The region for a server at another address: Amazon's client demands one."""

US = "us-central1"
"""The default location in Google's cloud: it has most models."""


PLACE = "^[a-z0-9-]+$"
"""A region becomes a part of the address that the machine's credentials are sent to."""


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

    def endpoint(self) -> Endpoint:
        """The endpoint; raises CallError if the key is missing."""
        return Endpoint(
            self.real,
            self.name,
            self._address(),
            self._key(),
            Params.model_validate(self.params),
            self.tariff,
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


Config = TypeVar("Config", bound=ServedConfig)


def config_of(real: RealProvider, base: type[Config], name: str) -> type[Config]:
    """The config of a provider; the graph must give an address where it has no known one."""
    known = real.address or issubclass(base, CloudConfig)
    fields: dict[str, Any] = {} if known else {"base_url": (Text, Field(min_length=1))}
    config = create_model(name, __base__=base, __module__=base.__module__, **fields)
    config.__doc__ = base.__doc__
    config.real = real
    return config


class RealConfig(ServedConfig):
    """The model, its address and key, and its retries."""

    stream: bool = Field(True, description="Whether the answer comes piece by piece.")
    api: Literal["chat", "responses"] = Field(
        "chat", description="Which of OpenAI's ways to ask: Chat Completions or Responses."
    )
    cache: bool = Field(
        True, description="Whether the provider is told which part of a prompt to keep for later."
    )

    @field_validator("api")
    @classmethod
    def _has_such_a_way(cls, api: str) -> str:
        if api == "responses" and cls.real.dialect is not OPENAI:
            raise ValueError(f"{cls.real.name} has no Responses; drop api")
        return api

    def endpoint(self) -> Endpoint:
        """The endpoint, with how it is asked."""
        responses = self.api == "responses"
        asked = super().endpoint()
        return replace(asked, stream=self.stream, hints=self.cache, responses=responses)

    def guarantee(self) -> Guarantee:
        """One answer in words, no longer than the model's context."""
        calls = largest_call(self.tariff, self.params.get("max_tokens"), self.attempts)
        return Guarantee(routes=False, emits=True, keys=NO_KEYS, passes=False, calls=calls)


class CloudConfig(RealConfig):
    """A model in a cloud that takes the machine's credentials instead of a key."""

    def endpoint(self) -> Endpoint:
        """The endpoint; raises CallError if the extra is not installed."""
        real = self.real
        if find_spec(real.package) is None:
            raise CallError(
                f"the provider {real.name!r} needs {real.package}: pip install "
                f"'rondel[{real.extra}]', or run with --provider simulated"
            )
        return super().endpoint()

    def _key(self) -> str | None:
        """The key that is set; the machine's credentials go to the cloud's own addresses only."""
        if given := self._given_key():
            return given
        address = self.base_url
        if address is None or is_loopback(address) or host_of(address).endswith(self.real.home):
            return self._found_key()
        raise CallError(
            f"{self.real.name} at {host_of(address)} needs api_key in the graph: what this machine "
            f"knows is for *{' and *'.join(self.real.home)} only"
        )


class BedrockConfig(CloudConfig):
    """Which model of Amazon's Bedrock, and in which region."""

    region: str | None = Field(
        None, pattern=PLACE, description="The AWS region; else as the AWS tools know it."
    )
    profile: str | None = Field(
        None, min_length=1, description="The AWS profile whose credentials are used."
    )

    @property
    def place(self) -> dict[str, str]:
        """The region and the profile; raises CallError without a region."""
        region = self.region or self._known_region()
        if not region:
            raise CallError(
                "bedrock needs a region: set AWS_REGION in the environment or region in the graph"
            )
        return {"region": region, **({"profile": self.profile} if self.profile else {})}

    def _known_region(self) -> str | None:
        """The region that AWS tools would use: the environment's, else the profile's."""
        from botocore.exceptions import ProfileNotFound
        from botocore.session import Session

        try:
            found: str | None = Session(profile=self.profile).get_config_variable("region")
        except ProfileNotFound as error:
            raise CallError(f"{error}; check profile") from None
        return os.environ.get("AWS_REGION") or found or (ANY_REGION if self.base_url else None)

    def _address(self) -> str:
        return self.base_url or home_of(self.place["region"])


def home_of(region: str) -> str:
    """Bedrock's address in a region."""
    return f"https://bedrock-runtime.{region}.amazonaws.com"


class VertexConfig(CloudConfig):
    """Which model of Google's cloud, and in whose project."""

    project: str | None = Field(
        None, min_length=1, description="The Google Cloud project; else GOOGLE_CLOUD_PROJECT's."
    )
    location: str | None = Field(
        None, pattern=PLACE, description="The region; else GOOGLE_CLOUD_LOCATION's, or us-central1."
    )

    @property
    def place(self) -> dict[str, str]:
        """The location and project that the graph or the environment sets."""
        location = self.location or os.environ.get("GOOGLE_CLOUD_LOCATION") or US
        project = self.project or os.environ.get("GOOGLE_CLOUD_PROJECT")
        return {"location": location, **({"project": project} if project else {})}

    def _address(self) -> str:
        location = self.place["location"]
        region = "" if location == "global" else f"{location}-"
        return self.base_url or f"https://{region}aiplatform.googleapis.com"
