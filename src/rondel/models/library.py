"""The provider library's models and embedding models, one for each endpoint and event loop."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from httpx2 import AsyncClient
from pydantic_ai.embeddings import EmbeddingModel
from pydantic_ai.models import Model
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers import Provider

from rondel.models.connections import Connections
from rondel.models.endpoint import Endpoint
from rondel.models.real import ANTHROPIC, BEDROCK, GOOGLE

NO_KEY = "none"
"""The key for an address that needs none: the libraries demand a text."""


CLOUD_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def model_of(asked: Endpoint, pool: Connections) -> Model[Any]:
    """The library's model of an endpoint, over these connections."""
    vendor = _vendor_of(asked, pool)
    match asked.provider.dialect.name:
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel

            return AnthropicModel(asked.model, provider=vendor)
        case "google":
            from pydantic_ai.models.google import GoogleModel

            return GoogleModel(asked.model, provider=vendor)
        case "bedrock":
            from pydantic_ai.models.bedrock import BedrockConverseModel

            return BedrockConverseModel(asked.model, provider=vendor)
        case "openai" if asked.responses:
            from pydantic_ai.models.openai import OpenAIResponsesModel

            return OpenAIResponsesModel(asked.model, provider=vendor)
        case "openai":
            from rondel.models.openai_client import ChatModel

            return ChatModel(asked.model, provider=vendor, profile=_differences(asked))


def embedding_model_of(asked: Endpoint, pool: Connections) -> EmbeddingModel:
    """The library's embedding model of an endpoint, over these connections."""
    vendor = _vendor_of(asked, pool)
    if asked.provider.dialect is GOOGLE:
        from pydantic_ai.embeddings.google import GoogleEmbeddingModel

        return GoogleEmbeddingModel(asked.model, provider=vendor)
    from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel

    return OpenAIEmbeddingModel(asked.model, provider=vendor)


def _vendor_of(asked: Endpoint, pool: Connections) -> Provider[Any]:
    """The library's provider: the address, the key and the client."""
    if asked.provider.dialect is BEDROCK:
        from pydantic_ai.providers.bedrock import BedrockProvider

        from rondel.models.bedrock_client import client_of

        return BedrockProvider(bedrock_client=client_of(asked))
    client = pool.client(asked.params.timeout, asked.query)
    address, key = asked.base, asked.key or NO_KEY
    if asked.provider.name == "vertex":
        return _google_cloud(asked, client)
    if asked.provider.dialect is ANTHROPIC:
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicProvider(api_key=key, base_url=address, http_client=client)
    if asked.provider.dialect is GOOGLE:
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleProvider(api_key=key, base_url=address, http_client=client)
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    from rondel.models.openai_client import Client

    openai = Client(address, key, client)
    if _is_openai(asked):
        return OpenAIProvider(openai_client=openai)
    return OpenAICompatibleProvider(
        asked.provider.name, openai_client=openai, profile=_profile(asked)
    )


def _google_cloud(asked: Endpoint, client: AsyncClient) -> Provider[Any]:
    """Google's cloud, with a key or with the credentials of this machine."""
    from pydantic_ai.providers.google_cloud import GoogleCloudProvider

    if asked.key:
        return GoogleCloudProvider(api_key=asked.key, base_url=asked.base, http_client=client)
    import google.auth
    from pydantic_ai.exceptions import UserError

    credentials, found = google.auth.default(scopes=[CLOUD_SCOPE])
    project = asked.place.get("project") or found
    if not project:
        raise UserError("no project; set GOOGLE_CLOUD_PROJECT in the environment or project")
    return GoogleCloudProvider(
        credentials=credentials,
        project=project,
        location=asked.place["location"],
        base_url=asked.base,
        http_client=client,
    )


def _is_openai(asked: Endpoint) -> bool:
    return asked.provider.name == "openai" and asked.is_own_address


def _profile(asked: Endpoint) -> Callable[[str], ModelProfile | None] | None:
    """The abilities of the vendor's models; None means the library's default."""
    if not asked.provider.profile or asked.provider.name == "openai":
        return None
    module, _, name = asked.provider.profile.partition(":")
    vendor: type[Provider[Any]] = getattr(import_module(f"pydantic_ai.providers.{module}"), name)
    return vendor.model_profile


def _differences(asked: Endpoint) -> ModelProfile | None:
    """Settings for servers that resemble OpenAI's: they know only the older name `max_tokens`."""
    if _is_openai(asked) or asked.provider.name == "azure":
        return None
    return cast(ModelProfile, {"openai_chat_supports_max_completion_tokens": False})
