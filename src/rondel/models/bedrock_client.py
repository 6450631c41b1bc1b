"""Amazon's client for Bedrock, with our limiter instead of its retries."""

from __future__ import annotations

from functools import partial
from typing import Any

import boto3
from botocore import UNSIGNED
from botocore.config import Config

from rondel.models.connections import CONNECT_TIMEOUT
from rondel.models.endpoint import Endpoint
from rondel.models.headers import note
from rondel.models.real_config import home_of

CONNECTIONS = 64
"""The most connections that are kept; the limiter bounds the calls at once."""


def client_of(asked: Endpoint) -> Any:
    """The client of an endpoint; it makes one attempt a call and passes on the headers."""
    timeout = asked.params.timeout
    options: dict[str, Any] = {
        "connect_timeout": min(timeout, CONNECT_TIMEOUT),
        "read_timeout": timeout,
        "retries": {"total_max_attempts": 1},
        "max_pool_connections": CONNECTIONS,
    }
    if asked.key:
        options["signature_version"] = UNSIGNED
    session = boto3.Session(
        region_name=asked.place["region"],
        profile_name=asked.place.get("profile"),
    )
    client = session.client(
        "bedrock-runtime",
        config=Config(**options),
        endpoint_url=None if asked.address == home_of(asked.place["region"]) else asked.base,
    )
    client.meta.events.register("response-received.bedrock-runtime", _heard)
    if asked.key:
        client.meta.events.register("before-call.bedrock-runtime", partial(_keyed, asked.key))
    return client


def _keyed(key: str, params: dict[str, Any], **_: Any) -> None:
    """Signs with a Bedrock key instead of AWS credentials, also for an address without TLS."""
    params["headers"]["Authorization"] = f"Bearer {key}"


def _heard(response_dict: dict[str, Any] | None, **_: Any) -> None:
    if response_dict is not None:
        note({name.lower(): value for name, value in response_dict["headers"].items()})
