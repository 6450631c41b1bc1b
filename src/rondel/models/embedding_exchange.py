"""One exchange with an embedding model, through the provider library; imported on first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from pydantic_ai.embeddings import EmbeddingResult, EmbeddingSettings

from rondel.models.connections import connections
from rondel.models.embedder import Purpose
from rondel.models.endpoint import Endpoint
from rondel.models.failure import Failure
from rondel.models.library import embedding_model_of
from rondel.models.library_errors import failure_of


class EmbeddingExchange:
    """Asks one model once, without retries or limits."""

    def __init__(self, endpoint: Endpoint, dimensions: int | None) -> None:
        self._endpoint = endpoint
        settings = endpoint.params.settings(endpoint.provider.dialect)
        kept: dict[str, Any] = {}
        for name in ("extra_headers", "extra_body"):
            if name in settings:
                kept[name] = settings[name]
        if dimensions is not None:
            kept["dimensions"] = dimensions
        self._settings = cast(EmbeddingSettings, kept)

    async def once(self, texts: Sequence[str], purpose: Purpose) -> EmbeddingResult:
        """The vectors of the texts. Raises Failure."""
        held = await connections()
        model = held.model(self, partial(embedding_model_of, self._endpoint))
        failure: Failure | None
        try:
            result = await model.embed(texts, input_type=purpose, settings=self._settings)
        except ValueError:  # what the client says of an answer without vectors
            failure = self._missing(0, len(texts))
        except Exception as error:  # of the library, its clients, or the transport below them
            failure = failure_of(error, self._endpoint)
            if failure is None:
                raise
        else:
            if len(result.embeddings) == len(texts):
                return result
            failure = self._missing(len(result.embeddings), len(texts))
        raise failure  # here, so that it carries nothing of the error that may hold a secret

    def _missing(self, found: int, wanted: int) -> Failure:
        what = f"{self._endpoint.provider.name} sent {found} vectors for {wanted} texts"
        return Failure(what, "check that name is a model that embeds", lasting=True)
