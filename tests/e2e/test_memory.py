"""`rondel memory`: the quarantine log, promotion, and what groups remember."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Ran, rondel

Call = Callable[..., Ran]
Write = Callable[..., Path]

REMARKS = """
graph:
  id: remarks
  memory: {promote: [Critic]}
  nodes:
    - {id: Recall, type: memory}
    - {id: Writer, type: agent, config: {provider: scripted, answers: [a draft]}}
    - id: Critic
      type: agent
      config:
        provider: scripted
        answers: [{content: a remark, data: {confidence: 0.9}}]
    - {id: Doubter, type: agent, config: {provider: scripted, answers: [
        {content: a doubt, data: {confidence: 0.2}}]}}
  edges:
    - {from: Recall, to: Writer}
    - {from: Writer, to: Critic}
    - {from: Critic, to: Doubter}
"""


@pytest.fixture
def ran(call: Call, graph_file: Write) -> Callable[..., str]:
    """Runs the graph and gives the session's id."""
    file = graph_file(REMARKS)

    def run(*options: str) -> str:
        done = call("run", file, "-i", "tea", *options, "--json")
        assert done.code == 0, done.err
        return str(done.result["session_id"])

    return run


def refused(done: Ran, message: str) -> None:
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def contents(done: Ran) -> list[Any]:
    assert done.code == 0, done.err
    return [entry["content"] for entry in done.document["entries"]]


def test_the_quarantine_log_shows_all_that_was_emitted(call: Call, ran: Callable[..., str]) -> None:
    id = ran()
    log = call("memory", "quarantine", id[:6], "--json").document
    assert log["session_id"] == id
    assert [(e["address"], e["content"], e["confidence"]) for e in log["entries"]] == [
        ("Recall", "tea", None),
        ("Writer", "a draft", None),
        ("Critic", "a remark", 0.9),
        ("Doubter", "a doubt", 0.2),
    ]
    table = call("memory", "quarantine", id).out.splitlines()
    assert table[0].split() == ["FINISHED", "ADDRESS", "CONFIDENCE", "CONTENT"]
    assert table[3].split()[2:] == ["Critic", "0.9", "a", "remark"]


def test_a_group_has_what_its_sessions_promoted(call: Call, ran: Callable[..., str]) -> None:
    ids = [ran("-i", "group_id=a"), ran("-i", "group_id=a")]
    ran("-i", "group_id=b")
    listed = call("memory", "list", "a", "--json")
    assert contents(listed) == ["a remark", "a remark"]
    assert [entry["session"] for entry in listed.document["entries"]] == ids
    assert listed.document["own"] is False
    groups = call("memory", "list", "--json").document["groups"]
    assert [(known["group"], known["entries"]) for known in groups] == [("b", 1), ("a", 2)]
    assert call("memory", "list").out.splitlines()[1].startswith("b      named        1  ")
    assert call("memory", "list", "a").out.count("a remark") == 2


def test_a_session_without_a_group_is_found_by_its_id_only(
    call: Call, ran: Callable[..., str]
) -> None:
    id = ran()
    assert contents(call("memory", "list", id, "--json")) == []
    assert contents(call("memory", "list", "--session", id[:6], "--json")) == ["a remark"]
    assert f"{id}  one session's own" in call("memory", "list").out
    assert call("memory", "list", id).out == "nothing is remembered\n"


def test_a_session_names_the_group_it_is_in(call: Call, ran: Callable[..., str]) -> None:
    id = ran("-i", "group_id=1")
    listed = call("memory", "list", "--session", id, "--json")
    assert contents(listed) == ["a remark"]
    assert contents(call("memory", "list", "1", "--json")) == ["a remark"]


def test_promotion_by_hand_and_what_it_refuses(call: Call, ran: Callable[..., str]) -> None:
    id = ran("-i", "group_id=a")
    done = call("memory", "promote", id, "Writer")
    assert (done.code, done.out) == (0, "1 entry of Writer in group a\n")
    assert call("memory", "promote", id, "Writer").code == 0
    assert contents(call("memory", "list", "a", "--json")) == ["a remark", "a draft"]
    refused(call("memory", "promote", id, "Doubter"), "a confidence of 0.2 is not enough")
    refused(
        call("memory", "promote", id, "Critic", "--confidence", "0.5"),
        "a confidence of 0.5 is not enough",
    )
    refused(call("memory", "promote", id, "Critc"), "did you mean Critic")
    refused(call("memory", "promote", "nobody", "Critic"), "there is no session 'nobody'")
    done = call("memory", "promote", id, "Doubter", "--confidence", "1", "--json")
    assert [entry["confidence"] for entry in done.document["entries"]] == [1.0]


def test_a_later_session_of_the_group_sees_what_was_promoted(
    call: Call, ran: Callable[..., str]
) -> None:
    first = ran("-i", "group_id=a")
    call("memory", "promote", first, "Writer")
    for group, seen in (("a", ["a remark", "a draft"]), ("b", [])):
        log = call("memory", "quarantine", ran("-i", f"group_id={group}"), "--json").document
        history = log["entries"][0]["data"]["history_context"]
        assert [entry["content"] for entry in history] == seen


def test_clearing_takes_consent(call: Call, ran: Callable[..., str]) -> None:
    ran("-i", "group_id=a")
    ran("-i", "group_id=b")
    refused(call("memory", "clear", "a"), "this would forget 1 entry of group a; say --yes")
    assert call("memory", "clear", "a", "--yes").out == "forgot 1 entry of group a\n"
    assert call("memory", "clear", "a").out == "forgot 0 entries of group a\n"
    assert contents(call("memory", "list", "b", "--json")) == ["a remark"]
    own = ran()
    done = call("memory", "clear", "--session", own, "--yes", "--json")
    assert done.document == {"group": own, "own": True, "forgotten": 1}


def test_a_name_that_looks_like_another_is_shown_in_quotes(
    call: Call, ran: Callable[..., str]
) -> None:
    for name in ('" a"', "a", '"a\\u0000b"'):
        ran("-i", f"group_id={name}")
    shown = [line.split("  ")[0] for line in call("memory", "list").out.splitlines()[1:]]
    assert shown == ['"a\\u0000b"', "a", '" a"']


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing argument 'ACTION'"),
        (["lst"], "there is no action 'lst'; did you mean 'list'?"),
        (["promote"], "write it as: rondel memory promote SESSION ADDRESS"),
        (["promote", "x"], "write it as: rondel memory promote SESSION ADDRESS"),
        (["quarantine"], "write it as: rondel memory quarantine SESSION"),
        (["clear"], "write it as: rondel memory clear GROUP, or --session ID"),
        (["clear", "a", "--session", "b"], "write it as: rondel memory clear GROUP"),
        (["list", "a", "b"], "write it as: rondel memory list [GROUP], or --session ID"),
        (["list", " "], "a group's name is not blank"),
        (["list", "--yes"], "memory list takes no --yes"),
        (["clear", "a", "--confidence", "1"], "memory clear takes no --confidence"),
        (["quarantine", "x", "--session", "y"], "memory quarantine takes no --session"),
        (["promote", "x", "y", "--confidence", "much"], "invalid value for '--confidence'"),
        (["quarantine", "nobody"], "there is no session 'nobody'"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, call: Call
) -> None:
    refused(call("memory", *arguments), message)


def test_where_nothing_is_kept_nothing_is_remembered(call: Call) -> None:
    assert call("memory", "list").out == "no group remembers anything\n"
    assert call("memory", "list", "--json").document == {"groups": []}


def test_the_real_command_has_its_help_and_its_verb() -> None:
    assert "  memory    " in rondel("--help").out
    help = rondel("memory", "--help")
    assert help.code == 0
    assert "promote SESSION ADDRESS" in " ".join(help.out.split())
