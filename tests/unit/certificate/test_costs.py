"""Worst cases: calls with retries, tokens under budgets, and what cannot be bounded."""

from __future__ import annotations

from typing import Any

import rondel
from rondel import Graph
from rondel.certificate import certify
from tests.unit.certificate.graphs import body, certificate, edge, node, only_loop, says

USAGE = {"input_tokens": 100, "output_tokens": 20}


def writing(rounds: int = 5, writer: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    writer = writer or says("Writer", {"content": "draft", "usage": USAGE})
    edges = [edge("Writer", "Writer"), edge("Writer", "Final", label="limit")]
    contract = {"max_rounds": rounds, **more.pop("contract", {})}
    return body([writer, node("Final")], edges, loops={"Writer": contract}, **more)


def test_tokens_of_a_script_are_known() -> None:
    loop = only_loop(writing())
    assert (loop.cost.steps, loop.cost.calls, loop.cost.tokens) == (5, 5, 600)


def test_retries_count_as_calls() -> None:
    writer = says("Writer", {"content": "draft", "usage": USAGE}, retry={"max_attempts": 3})
    cost = certificate(writing(writer=writer)).cost
    assert (cost.steps, cost.calls, cost.tokens) == (6, 15, 1800)


def test_a_budget_may_be_overrun_by_the_call_in_flight() -> None:
    assert only_loop(writing(contract={"budget": {"tokens": 300}})).cost.tokens == 420
    assert only_loop(writing(contract={"budget": {"tokens": 9000}})).cost.tokens == 600


def test_the_limits_of_the_run_bound_all_loops() -> None:
    whole = certificate(writing(limits={"tokens": 200, "max_steps": 3}))
    assert (whole.cost.steps, whole.cost.calls, whole.cost.tokens) == (3, 3, 320)
    (loop,) = whole.loops
    assert (loop.bound.rounds, loop.rounds) == (5, 4)  # the fourth has no step any more
    assert (loop.cost.steps, loop.cost.tokens) == (3, 320)


def test_a_call_of_unknown_size_leaves_the_sum_unbounded_also_under_a_budget() -> None:
    """A budget is overrun by the call in flight, so it alone is no bound."""
    graph = writing(writer=node("Writer", "agent", role="You write."))
    cost = certificate(graph).cost
    assert (cost.calls, cost.tokens, cost.usd) == (5, None, None)
    budgeted = {**graph, "limits": {"tokens": 10, "usd": 2.5}}
    cost = certificate(budgeted).cost
    assert (cost.tokens, cost.usd) == (None, None)
    spent = rondel.run(Graph.from_document({"graph": budgeted}), "a task").usage.tokens
    assert spent > 10


def test_a_listed_model_reads_and_writes_no_more_than_its_context() -> None:
    config = {"provider": "openai", "name": "gpt-4o", "params": {"max_tokens": 1000}}
    writer = {"id": "Writer", "type": "agent", "config": config}
    cost = certificate(writing(2, writer)).cost
    assert (cost.calls, cost.tokens) == (2 * 4, 2 * 4 * 128_000)  # each in up to four attempts
    assert cost.usd is not None
    assert 0 < cost.usd < 2 * 4 * 0.4
    tried_again = certificate(writing(2, {**writer, "retry": {"max_attempts": 3}})).cost
    assert tried_again.calls == 2 * 4 * 3, "attempts of the provider in each attempt of the node"


def test_tools_and_a_schema_take_further_calls() -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    writer = says("Writer", "draft")
    writer["config"]["output_schema"] = schema
    assert only_loop(writing(writer=writer)).cost.calls == 10


def test_a_vote_asks_everybody_and_a_debate_every_turn() -> None:
    script = {"provider": "scripted", "answers": ["yes"]}
    voters = {"agents": {"a": script, "b": script}}
    pairs = {"agent_pairs": [["a", "b"], ["b", "a"]], "max_rounds": 4}
    nodes = [node("V", "vote", **voters), node("D", "debate", **voters, **pairs)]
    assert certificate(body(nodes, [edge("V", "D")])).cost.calls == 2 * 2 + 2 * 4


def test_a_loop_in_an_inner_graph_counts_in_the_one_around_its_node() -> None:
    inner = writing(3)
    inner.pop("breaker")
    nodes = [node("Head"), node("S", "subgraph", graph=inner), node("End")]
    edges = [edge("Head", "S"), edge("S", "Head"), edge("S", "End", label="limit")]
    whole = certificate(body(nodes, edges, loops={"Head": {"max_rounds": 4}}))
    outer, loop = whole.loops
    assert (loop.head, loop.parent, loop.rounds) == ("S/Writer", "Head", 12)
    assert loop.nodes == ("S/Writer",)
    assert outer.cost.steps == 4 * (2 + 3 + 1)
    assert (whole.cost.calls, whole.cost.tokens) == (12, 1440)


def test_a_loop_entered_at_either_of_two_nodes_costs_what_the_dearer_way_does() -> None:
    graph = Graph("two", start="s", end="e")
    for name in "sabe":
        graph.add(name, "passthrough")
    for source, target in ("sa", "sb", "ab", "ba"):
        graph.edge(source, target)
    graph.edge("b", "e", label="limit")
    graph.loop("a", max_rounds=3)
    graph.loop("b", max_rounds=5)
    whole = certify(graph.plan())
    assert [(loop.head, loop.bound.rounds) for loop in whole.loops] == [("a", 3), ("b", 5)]
    assert whole.cost.steps == 1 + 5 * 2 + 1


def test_a_node_that_is_fanned_out_makes_any_number_of_steps_and_calls() -> None:
    nodes = [says("List", "a\nb"), says("Work", "done"), node("End")]
    fan = {"type": "map", "split": {"type": "regex", "config": {"pattern": ".+"}}}
    graph = body(nodes, [edge("List", "Work", dynamic=fan), edge("Work", "End")])
    cost = certificate(graph).cost
    assert (cost.steps, cost.calls) == (10_000, None)
    graph["nodes"][1] = node("Work")
    assert certificate(graph).cost.calls == 1


def test_a_node_type_that_promises_nothing_is_not_bounded() -> None:
    class Own:
        async def process(self, ctx: Any) -> Any: ...

    graph = Graph("own")
    graph.add("a", Own())
    assert certify(graph.plan()).cost.calls is None
