"""Compiling: the loop forest of any graph, without recursion and in near-linear time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel.errors import GraphError
from rondel.graph.compile import compile_graph
from rondel.graph.components import TopologicalOrder, strong_components
from rondel.graph.plan import InnerLoop, Plan, Scope
from rondel.graph.spec import EdgeSpec, GraphSpec, LimitsSpec, LoopSpec, NodeSpec
from tests.counting import calls_of

Edges = Sequence[tuple[str, str] | EdgeSpec]


def spec(
    edges: Edges,
    start: Sequence[str] = (),
    end: Sequence[str] = (),
    nodes: Sequence[str] = (),
    loops: dict[str, int] | None = None,
    **joins: str,
) -> GraphSpec:
    """A graph of nodes that do nothing, in the order their names first occur."""
    full = [edge if isinstance(edge, EdgeSpec) else EdgeSpec(*edge) for edge in edges]
    names = list(dict.fromkeys([*nodes, *(n for e in full for n in (e.source, e.target))]))
    return GraphSpec(
        id="g",
        nodes=tuple(NodeSpec(name, "t", join=joins.get(name, "any")) for name in names),  # type: ignore[arg-type]
        edges=tuple(full),
        start=tuple(start or names[:1]),
        end=tuple(end or names[-1:]),
        loops={head: LoopSpec(head, max_rounds=rounds) for head, rounds in (loops or {}).items()},
        limits=LimitsSpec(),
    )


def compiled(*args: Any, **kwargs: Any) -> Plan:
    return compile_graph(spec(*args, **kwargs))


Tree = list[Any]


def forest(plan: Plan, scope: Scope | None = None) -> Tree:
    """A scope as nested lists: names, and for every loop {head: what is in it}."""
    scope = scope or plan.root
    found: Tree = []
    for item in scope.items:
        if isinstance(item, InnerLoop):
            heads = {plan.nodes[h].name: forest(plan, item.scope(h)) for h in item.entries}
            found.append(heads)
        else:
            found.append(plan.nodes[item].name)
    return found


def levels(plan: Plan, scope: Scope | None = None) -> dict[str, int]:
    scope = scope or plan.root
    return {plan.nodes[node].name: scope.levels[item] for node, item in scope.item_of.items()}


# The forest


def test_a_chain_has_no_loops() -> None:
    assert forest(compiled([("a", "b"), ("b", "c")])) == ["a", "b", "c"]


def test_a_cycle_is_one_loop_entered_at_its_head() -> None:
    plan = compiled([("s", "a"), ("a", "b"), ("b", "a"), ("b", "e")])
    assert forest(plan) == ["s", {"a": ["a", "b"]}, "e"]


def test_a_node_with_an_edge_to_itself_is_a_loop() -> None:
    assert forest(compiled([("s", "a"), ("a", "a"), ("a", "e")])) == ["s", {"a": ["a"]}, "e"]


def test_loops_nest() -> None:
    plan = compiled([("a", "b"), ("b", "c"), ("c", "b"), ("c", "a"), ("a", "e")])
    assert forest(plan) == [{"a": ["a", {"b": ["b", "c"]}]}, "e"]


def test_a_self_edge_inside_a_loop_is_a_loop_of_its_own() -> None:
    plan = compiled([("a", "b"), ("b", "b"), ("b", "a"), ("a", "e")])
    assert forest(plan) == [{"a": ["a", {"b": ["b"]}]}, "e"]


def test_a_self_edge_of_the_head_leads_back_to_the_head() -> None:
    plan = compiled([("a", "a"), ("a", "b"), ("b", "a"), ("a", "e")])
    assert forest(plan) == [{"a": ["a", "b"]}, "e"]


def test_two_loops_that_share_their_head_are_one() -> None:
    plan = compiled([("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("a", "e")])
    assert forest(plan) == [{"a": ["a", "b", "c"]}, "e"]


def test_a_loop_with_two_doors_is_compiled_for_each() -> None:
    plan = compiled([("s", "a"), ("s", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "e")])
    assert forest(plan) == ["s", {"a": ["a", "b", "c"], "b": ["a", "b", "c"]}, "e"]


def test_what_nests_depends_on_the_door() -> None:
    """Entered at a: the edge c -> b closes an inner loop. Entered at b: c -> a does."""
    edges = [("s", "a"), ("s", "b"), ("a", "b"), ("b", "c"), ("c", "b"), ("c", "a"), ("c", "e")]
    (_, doors, _) = forest(compiled(edges))
    assert doors["a"] == ["a", {"b": ["b", "c"]}]
    assert doors["b"] == ["a", "b", "c"]


def test_a_start_node_in_the_middle_of_a_loop_is_its_head() -> None:
    plan = compiled([("a", "b"), ("b", "c"), ("c", "a"), ("c", "e")], start=["b"])
    assert forest(plan) == [{"b": ["a", "b", "c"]}, "e"]


def test_a_data_only_edge_makes_no_loop() -> None:
    plan = compiled([("a", "b"), EdgeSpec("b", "a", trigger=False), ("b", "e")])
    assert forest(plan) == ["a", "b", "e"]


def test_a_node_that_nothing_reaches_is_in_no_scope() -> None:
    plan = compiled([("a", "b"), ("x", "b"), ("x", "y"), ("y", "x")], start=["a"], end=["b"])
    assert forest(plan) == ["a", "b"]
    assert [node.name for node in plan.nodes] == ["a", "b", "x", "y"]


def test_an_unreachable_vote_makes_a_join_of_all_unattainable() -> None:
    plan = compiled([("a", "b"), ("x", "b")], start=["a"], end=["b"], b="all")
    item = plan.root.item_of[plan.nodes[1].index]
    assert plan.root.quorum[item] == 2


# Order


def test_levels_are_the_longest_way_from_the_start() -> None:
    plan = compiled([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d")])
    assert levels(plan) == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_a_loop_counts_as_one_step_on_the_way() -> None:
    plan = compiled([("s", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "e"), ("s", "e")])
    assert levels(plan) == {"s": 0, "a": 1, "b": 1, "c": 1, "e": 2}


def test_a_data_only_edge_orders_its_target_after_its_source() -> None:
    plan = compiled([("s", "a"), ("s", "b"), EdgeSpec("b", "a", trigger=False)])
    assert levels(plan) == {"s": 0, "a": 2, "b": 1}


def test_of_data_only_edges_that_close_a_cycle_the_first_in_the_file_counts() -> None:
    one, other = EdgeSpec("a", "b", trigger=False), EdgeSpec("b", "a", trigger=False)
    trunk: list[Any] = [("s", "a"), ("s", "b")]
    assert levels(compiled([*trunk, one, other])) == {"s": 0, "a": 1, "b": 2}
    assert levels(compiled([*trunk, other, one])) == {"s": 0, "a": 2, "b": 1}


def test_trigger_edges_count_before_data_only_edges_wherever_they_stand() -> None:
    late = compiled([EdgeSpec("b", "a", trigger=False), ("s", "a"), ("a", "b")], start=["s"])
    assert levels(late)["b"] > levels(late)["a"]


def test_a_data_only_edge_to_the_head_orders_nothing() -> None:
    plan = compiled([("a", "b"), ("b", "a"), EdgeSpec("b", "a", trigger=False), ("b", "e")])
    (loop,) = [item for item in plan.root.items if isinstance(item, InnerLoop)]
    scope = loop.scope(loop.entries[0])
    assert levels(plan, scope) == {"a": 0, "b": 1}


@settings(max_examples=200, deadline=None)
@given(data=st.data(), size=st.integers(1, 9))
def test_the_order_takes_an_edge_exactly_if_it_closes_no_cycle(
    data: st.DataObject, size: int
) -> None:
    vertex = st.integers(0, size - 1)
    fixed = data.draw(st.lists(st.tuples(vertex, vertex), max_size=8))
    fixed = [(min(pair), max(pair)) for pair in fixed if pair[0] != pair[1]]
    order = TopologicalOrder(size, fixed)
    edges = list(fixed)
    for source, target in data.draw(st.lists(st.tuples(vertex, vertex), max_size=12)):
        closes = source == target or _reaches(edges, target, source)
        assert order.add(source, target) is not closes
        if not closes:
            edges.append((source, target))
    found = order.levels(range(size))
    for source, target in edges:
        assert found[source] < found[target]


def _reaches(edges: list[tuple[int, int]], origin: int, goal: int) -> bool:
    seen, work = {origin}, [origin]
    while work:
        here = work.pop()
        for source, target in edges:
            if source == here and target not in seen:
                seen.add(target)
                work.append(target)
    return goal in seen


@settings(max_examples=200, deadline=None)
@given(data=st.data(), size=st.integers(0, 9))
def test_components_are_the_sets_that_reach_each_other(data: st.DataObject, size: int) -> None:
    vertex = st.integers(0, max(size - 1, 0))
    edges = data.draw(st.lists(st.tuples(vertex, vertex), max_size=20)) if size else []
    successors = [[target for source, target in edges if source == v] for v in range(size)]
    found = strong_components(size, successors)
    assert sorted(v for component in found for v in component) == list(range(size))
    place = {v: number for number, component in enumerate(found) for v in component}
    for a in range(size):
        for b in range(size):
            mutual = _reaches(edges, a, b) and _reaches(edges, b, a)
            assert (place[a] == place[b]) == (mutual or a == b)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), size=st.integers(1, 8))
def test_every_scope_is_acyclic_and_holds_its_nodes_once(data: st.DataObject, size: int) -> None:
    names = st.sampled_from([f"n{number}" for number in range(size)])
    edges = data.draw(
        st.lists(
            st.builds(EdgeSpec, names, names, trigger=st.integers(0, 4).map(bool)), max_size=20
        )
    )
    plan = compiled(edges, nodes=[f"n{number}" for number in range(size)])
    work = [plan.root]
    while work:
        scope = work.pop()
        assert sorted(scope.nodes) == sorted(scope.item_of)
        for item, targets in enumerate(scope.settles):
            assert all(scope.levels[item] < scope.levels[target] for target, _ in targets)
        for number, item in enumerate(scope.items):
            if not isinstance(item, InnerLoop):
                assert scope.item_of[item] == number
                continue
            assert len(item.nodes) < len(scope.nodes) or scope.head is None
            assert item.entries
            for head in item.entries:
                inner = item.scope(head)
                assert inner.nodes == item.nodes
                assert item.scope(head) is inner
                work.append(inner)


# Mistakes


def test_every_mistake_is_reported_at_once() -> None:
    edges = [("a", "b"), ("b", "a"), ("a", "x"), ("b", "y"), ("s", "c")]
    with pytest.raises(GraphError) as caught:
        compiled(edges, start=["a", "b", "s"], loops={"a": 2, "c": 2})
    text = str(caught.value)
    for part in ("'a' and 'b'", "label: limit", "'c' heads no loop"):
        assert part in text


def test_the_same_mistake_is_reported_once_though_a_loop_is_compiled_per_door() -> None:
    edges = [("s", "a"), ("s", "b"), ("a", "b"), ("b", "a"), ("a", "x"), ("b", "y")]
    with pytest.raises(GraphError) as caught:
        compiled(edges, loops={"a": 2})
    assert len(caught.value.problems) == 1


# Size


def chain(size: int) -> GraphSpec:
    return spec([(str(n), str(n + 1)) for n in range(size - 1)])


def ring(size: int) -> GraphSpec:
    return spec([*((str(n), str((n + 1) % size)) for n in range(size)), ("0", "end")])


def nested(depth: int, rounds: int | None = None) -> GraphSpec:
    """h0 -> h1 -> … -> t1 -> t0, with an edge from every t back to its h."""
    loops = {f"h{n}": rounds for n in range(depth)} if rounds else {}
    down = [(f"h{n}", f"h{n + 1}") for n in range(depth - 1)]
    up = [(f"t{n}", f"t{n - 1}") for n in range(depth - 1, 0, -1)]
    back = [(f"t{n}", f"h{n}") for n in range(depth)]
    edges = [*down, (f"h{depth - 1}", f"t{depth - 1}"), *up, *back, ("t0", "end")]
    return spec(edges, loops=loops)


def tangle(size: int) -> GraphSpec:
    """A chain with four random edges from every node: one great loop of loops."""
    choice = random.Random(size)
    more = [(str(n), str(choice.randrange(size))) for n in range(size) for _ in range(4)]
    return spec([*((str(n), str(n + 1)) for n in range(size - 1)), *more])


def wide(size: int) -> GraphSpec:
    return spec([*(("s", str(n)) for n in range(size)), *((str(n), "e") for n in range(size))])


def siblings(size: int) -> GraphSpec:
    """Many small loops one after the other."""
    steps = [(f"{n}a", f"{n}b") for n in range(size)]
    back = [(f"{n}b", f"{n}a") for n in range(size)]
    on = [(f"{n}b", f"{n + 1}a") for n in range(size - 1)]
    return spec([*steps, *back, *on, (f"{size - 1}b", "end")])


def depth_of(plan: Plan) -> int:
    depth, scope = 0, plan.root
    while True:
        groups = [item for item in scope.items if isinstance(item, InnerLoop)]
        if not groups:
            return depth
        scope = groups[0].scope(groups[0].entries[0])
        depth += 1


def test_a_chain_of_100_000_nodes_compiles() -> None:
    plan = compile_graph(chain(100_000))
    assert len(plan.root.items) == 100_000
    assert plan.root.last_level == 99_999


def test_a_ring_of_10_000_nodes_is_one_loop() -> None:
    plan = compile_graph(ring(10_000))
    (loop,) = [item for item in plan.root.items if isinstance(item, InnerLoop)]
    assert len(loop.nodes) == 10_000
    assert depth_of(plan) == 1


@pytest.mark.parametrize("depth", [1, 2, 50, 200])
def test_loops_nest_to_any_depth(depth: int) -> None:
    assert depth_of(compile_graph(nested(depth))) == depth


def test_a_tangle_of_2_000_nodes_compiles() -> None:
    plan = compile_graph(tangle(2_000))
    assert max(len(i.nodes) for i in plan.root.items if isinstance(i, InnerLoop)) > 1_000


def measured(make: Callable[[int], GraphSpec], size: int) -> int:
    graph = make(size)
    return calls_of(lambda: compile_graph(graph))


@pytest.mark.parametrize(
    ("make", "size"),
    [(chain, 4_000), (ring, 3_000), (nested, 60), (tangle, 400), (wide, 2_000), (siblings, 1_000)],
)
def test_twice_the_size_is_less_than_four_times_the_work(
    make: Callable[[int], GraphSpec], size: int
) -> None:
    assert measured(make, 2 * size) < 4 * measured(make, size)


def test_loops_nested_200_deep_take_contracts() -> None:
    plan = compile_graph(nested(200, rounds=3))
    depths = []
    scope = plan.root
    for number in range(200):
        (group,) = [item for item in scope.items if isinstance(item, InnerLoop)]
        scope = group.scope(group.entries[0])
        depths.append((scope.name, scope.max_rounds) == (f"h{number}", 3))
    assert all(depths)


def test_a_loop_with_many_doors_takes_contracts_on_the_loops_inside_it() -> None:
    ring = [(f"r{n}", f"r{(n + 1) % 300}") for n in range(300)]
    inner = [("r14", "r10"), ("r12", "r11")]
    doors = [("gate", f"r{n}") for n in range(20, 300)]
    compiled([*ring, *inner, *doors], start=["gate"], end=["r0"], loops={"r11": 3})


def test_a_contract_without_a_clear_way_out_is_found_however_deep_it_is() -> None:
    deep = nested(60)
    edges = [*deep.edges, EdgeSpec("h59", "end")]
    with pytest.raises(GraphError, match="label: limit"):
        compiled(edges, start=["h0"], end=["end"], loops={"h59": 3})


def test_a_complete_graph_compiles_in_time_that_its_edges_explain() -> None:
    """Every node is a door to every loop: compiled for all of them, it would take for ever."""

    def complete(size: int) -> GraphSpec:
        edges = [(str(a), str(b)) for a in range(size) for b in range(size) if a != b]
        return spec([*edges, ("0", "end")])

    assert measured(complete, 60) < 6 * max(measured(complete, 30), 0.01)
