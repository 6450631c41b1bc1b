"""When a model cannot answer, the next one is asked; what failed is paid for once, and told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph
from rondel.certificate import certify
from rondel.engine.protocols import Emit
from rondel.errors import ModelError
from tests.openai_server import OpenAIServer, Reply
from tests.unit.nodes.durable import durable, scripted
from tests.unit.nodes.running import built, problems, step

USAGE = {"input_tokens": 10, "output_tokens": 1}
FAILING = scripted({"error": "down", "usage": USAGE}, name="first")
SECOND = scripted({"content": "second", "usage": USAGE}, name="second")
THIRD = scripted({"content": "third", "usage": USAGE}, name="third")


def agent(*fallback: dict[str, Any], **config: Any) -> dict[str, Any]:
    return {**FAILING, "fallback": list(fallback), **config}


def graph_of(type: str, config: dict[str, Any]) -> Graph:
    nodes = [{"id": "Node", "type": type, "config": config}]
    return Graph.loads(json.dumps({"graph": {"id": "g", "nodes": nodes}}))


def test_the_next_model_is_asked_and_the_change_is_told() -> None:
    ctx = durable("t")
    out = step(built("agent", **agent(SECOND, THIRD)), ctx)
    assert isinstance(out, Emit)
    assert out.messages[0].text == "second"
    assert [usage.model for usage in ctx.charged] == ["first", "second"]
    (event, told) = ctx.events[0]
    assert (event, told["kind"]) == ("error", "model_fallback")
    assert "down" in told["error"]


def test_a_model_that_has_failed_is_not_asked_again_after_a_crash() -> None:
    ctx = durable("t")
    step(built("agent", **agent(FAILING, THIRD)), ctx)
    assert len(ctx.parts) == 2
    again = durable("t")
    again.parts.update(ctx.parts)
    out = step(built("agent", **agent(FAILING, THIRD)), again)
    assert isinstance(out, Emit)
    assert out.messages[0].text == "third"
    assert [usage.model for usage in again.charged] == ["third"]


def test_when_all_fail_the_step_does_with_the_last_error() -> None:
    last = scripted({"error": "gone"})
    with pytest.raises(ModelError, match="gone"):
        step(built("agent", **agent(last)), durable("t"))


def test_an_answer_that_is_empty_or_cut_off_is_none() -> None:
    silent = {**scripted(""), "fallback": [SECOND]}
    out = step(built("agent", **silent), durable("t"))
    assert isinstance(out, Emit)
    assert out.messages[0].text == "second"


def test_agents_inside_of_other_nodes_fall_back_too() -> None:
    yes = scripted({"data": {"decision": "yes", "reasoning": "x"}})
    out = step(built("vote", agents={"A": agent(yes), "B": agent(yes)}), durable("t"))
    assert isinstance(out, Emit)
    assert out.messages[0].data["passed"] is True


def test_the_certificate_counts_them_all() -> None:
    alone = certify(graph_of("agent", SECOND).plan()).cost
    both = certify(graph_of("agent", agent(SECOND)).plan()).cost
    assert (alone.calls, both.calls) == (1, 2)


@pytest.mark.parametrize(
    ("fallback", "says"),
    [
        ([{"provider": "opnai"}], "opnai"),
        ([{"provider": "scripted", "answrs": ["x"]}], "answrs"),
        ([{"name": "m"}], "provider"),
    ],
)
def test_a_wrong_fallback_is_refused(fallback: list[Any], says: str) -> None:
    assert says in str(problems("agent", {**FAILING, "fallback": fallback}))


async def test_real_models_fall_back_and_every_attempt_is_in_the_ledger(tmp_path: Path) -> None:
    refusal = Reply(status=500, body={"error": {"message": "broken"}})
    with OpenAIServer(refusal) as broken, OpenAIServer("Hello.") as server:
        addresses = {"gone": "http://127.0.0.1:9/v1", "broken": broken.url, "well": server.url}
        first, *others = (
            {"provider": "openai", "name": name, "base_url": address, "attempts": 1}
            for name, address in addresses.items()
        )

        async with Engine(tmp_path / "s.db") as engine:
            graph = graph_of("agent", {**first, "fallback": others})
            session = await engine.start(graph, "x")
            result, ledger = await session.result(), session.ledger()
        keys = [*broken.header("Idempotency-Key"), *server.header("Idempotency-Key")]
    assert (result.status, result.output) == ("completed", "Hello.")
    assert [row.model for row in ledger] == ["gone", "broken", "well"]
    assert len({*keys}) == 2
