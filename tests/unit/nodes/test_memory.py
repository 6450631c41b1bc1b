"""The node type `memory`."""

from __future__ import annotations

from typing import Any

import pytest

from rondel import Engine, Graph, Message
from rondel.errors import CallError
from rondel.graph.spec import MemorySpec
from rondel.journal.memory import MemoryStore
from rondel.journal.store import Group, MemoryEntry
from rondel.journal.working_memory import WorkingMemory
from rondel.sessions.agents import replace_in_document
from rondel.testing.memory_suite import promotion
from tests.unit.nodes.context import FakeContext, of_data, of_text
from tests.unit.nodes.running import built, emitted, problems, registry_with, step
from tests.unit.sessions.playing import told

GROUP = {"group_id": "g"}


def node(store: Any, rules: MemorySpec | None = None, **config: Any) -> Any:
    registry = registry_with().serving(memory=WorkingMemory(store, rules or MemorySpec()))
    model = registry.config_model("node", "memory")
    return registry.build("node", "memory", model.model_validate(config))


def store_of(*contents: Any, group: Group | str = "g", **fields: Any) -> MemoryStore:
    store = MemoryStore()
    given = {"created_at": 1_700_000_000.0, **fields}
    store.remember(promotion(group, *contents, **given), 0.0, 1000)
    return store


def history(processor: Any, ctx: FakeContext) -> list[Any]:
    return [entry["content"] for entry in emitted(processor, ctx).data["history_context"]]


def test_it_adds_the_groups_entries_newest_last() -> None:
    store = store_of("first", [{"text": "second"}], confidence=0.9)
    message = emitted(node(store), of_data({"score": 5}, inputs=GROUP))
    assert (message.content, message.role, message.data["score"]) == ("text", "user", 5)
    entry = {
        "node_id": "Writer",
        "session": "s",
        "address": "Writer",
        "confidence": 0.9,
        "timestamp": "2023-11-14T22:13:20.000Z",
    }
    assert message.data["history_context"] == [
        {"content": "first", **entry},
        {"content": [{"text": "second"}], **entry},
    ]


def test_without_a_message_it_still_tells_what_is_remembered() -> None:
    assert history(node(store_of("x")), FakeContext(inputs=GROUP)) == ["x"]


def test_it_passes_on_its_last_message_and_keeps_its_mark() -> None:
    kept = Message("last", {"a": 1}, kept=True)
    ctx = FakeContext([Message("first", {"b": 2}), kept], inputs=GROUP)
    message = emitted(node(MemoryStore()), ctx)
    assert (message.content, message.kept) == ("last", True)
    assert message.data == {"a": 1, "history_context": []}
    assert kept.data == {"a": 1}


def test_it_retrieves_no_more_than_its_limit_and_the_graphs_size() -> None:
    store = store_of(*range(60))
    assert history(node(store, limit=3), of_text("x", inputs=GROUP)) == [57, 58, 59]
    assert history(node(store), of_text("x", inputs=GROUP)) == list(range(10, 60))
    small = MemorySpec(size=2)
    assert history(node(store, small, limit=3), of_text("x", inputs=GROUP)) == [58, 59]


def test_what_is_too_old_by_the_steps_clock_is_not_there() -> None:
    processor = node(store_of("x"), MemorySpec(max_age=10.0))
    at = 1_700_000_000.0
    assert history(processor, of_text("x", inputs=GROUP, now=at + 9)) == ["x"]
    assert history(processor, of_text("x", inputs=GROUP, now=at + 11)) == []


def test_what_its_graph_would_refuse_is_not_there() -> None:
    store = store_of("unsure", confidence=0.5)
    assert history(node(store), of_text("x", inputs=GROUP)) == []
    assert history(node(store, MemorySpec(min_confidence=0.5)), of_text("x", inputs=GROUP)) == [
        "unsure"
    ]


def test_it_sees_its_own_group_only() -> None:
    store = store_of("own", group=Group("session", own=True))
    assert history(node(store), of_text("x")) == ["own"]
    assert history(node(store), of_text("x", inputs={"group_id": "session"})) == []


class Failing(MemoryStore):
    def recall(
        self, group: Group, since: float, limit: int, least: float = 0.0
    ) -> list[MemoryEntry]:
        raise OSError("the disk is away")


def test_a_store_that_fails_gives_an_empty_history() -> None:
    ctx = of_text("x", inputs=GROUP)
    assert history(node(Failing()), ctx) == []
    assert ctx.told == [("retrieval", "memory_error")]


async def test_a_store_that_fails_is_an_event_and_the_run_goes_on() -> None:
    graph = Graph("g")
    graph.add("recall", "memory")
    async with Engine(Failing()) as engine:
        session = await engine.start(graph, "task")
        result = await session.settled()
        assert (result.status, result.output) == ("completed", "task")
        errors = [e.data for e in await told(session) if e.event == "memory_error"]
        assert errors == [{"error": "OSError: the disk is away", "kind": "OSError"}]


def test_outside_an_engine_it_says_what_is_missing() -> None:
    with pytest.raises(CallError, match="there is no memory here; run the graph with an Engine"):
        step(built("memory"), of_text("x"))


def test_what_a_session_changes_in_its_history_is_its_own() -> None:
    store = store_of([{"text": "x"}])
    first = emitted(node(store), of_text("x", inputs=GROUP))
    first.data["history_context"][0]["content"][0]["text"] = "spoilt"
    assert history(node(store), of_text("x", inputs=GROUP)) == [[{"text": "x"}]]


@pytest.mark.parametrize("limit", [0, -1, 1.5, "5", True])
def test_a_limit_is_a_whole_number_of_at_least_one(limit: Any) -> None:
    assert problems("memory", {"limit": limit})


FACTS = (
    "The kettle boils at ninety degrees up here.",
    "Our readers dislike exclamation marks.",
    "The invoice goes to the Lyon office.",
    "茶叶要用软水冲泡。",
    "Nobody answers on Fridays.",
)


def test_without_a_model_it_finds_by_words_and_fills_up_with_the_newest() -> None:
    found = history(node(store_of(*FACTS), limit=2), of_text("Invoice: where to?", inputs=GROUP))
    assert found == [FACTS[2], FACTS[4]]
    chinese = history(node(store_of(*FACTS), limit=1), of_text("用什么水冲泡茶叶？", inputs=GROUP))
    assert chinese == [FACTS[3]]


def test_a_word_that_all_entries_have_decides_nothing() -> None:
    store = store_of(*(f"The answer is {word}." for word in ("one", "two", "three")))
    assert history(node(store, limit=1), of_text("the answer", inputs=GROUP)) == [
        "The answer is three."
    ]


def test_with_a_model_it_finds_by_meaning_and_says_how_near_it_is() -> None:
    processor = node(store_of(*FACTS), limit=2, embedding={})
    ctx = of_text("exclamations and readers", inputs=GROUP)
    found = emitted(processor, ctx).data["history_context"]
    assert FACTS[1] in [entry["content"] for entry in found]
    nearest = max(found, key=lambda entry: entry["similarity"])
    assert nearest["content"] == FACTS[1]
    assert 0 < nearest["similarity"] <= 1
    assert [usage.model for usage in ctx.charged] == ["simulated", "simulated"]
    assert all(usage.input_tokens and not usage.output_tokens for usage in ctx.charged)


def test_by_meaning_too_it_sees_its_own_group_only() -> None:
    store = store_of(*FACTS, group="other")
    assert history(node(store, embedding={}), of_text(FACTS[0], inputs=GROUP)) == []


def test_a_model_that_cannot_embed_is_an_event_and_words_are_used() -> None:
    embedding = {"provider": "openai", "name": "m", "base_url": "http://127.0.0.1:9", "attempts": 1}
    ctx = of_text("the invoice", inputs=GROUP)
    assert history(node(store_of(*FACTS), limit=1, embedding=embedding), ctx) == [FACTS[2]]
    assert ctx.told == [("embedding", "memory_error")]


@pytest.mark.parametrize(
    ("embedding", "problem"),
    [
        ({"provider": "anthropic"}, "no provider 'anthropic' embeds"),
        ({"provider": "simulated", "dimensions": 3}, "dimensions"),
        ({"provider": "openai"}, "name"),
        ({"provider": "openai", "name": "m", "dimensions": 0}, "dimensions"),
        ({"provider": "vllm", "name": "m"}, "base_url"),
    ],
)
def test_a_model_that_cannot_be_is_an_error_at_load(embedding: Any, problem: str) -> None:
    assert problem in "\n".join(problems("memory", {"embedding": embedding}))


def test_simulated_providers_embed_without_a_network() -> None:
    nodes = [{"id": "a", "type": "memory", "config": {"embedding": {"provider": "openai"}}}]
    document: dict[str, Any] = {"graph": {"nodes": nodes}}
    replace_in_document(document, "simulated")
    assert nodes[0]["config"] == {"embedding": {"provider": "simulated"}}
