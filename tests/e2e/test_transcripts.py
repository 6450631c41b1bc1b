"""What agents are sent, read as a model would: every round of every example makes sense."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rondel import Graph
from rondel.sessions.templates import templates
from tests.e2e.command import ROOT, Ran
from tests.openai_server import OpenAIServer
from tests.transcripts import Asked, transcript

TASK = "Why people drink tea"
ANSWERS = {
    "Reviewer": ["shorter", "even shorter", "ACCEPT"],
    "human_review": ["apply", "continue", "exit"],
    "Editor": ["revise: shorter", "approve"],
}
PLUGIN = "18_plugin"
"""An example whose package is not installed here."""

EXAMPLES = [file for file in ROOT.glob("examples/*/graph.yaml") if file.parent.name != PLUGIN]
GRAPHS = [*sorted(EXAMPLES), *map(Path, map(str, templates().values()))]

WRITER = """
graph:
  id: slogan
  start: Writer
  loops: {{Writer: {{max_rounds: 3}}}}
  nodes:
    - {{id: Writer, type: agent, config: {{{model}, role: You write slogans.}}}}
    - {{id: Critic, type: agent, config: {{{model}, role: You judge slogans.}}}}
    - {{id: Final, type: passthrough}}
  edges:
    - {{from: Writer, to: Critic}}
    - {{from: Critic, to: Writer}}
    - {{from: Writer, to: Final, label: limit}}
"""


def test_a_writer_in_a_plain_loop_is_sent_task_draft_and_critique(
    graph_file: Callable[..., Path], call: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RONDEL_TEST_KEY", "sk-planted-0123456789")
    replies = ["Tea.", "Dull.", "Hot tea.", "Too hot.", "Tea on time.", "Good."]
    with OpenAIServer(*replies) as server:
        at = f'provider: openai, name: m, base_url: "{server.url}", api_key: "${{RONDEL_TEST_KEY}}"'
        file = graph_file(WRITER.format(model=at))
        ran = call("run", file, "-i", "A slogan for tea", "--json")
        assert ran.code == 0, ran.err
        sent = [
            [(message["role"], message["content"]) for message in body["messages"]]
            for body in server.bodies
        ]
    writer, critic = sent[::2], sent[1::2]
    assert writer[1] == [
        ("system", "You write slogans."),
        ("user", "A slogan for tea"),
        ("assistant", "Tea."),
        ("user", "Dull."),
    ]
    assert writer[2][2:] == [("assistant", "Hot tea."), ("user", "Too hot.")]
    assert critic[0] == [
        ("system", "You judge slogans."),
        ("user", "A slogan for tea"),
        ("user", "Tea."),
    ]
    assert critic[1][1:] == [
        ("user", "A slogan for tea"),
        ("assistant", "Dull."),
        ("user", "Hot tea."),
    ]
    for agent in (writer, critic):
        prefixes = {json.dumps(messages[:2]) for messages in agent}
        assert len(prefixes) == 1, "the prefix that does not change is not the same in every round"


@pytest.mark.parametrize("file", GRAPHS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_agent_of_every_example_is_told_what_it_needs(file: Path) -> None:
    calls = transcript(file, TASK, {node: list(given) for node, given in ANSWERS.items()})
    assert calls
    plan = Graph.load(file).plan()
    agents = {node.id for node in plan.nodes if node.spec.type == "agent"}
    fanned_out = {edge.spec.target for edge in plan.edges if edge.spec.dynamic is not None}
    for call in calls:
        assert makes_sense(call, is_agent=call.node in agents), call
    by_node: dict[str, list[Asked]] = {}
    for call in calls:
        by_node.setdefault(call.node, []).append(call)
    for node, asked in by_node.items():
        if node in agents - fanned_out:  # what is asked of each part is another matter
            assert_sees_its_past(asked)


def makes_sense(call: Asked, *, is_agent: bool) -> bool:
    """The task is there, once; the last word is somebody else's; nothing is said twice.

    Agents inside a node of another type are told by it what they need.
    """
    roles = [role for role, _ in call.sent]
    texts = [text for role, text in call.sent if role != "system"]
    if is_agent and sum(part == TASK for part in parts_of(texts)) != 1:
        return False
    return roles[0] == "system" and roles[-1] == "user" and len(set(texts)) == len(texts)


def parts_of(texts: list[str]) -> list[str]:
    return [part for text in texts for part in text.split("\n\n")]


def assert_sees_its_past(asked: list[Asked]) -> None:
    """In a later round of the same entry an agent sees what it said in the one before.

    Or in the best one, where the loop has gone back to that.
    """
    for place, now in enumerate(asked[1:], 1):
        if now.round > asked[place - 1].round:
            told = "\n".join(text for _, text in now.sent)
            assert any(before.answer in told for before in asked[:place]), now
