"""What a loop of twenty rounds sends its model, round by round, under each setting of context.

`python -m benchmarks.context` runs a writer and a critic against a local server that speaks
OpenAI's chat completions, and prints two tables: what the writer's calls came to in all, and the
request of every round: its bytes, how many of them the call before had begun with, and the tokens
that a provider would have had already. The server reckons these as OpenAI documents it: the
longest beginning that an earlier request had too, from 1,024 tokens on, in steps of 128.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from rondel import Engine, Graph
from rondel.models.tokens import count_tokens
from tests.openai_server import OpenAIServer, Reply, Seen

ROUNDS = 20
ROLE = "You write the release notes of a tea kettle. " * 8
TASK = "Write the release notes of version 4. " + "Mention what changed in the lid. " * 30
DRAFT = "In this version the lid closes by itself, and the whistle is a third lower. " * 10
CRITIQUE = "Say why it matters, shorten the second sentence, and name the engineer. " * 3
SUMMARY = "Decided: lid first, then the whistle. Open: the engineer's name. " * 4
LEAST, STEP = 1024, 128

COMPACT = {"over_tokens": 3000, "keep": 2}
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "context_window: -1": ({"context_window": -1}, {}, {}),
    "context_window: -1, compact": ({"context_window": -1}, {}, {"compact": COMPACT}),
    "recall: {own: all}": ({}, {}, {"recall": {"own": "all"}}),
    "context_window: 6": ({"context_window": 6}, {}, {}),
    "context_window: -1, carry: {window: 3}": (
        {"context_window": -1},
        {"carry": {"window": 3}},
        {},
    ),
    "context_window: -1, carry: last": ({"context_window": -1}, {"carry": "last"}, {}),
    "recall: {own: 1}": ({}, {}, {}),
}
"""By name: fields of the writer's node, of the loop's contract, and of the writer's config."""


@dataclass(frozen=True)
class Sent:
    """One request of the writer."""

    bytes: int
    prefix: int
    """Bytes that the request before had begun with."""
    tokens: int
    cached: int

    @property
    def new(self) -> int:
        """The tokens that are paid for in full."""
        return self.tokens - self.cached


@dataclass
class Provider:
    """Answers, and keeps what it was sent, as a provider's cache does."""

    sent: list[Sent] = field(default_factory=list)
    summaries: list[int] = field(default_factory=list)
    _before: list[str] = field(default_factory=list)

    def reply(self, seen: Seen) -> Reply:
        """The answer to one request, and what it took."""
        text = json.dumps(seen.body["messages"], ensure_ascii=False)
        tokens = count_tokens(text)
        match seen.body["model"]:
            case "critic":
                return Reply(CRITIQUE, input_tokens=tokens)
            case "summary":
                self.summaries.append(tokens)
                return Reply(SUMMARY, input_tokens=tokens)
        known = max((_common(text, other) for other in self._before), default="", key=len)
        cached = count_tokens(known) // STEP * STEP if count_tokens(known) >= LEAST else 0
        last = _common(text, self._before[-1]) if self._before else ""
        self._before.append(text)
        self.sent.append(Sent(len(text.encode()), len(last.encode()), tokens, cached))
        number = len(self.sent)
        return Reply(f"Draft {number}. {DRAFT}", input_tokens=tokens, cached_tokens=cached)


def _common(text: str, other: str) -> str:
    pairs = enumerate(zip(text, other, strict=False))
    end = next((place for place, (one, two) in pairs if one != two), min(len(text), len(other)))
    return text[:end]


def measured(setting: str) -> Provider:
    """What the writer sent in a loop under that setting."""
    node, contract, config = SETTINGS[setting]
    provider = Provider()
    with OpenAIServer(provider.reply) as server:
        graph = Graph.from_document(_document(server.url, node, contract, config))
        asyncio.run(_run(graph))
    return provider


async def _run(graph: Graph) -> None:
    async with Engine(db=None) as engine:
        result = await engine.run(graph, TASK)
        assert result.status == "completed", result


def _document(url: str, node: Any, contract: Any, config: Any) -> dict[str, Any]:
    def model(name: str) -> dict[str, Any]:
        return {"provider": "openai", "name": name, "base_url": url, "stream": False}

    if "compact" in config:
        config = {"compact": {**config["compact"], "agent": model("summary")}}
    writer = {**model("writer"), "role": ROLE, **config}
    body = {
        "id": "notes",
        "start": "Writer",
        "breaker": "off",
        "loops": {"Writer": {"max_rounds": ROUNDS, **contract}},
        "nodes": [
            {"id": "Writer", "type": "agent", "config": writer, **node},
            {"id": "Critic", "type": "agent", "config": model("critic")},
            {"id": "Final", "type": "passthrough"},
        ],
        "edges": [
            {"from": "Writer", "to": "Critic"},
            {"from": "Critic", "to": "Writer"},
            {"from": "Writer", "to": "Final", "label": "limit"},
        ],
    }
    return {"version": 1, "graph": body}


def totals(found: dict[str, Provider]) -> str:
    """One line a setting: the tokens of all its calls."""
    lines = [
        "| setting | sent | cached | new | the longest call | summaries |",
        "|---|" + "---:|" * 5,
    ]
    for name, provider in found.items():
        sent, extra = provider.sent, sum(provider.summaries)
        tokens = sum(each.tokens for each in sent)
        cached = sum(each.cached for each in sent)
        longest = max(each.tokens for each in sent)
        summaries = f"{len(provider.summaries)} ({extra:,})" if provider.summaries else "–"
        lines.append(
            f"| `{name}` | {tokens:,} | {cached:,} | {tokens - cached:,} | {longest:,} "
            f"| {summaries} |"
        )
    return "\n".join(lines)


def rounds(found: dict[str, Provider]) -> str:
    """One line a round, and for each setting: bytes / stable prefix / cached tokens."""
    names = list(found)
    lines = ["| round | " + " | ".join(f"`{name}`" for name in names) + " |"]
    lines.append("|---:|" + "---:|" * len(names))
    for number in range(ROUNDS):
        cells = [found[name].sent[number] for name in names]
        told = (f"{each.bytes:,} / {each.prefix:,} / {each.cached:,}" for each in cells)
        lines.append(f"| {number + 1} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run every setting and print both tables."""
    found = {name: measured(name) for name in SETTINGS}
    print(totals(found))
    print("\nBytes / bytes of the beginning that the call before had too / tokens cached:\n")
    print(rounds(found))


if __name__ == "__main__":
    main()
