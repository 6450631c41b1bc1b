"""What real servers do wrong: figures that cannot be, answers that are not whole, no end at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import Ran
from tests.openai_server import OpenAIServer, Reply, Seen

Call = Callable[..., Ran]
Write = Callable[..., Path]

CHAIN = """
graph:
  id: chain
  {more}
  nodes:
    - {{id: First, type: agent, config: {{{config}{first}}}}}
    - {{id: Second, type: agent, config: {{{config}}}}}
  edges: [{{from: First, to: Second}}]
"""

LOOP = """
graph:
  id: again
  start: Writer
  end: Done
  breaker: off
  limits: {{max_steps: 300, {limits}}}
  loops: {{Writer: {{max_rounds: 80, {contract}}}}}
  nodes:
    - {{id: Writer, type: agent, config: {{{config}}}}}
    - {{id: Gate, type: loop, config: {{max_rounds: 80}}}}
    - {{id: Done, type: passthrough}}
  edges:
    - {{from: Writer, to: Gate}}
    - {{from: Gate, to: Writer, label: continue}}
    - {{from: Gate, to: Done, label: exit}}
"""


def at(server: OpenAIServer, more: str = "") -> str:
    return f'provider: openai, name: m, base_url: "{server.url}", backoff: 0{more}'


def chain(server: OpenAIServer, first: str = "", more: str = "", config: str = "") -> str:
    return CHAIN.format(config=at(server, config), first=first, more=more)


def loop(server: OpenAIServer, limits: str = "wall_time: 1h", contract: str = "exit: now") -> str:
    return LOOP.format(config=at(server), limits=limits, contract=contract)


def events_of(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def told(ran: Ran, event: str) -> list[dict[str, Any]]:
    return [each["data"] for each in events_of(ran) if each["event"] == event]


# Usage


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize(
    "usage",
    [
        False,
        None,
        {},
        {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
        {"prompt_tokens": -5, "completion_tokens": -5, "total_tokens": -10},
        {"prompt_tokens": 10.5, "completion_tokens": 3.5, "total_tokens": 14},
        {"prompt_tokens": 10**30, "completion_tokens": 10**30, "total_tokens": 1},
        {"prompt_tokens": "many", "completion_tokens": "few", "total_tokens": "all"},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    ],
)
def test_usage_that_cannot_be_is_counted_here_and_flagged(
    usage: Any, stream: str, call: Call, graph_file: Write
) -> None:
    with OpenAIServer(Reply("Forty characters of text, more or less.", usage=usage)) as server:
        text = chain(server, config=f", stream: {stream}")
        ran = call("run", graph_file(text), "-i", "Write about loops.", "--json")
    assert ran.code == 0, ran.err
    assert ran.err == ""
    ledger = told(ran, "token_usage")
    assert [each.get("estimated") for each in ledger] == [True, True]
    assert all(4 <= each["input_tokens"] <= 60 for each in ledger)
    assert [each["output_tokens"] for each in ledger] == [10, 10]


@pytest.mark.parametrize("usage", [False, None, {"prompt_tokens": -9, "completion_tokens": -9}])
def test_a_limit_holds_whatever_the_server_reports(
    usage: Any, call: Call, graph_file: Write
) -> None:
    with OpenAIServer(Reply("word " * 20, usage=usage)) as server:
        ran = call("run", graph_file(loop(server, "tokens: 200")), "-i", "x", "--json")
        assert len(server.seen) < 10
    assert ran.code == 1
    assert events_of(ran)[-1]["status"] == "failed"


# Answers that are not whole


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("reason", ["length", "content_filter", "insufficient_system_resource"])
def test_an_answer_that_was_cut_off_is_told_paid_for_and_not_handed_on(
    reason: str, stream: str, call: Call, graph_file: Write
) -> None:
    with OpenAIServer(Reply("The half of a sen", finish_reason=reason)) as server:
        text = chain(server, config=f", stream: {stream}")
        ran = call("run", graph_file(text), "-i", "x", "--json")
        assert len(server.seen) == 1
    assert ran.code == 1
    assert told(ran, "model_incomplete") == [{"finish_reason": reason, "model": "m", "chars": 17}]
    (paid,) = told(ran, "token_usage")
    assert (paid["input_tokens"], paid["output_tokens"]) == (11, 7)
    assert paid["finish_reason"] == reason
    assert "accept_incomplete: true" in events_of(ran)[-1]["reason"] + ran.err


def test_an_answer_that_was_cut_off_may_be_accepted(call: Call, graph_file: Write) -> None:
    with OpenAIServer(Reply("The half of a sen", finish_reason="length"), "whole") as server:
        text = chain(server, first=", accept_incomplete: true")
        ran = call("run", graph_file(text), "-i", "x", "--json")
    assert ran.code == 0
    assert told(ran, "model_incomplete") == [{"finish_reason": "length", "model": "m", "chars": 17}]
    assert events_of(ran)[-1]["output"] == "whole"


def test_a_refusal_is_told_in_the_models_words(call: Call, graph_file: Write) -> None:
    with OpenAIServer(Reply(refusal="I cannot help with that.")) as server:
        ran = call("run", graph_file(chain(server)), "-i", "x")
        assert len(server.seen) == 1
    assert ran.code == 1
    assert "declined to answer (I cannot help with that.)" in ran.out + ran.err


@pytest.mark.parametrize("nothing", ["", "  \n"])
def test_an_empty_answer_is_tried_again(nothing: str, call: Call, graph_file: Write) -> None:
    with OpenAIServer(nothing, nothing, "something", "the end") as server:
        ran = call("run", graph_file(chain(server)), "-i", "x", "--json")
        asked = [body["messages"][-1]["content"] for body in server.bodies]
        keys = server.header("Idempotency-Key")
    assert ran.code == 0
    assert asked[:3] == ["x", "x", "x"]
    assert "something" in json.dumps(server.bodies[3])
    assert len(set(keys)) == 4
    assert events_of(ran)[-1]["usage"]["model_calls"] == 4


def test_a_model_that_says_nothing_fails_the_step(call: Call, graph_file: Write) -> None:
    with OpenAIServer("") as server:
        ran = call("run", graph_file(chain(server)), "-i", "x", "--json")
        assert len(server.seen) == 4
    assert ran.code == 1
    assert events_of(ran)[-1]["usage"]["model_calls"] == 4


PANEL = """
graph:
  id: panel
  nodes:
    - id: Panel
      type: {type}
      config: {{{members}}}
"""


@pytest.mark.parametrize(
    ("type", "members"),
    [
        ("vote", "agents: {{Ann: {{{agent}}}, Bob: {{{agent}}}}}"),
        ("debate", "agents: {{Ann: {{{agent}}}, Bob: {{{agent}}}}}, agent_pairs: [[Ann, Bob]]"),
    ],
)
@pytest.mark.parametrize("reply", [Reply("The half", finish_reason="length"), Reply("")])
def test_agents_inside_a_node_hand_on_nothing_that_is_not_whole(
    type: str, members: str, reply: Reply, call: Call, graph_file: Write
) -> None:
    with OpenAIServer(reply) as server:
        text = PANEL.format(type=type, members=members.format(agent=at(server)))
        ran = call("run", graph_file(text), "-i", "x", "--json")
    assert ran.code == 1
    assert bool(told(ran, "model_incomplete")) == bool(reply.content)
    assert events_of(ran)[-1]["usage"]["model_calls"] == len(server.seen)


def test_a_check_whose_answer_is_cut_off_is_not_verified(call: Call, graph_file: Write) -> None:
    claims = json.dumps(
        {"claims": [{"claim": "x", "verified": True, "confidence": 1, "sources": []}]}
    )
    with OpenAIServer(Reply(claims, finish_reason="length")) as server:
        text = PANEL.format(type="fact_check", members=f"agent: {{{at(server)}}}")
        ran = call("run", graph_file(text), "-i", "x", "--json")
    assert events_of(ran)[-1]["data"]["verified"] is False
    assert [each["chars"] for each in told(ran, "model_incomplete")] == [len(claims)]


# What failed attempts said, and took


def test_what_a_broken_attempt_said_is_not_shown_before_the_answer(
    call: Call, graph_file: Write
) -> None:
    broken = Reply("half of it", drop_after=2)
    with OpenAIServer(broken, "All of it.", broken, "Here.") as server:
        retry = "{max_attempts: 2, min_wait: 0, max_wait: 0}"
        text = chain(server).replace("id: Second,", f"id: Second, retry: {retry},")
        text = text.replace("backoff: 0}", "backoff: 0, attempts: 1}")
        text = text.replace("backoff: 0, attempts: 1}", "backoff: 0}", 1)
        ran = call("run", graph_file(text), "-i", "x")
    assert ran.code == 0, ran.err
    assert "  First   All of it.\n" in ran.out
    assert "  Second  Here.\n" in ran.out


def test_attempts_that_broke_are_in_the_ledger(call: Call, graph_file: Write) -> None:
    with OpenAIServer(Reply("word " * 40, chunks=8, drop_after=4)) as server:
        ran = call("run", graph_file(chain(server)), "-i", "Write about loops.", "--json")
        assert len(server.seen) == 4
    assert ran.code == 1
    ledger = told(ran, "token_usage")
    assert len(ledger) == 4
    assert all(each["estimated"] and each["input_tokens"] > 0 for each in ledger)
    assert all(20 <= each["output_tokens"] <= 30 for each in ledger)


def test_an_attempt_that_was_refused_is_in_the_ledger_and_cost_nothing(
    call: Call, graph_file: Write
) -> None:
    with OpenAIServer(Reply(status=500), Reply(status=500), "fine") as server:
        ran = call("run", graph_file(chain(server)), "-i", "x", "--json")
        assert len(server.seen) == 4
    usage = events_of(ran)[-1]["usage"]
    assert (usage["model_calls"], usage["input_tokens"]) == (4, 22)


def test_broken_attempts_count_against_a_budget(call: Call, graph_file: Write) -> None:
    with OpenAIServer(Reply("word " * 400, chunks=4, drop_after=3)) as server:
        text = chain(server, more="limits: {tokens: 500}", config=", attempts: 20")
        ran = call("run", graph_file(text), "-i", "x", "--json")
        assert len(server.seen) == 2
    assert ran.code == 1
    assert "limits" in events_of(ran)[-1]["reason"] + ran.err


# Text


@pytest.mark.parametrize("stream", ["true", "false"])
def test_halves_of_characters_are_joined_or_replaced(
    stream: str, call: Call, graph_file: Write, tmp_path: Path
) -> None:
    pieces = ["Hello \ud83d", "\ude00", " and \ud83d", " alone ", "\ude00"]
    with OpenAIServer(Reply(pieces=pieces)) as server:
        text = chain(server, config=f", stream: {stream}")
        ran = call("run", graph_file(text), "-i", "x", "--json", "--db", tmp_path / "s.db")
    assert ran.code == 0, ran.err
    whole = "Hello 😀 and \ufffd alone \ufffd"
    assert events_of(ran)[-1]["output"] == whole
    chunks = [each["chunk"] for each in told(ran, "token_stream") if each["agent"] == "First"]
    assert "".join(chunks) == whole


SCHEMA = "{type: object, properties: {word: {type: string}}, required: [word]}"


def test_halves_of_characters_in_json_are_replaced(call: Call, graph_file: Write) -> None:
    with OpenAIServer(r'{"word": "half \ud83d, whole \ud83d\ude00"}') as server:
        text = chain(server, config=f", output_schema: {SCHEMA}")
        ran = call("run", graph_file(text), "-i", "x", "--json")
    assert ran.code == 0, ran.err
    assert events_of(ran)[-1]["data"] == {"word": "half \ufffd, whole 😀"}


# "Later"


class Rationed:
    """Takes ten requests in any two seconds, the refused ones counted too."""

    def __init__(self, after: str = "2") -> None:
        self.after = after
        self.lock = threading.Lock()
        self.starts: list[float] = []
        self.refused = 0

    def __call__(self, seen: Seen) -> str | Reply:
        with self.lock:
            now = time.monotonic()
            self.starts = [start for start in self.starts if start > now - 1.95]
            if len(self.starts) >= 10:
                self.refused += 1
                return Reply(
                    status=429,
                    headers={"Retry-After": self.after},
                    body={"error": {"message": "slow down"}},
                )
            self.starts.append(now)
        return Reply("done", before=0.02)


def test_fifty_agents_all_finish_at_a_server_that_takes_ten_in_two_seconds(
    call: Call, graph_file: Write
) -> None:
    rationed = Rationed()
    with OpenAIServer(rationed) as server:
        nodes = [f"    - {{id: N{n}, type: agent, config: {{{at(server)}}}}}" for n in range(50)]
        edges = [f"    - {{from: Start, to: N{n}}}" for n in range(50)]
        edges += [f"    - {{from: N{n}, to: End}}" for n in range(50)]
        text = "\n".join(
            [
                "graph:\n  id: fan\n  start: Start\n  end: End\n  nodes:",
                "    - {id: Start, type: literal, config: {content: go}}",
                "    - {id: End, type: passthrough}",
                *nodes,
                "  edges:",
                *edges,
            ]
        )
        ran = call("run", graph_file(text), "-i", "x", "--json")
    assert ran.code == 0, ran.err
    assert events_of(ran)[-1]["usage"]["model_calls"] == 50
    assert rationed.refused < 60


def test_a_wait_that_the_provider_asks_for_ends_with_the_run(call: Call, graph_file: Write) -> None:
    with OpenAIServer(Reply(status=429, headers={"Retry-After": "300"})) as server:
        started = time.monotonic()
        ran = call("run", graph_file(chain(server, more="limits: {wall_time: 1s}")), "-i", "x")
    assert ran.code == 1
    assert time.monotonic() - started < 15


# No end


@pytest.mark.parametrize("between", [0.0, 0.01])
def test_an_endless_stream_ends_with_the_time_of_the_run(
    between: float, call: Call, graph_file: Write
) -> None:
    with OpenAIServer(Reply("again and ", endless=True, between=between)) as server:
        started = time.monotonic()
        text = chain(server, more="limits: {wall_time: 1s}")
        ran = call("run", graph_file(text), "-i", "x", "--json")
        assert server.seen[0].hung_up.wait(30)
    assert ran.code == 1
    assert time.monotonic() - started < 15
    assert "wall_time" in events_of(ran)[-1]["reason"] + ran.err or "limits" in ran.err
    (paid,) = told(ran, "token_usage")
    assert paid["estimated"]
    assert paid["output_tokens"] > 10


def test_an_endless_stream_ends_with_the_time_of_its_loop(call: Call, graph_file: Write) -> None:
    with OpenAIServer("first", Reply("again and ", endless=True, between=0.01)) as server:
        text = loop(server, contract="budget: {wall_time: 1s}")
        ran = call("run", graph_file(text), "-i", "x", "--json")
        assert len(server.seen) == 2
    (ended,) = told(ran, "loop:exited")
    assert ended["exit_reason"] == "budget_exhausted"
    assert ran.code in (0, 3)


# Addresses


def test_a_query_in_the_address_goes_along(call: Call, graph_file: Write) -> None:
    with OpenAIServer("fine") as server:
        text = chain(server).replace(server.url, f"{server.url}?api-version=2026-01-01&k=a%20b")
        ran = call("run", graph_file(text), "-i", "x")
        paths = [seen.path for seen in server.seen]
    assert ran.code == 0, ran.err
    assert {path.partition("?")[0] for path in paths} == {"/v1/chat/completions"}
    assert all("api-version=2026-01-01" in path and "k=a" in path for path in paths)


def test_a_fragment_in_the_address_is_refused(call: Call, graph_file: Write) -> None:
    with OpenAIServer("fine") as server:
        text = chain(server).replace(server.url, f"{server.url}#part")
        ran = call("run", graph_file(text), "-i", "x")
    assert ran.code == 2
    assert "fragment" in ran.err
