"""Models that embed: the simulated one, and the bridge to real ones over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from google.genai.types import EmbedContentResponse
from openai.types import CreateEmbeddingResponse

from rondel.errors import ModelError
from rondel.models.choice import knowing
from rondel.models.embedder import Embedder, EmbeddingConfig, similarity
from tests.exchanges import exchange
from tests.openai_server import OpenAIServer, Reply, Seen
from tests.unit.nodes.running import registry_with


def embedder(**config: Any) -> Embedder:
    registry = registry_with()
    return knowing(registry, EmbeddingConfig).model_validate(config).built(registry)


def embedded(model: Embedder, *texts: str) -> Any:
    return asyncio.run(model.embed(texts))


def near(*texts: str) -> float:
    first, second = embedded(embedder(), *texts).vectors
    return similarity(first, second)


def test_the_simulated_embedder_says_the_same_for_the_same_text() -> None:
    first, second = embedded(embedder(), "a kettle", "a kettle").vectors
    assert first == second == embedded(embedder(), "a kettle").vectors[0]
    assert similarity(first, second) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "nearer", "farther"),
    [
        ("the kettle boils", "a boiling kettle", "an invoice for Lyon"),
        ("THE KETTLE", "kettles", "invoice"),
        ("茶叶要用软水冲泡", "软水泡茶叶", "发票寄到里昂"),
    ],
)
def test_texts_with_words_in_common_are_nearer(text: str, nearer: str, farther: str) -> None:
    assert near(text, nearer) > near(text, farther) + 0.2


@pytest.mark.parametrize("text", ["", "…!", "\ud800"])
def test_a_text_without_words_is_near_nothing(text: str) -> None:
    assert near(text, "kettle") == 0.0


def of_lengths(seen: Seen) -> Reply:
    """What OpenAI's embeddings look like; each text's vector is its length and 1."""
    data = [
        {"object": "embedding", "index": place, "embedding": [float(len(text)), 1.0]}
        for place, text in enumerate(seen.body["input"])
    ]
    usage = {"prompt_tokens": 9, "total_tokens": 9}
    return Reply(body={"object": "list", "data": data, "model": "m", "usage": usage})


def real(server: OpenAIServer, **config: Any) -> Embedder:
    name = f"m-{uuid4()}"  # the process knows the vectors of a model
    return embedder(provider="openai", name=name, base_url=server.url, **config)


def test_a_real_model_embeds_each_text_once() -> None:
    with OpenAIServer(of_lengths) as server:
        model = real(server, dimensions=2)
        first = embedded(model, "aa", "bbb", "aa")
        assert [list(vector) for vector in first.vectors] == [[2.0, 1.0], [3.0, 1.0], [2.0, 1.0]]
        second = embedded(model, "bbb", "cccc")
    assert [list(vector) for vector in second.vectors] == [[3.0, 1.0], [4.0, 1.0]]
    assert [body["input"] for body in server.bodies] == [["aa", "bbb"], ["cccc"]]
    assert server.bodies[0]["dimensions"] == 2
    assert [usage.input_tokens for usage in (*first.usages, *second.usages)] == [9, 9]


def test_many_texts_go_in_several_calls() -> None:
    with OpenAIServer(of_lengths) as server:
        texts = [f"text {number}" for number in range(250)]
        assert len(embedded(real(server), *texts).vectors) == 250
    assert [len(body["input"]) for body in server.bodies] == [100, 100, 50]


def test_a_busy_provider_is_asked_again_and_a_wrong_one_is_not() -> None:
    busy = Reply(status=429, headers={"Retry-After": "0"}, body={"error": {"message": "later"}})
    with OpenAIServer(busy, Reply(status=500, body={}), of_lengths) as server:
        assert embedded(real(server, backoff="1ms"), "a").vectors
    assert len(server.seen) == 3
    wrong = Reply(status=404, body={"error": {"message": "no such model"}})
    with OpenAIServer(wrong) as server, pytest.raises(ModelError, match="does not know the model"):
        embedded(real(server), "a")


def test_a_provider_that_sends_too_few_vectors_is_refused() -> None:
    few = Reply(body={"object": "list", "data": [], "model": "m"})
    with OpenAIServer(few) as server, pytest.raises(ModelError, match="0 vectors for 1 texts"):
        embedded(real(server), "a")


@pytest.mark.parametrize("provider", ["openai", "google"])
def test_both_wire_formats_give_the_vectors_in_order(provider: str) -> None:
    with OpenAIServer(Reply(body=exchange("embeddings")[provider])) as server:
        address = server.url if provider == "openai" else server.url.removesuffix("/v1")
        config = {"provider": provider, "name": f"m-{uuid4()}", "base_url": address}
        found = embedded(embedder(**config, api_key="k", dimensions=3), "a tea", "a kettle")
        (seen,) = server.seen
    assert [list(vector) for vector in found.vectors] == [[0.25, -0.5, 1.0], [1.0, 0.5, 0.0]]
    if provider == "openai":
        assert seen.path == "/v1/embeddings"
        assert (seen.body["input"], seen.body["dimensions"]) == (["a tea", "a kettle"], 3)
        assert [usage.input_tokens for usage in found.usages] == [8]
        return
    assert seen.path.endswith(":batchEmbedContents")
    asked = seen.body["requests"]
    assert [each["content"]["parts"][0]["text"] for each in asked] == ["a tea", "a kettle"]
    assert {each["taskType"] for each in asked} == {"RETRIEVAL_DOCUMENT"}
    assert {each["outputDimensionality"] for each in asked} == {3}
    assert found.usages[0].estimated  # Google's API reports no tokens


@pytest.mark.parametrize(
    ("provider", "kind"),
    [("openai", CreateEmbeddingResponse), ("google", EmbedContentResponse)],
)
def test_the_exchanges_are_what_the_vendors_own_types_say(provider: str, kind: Any) -> None:
    said = exchange("embeddings")[provider]
    assert kind.model_validate(said).model_dump(exclude_none=True, by_alias=True) == said
