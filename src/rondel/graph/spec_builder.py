"""Builds a GraphSpec from the body of one graph in a document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from rondel.graph import schema
from rondel.graph.components import reached
from rondel.graph.names import Names, Vocabulary
from rondel.graph.sentences import misplaced, validate
from rondel.graph.source import Path, Report, Source, path_text, value_at
from rondel.graph.spec import (
    ALWAYS,
    DIALECTS,
    OWN,
    BudgetSpec,
    Call,
    DynamicSpec,
    EdgeSpec,
    GraphSpec,
    LimitsSpec,
    LoopSpec,
    NodeSpec,
    PatienceSpec,
    PriceSpec,
    RegressionSpec,
    RetrySpec,
    ScoreSpec,
)

FUNCTION = "function"
CONTRACT, UNTIL = "contract", "until"
CONSTANT = (True, False, "true", "false")
ONCE = RetrySpec()
NODE_KEYS = schema.Node.model_fields.keys()

Include = Callable[[Path, Any], GraphSpec | None]
"""Loads the graph that a node's config refers to: the node's path, and the reference."""


class CachedVocabulary:
    """A vocabulary that looks up each name once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._names: dict[str, Names] = {}
        self._models: dict[tuple[str, str], type[BaseModel] | None] = {}
        self._referring: dict[str, bool] = {}
        self.prices: dict[str, PriceSpec] = {}
        """What the document says that models cost."""

    def names(self, kind: str) -> Names:
        """The names of a kind."""
        if kind not in self._names:
            self._names[kind] = Names(self._vocabulary.names(kind), what="there are")
        return self._names[kind]

    def model(self, kind: str, name: str) -> type[BaseModel] | None:
        """The model of a config; None if the name takes any."""
        if (kind, name) not in self._models:
            self._models[kind, name] = self._vocabulary.config_model(kind, name)
        return self._models[kind, name]

    def hint(self, kind: str, wrong: str) -> str:
        """The name somebody meant who knows it by another, or else one that looks like it."""
        for name in self._vocabulary.names(kind):
            if wrong.casefold() in getattr(self.model(kind, name), "other_names", ()):
                return f"it is called {name!r} here"
        return self.names(kind).hint(wrong)

    @property
    def context(self) -> dict[str, Any] | None:
        """What configs may need to know of the document they are in."""
        return {"prices": self.prices} if self.prices else None

    def may_refer(self, name: str) -> bool:
        """Whether nodes of a type may have a graph inside."""
        if name not in self._referring:
            self._referring[name] = hasattr(self.model("node", name), "inner_graph")
        return self._referring[name]


class SpecBuilder:
    """Checks every name in one graph body, and builds the graph if nothing is wrong."""

    def __init__(
        self,
        source: Source,
        path: Path,
        words: CachedVocabulary,
        report: Report,
        include: Include,
        *,
        outermost: bool,
    ) -> None:
        self.outermost = outermost
        self.source = source
        self.path = path
        self.words = words
        self.report = report
        self.include = include
        self.data: Any = value_at(source.data, path)
        self.nodes: list[tuple[int, dict[str, Any]]] = []
        self.ids: dict[str, int] = {}
        self.id_names = Names(())
        self.pairs: list[tuple[Any, Any]] = []
        """The edges whose ends are there."""
        self.inner: dict[int, GraphSpec] = {}
        self.calls: dict[Path, Call] = {}
        """Type and config of nodes, conditions, processes and splits that are right, by place."""

    def read(self, graph: schema.GraphBody | None) -> GraphSpec | None:
        """The graph, or None if anything is wrong; `graph` is None if the schema did not fit."""
        if isinstance(self.data, dict):
            self._check_nodes()
            self._check_edges()
            self._check_heads()
            self._check_promoted()
            start = self._check_ends("start")
            end = self._check_ends("end")
        if graph is None or self.report.problems:
            return None
        return self._build(graph, start, end)

    # What follows reads the document as it is, so that one error hides no other.

    def _items(self, key: str) -> list[tuple[int, dict[str, Any]]]:
        items = self.data.get(key)
        if not isinstance(items, list):
            return []
        return [(place, item) for place, item in enumerate(items) if isinstance(item, dict)]

    def _check_nodes(self) -> None:
        self.nodes = self._items("nodes")
        for place, node in self.nodes:
            name = node.get("id")
            if isinstance(name, str):
                self._check_unique(place, name)
            elif isinstance(name, int | float):
                self.ids.setdefault(str(name), place)
            self._check_config(place, node)
            self._check_misplaced(place, node)
        self.id_names = Names(self.ids, what="there are")

    def _check_unique(self, place: int, name: str) -> None:
        first = self.ids.setdefault(name, place)
        if first == place:
            return
        line = self.source.line((*self.path, "nodes", first, "id"))
        where = path_text((*self.path, "nodes", first)) + (f" on line {line}" if line else "")
        message = f"the id {name!r} is taken already, by {where}"
        self._problem(("nodes", place, "id"), message, "give each node an id of its own")

    def _check_config(self, place: int, node: dict[str, Any]) -> None:
        path: Path = ("nodes", place)
        self._check_call("node", path, node)
        call = self.calls.get(path)
        if call is None or not self.words.may_refer(call.type):
            return
        reference = call.config.inner_graph()
        if reference is not None:
            inner = self.include((*self.path, *path), reference)
            if inner is not None:
                self.inner[place] = inner

    def _check_misplaced(self, place: int, node: dict[str, Any]) -> None:
        """Say where a setting belongs that stands beside the config."""
        unknown = node.keys() - NODE_KEYS
        type_ = node.get("type")
        if not unknown or type_ not in self.words.names("node"):
            return
        model = self.words.model("node", str(type_))
        for key in unknown:
            hint = misplaced(model, key)
            if hint:
                self.report.advise(self.source, (*self.path, "nodes", place, key), hint)

    def _check_call(self, kind: str, path: Path, item: dict[str, Any]) -> None:
        """Take in the type and config of a node, condition, process or split."""
        name, config = item.get("type"), item.get("config")
        config = {} if config is None else config
        if not isinstance(name, str) or not isinstance(config, dict):
            return
        if name not in self.words.names(kind):
            message = f"there is no {_called(kind)} {name!r}"
            self._problem((*path, "type"), message, self.words.hint(kind, name))
            return
        model = self.words.model(kind, name)
        if model is None:
            self.calls[path] = Call(name, config)
            return
        shown, context = lambda: self._shown_config(path), self.words.context
        valid, complaints = validate(model, config, shown, context)
        if complaints:
            self.report.complain(self.source, (*self.path, *path, "config"), complaints)
        elif name == FUNCTION and kind != "node":
            self._check_function(path, config.get("name"))
        if valid is not None:
            self.calls[path] = Call(name, valid)

    def _shown_config(self, path: Path) -> Any:
        return self.source.shown((*self.path, *path, "config")) or {}

    def _check_function(self, path: Path, name: Any) -> None:
        functions = self.words.names(FUNCTION)
        if isinstance(name, str) and name not in functions:
            message = f"no function is registered as {name!r}"
            self._problem((*path, "config", "name"), message, functions.hint(name))

    def _check_edges(self) -> None:
        for place, edge in self._items("edges"):
            source, target = edge.get("from"), edge.get("to")
            has_source = self._check_id(("edges", place, "from"), source)
            if self._check_id(("edges", place, "to"), target) and has_source:
                self.pairs.append((source, target))
            if "condition" in edge:
                self._check_condition(("edges", place, "condition"), edge["condition"])
            if isinstance(edge.get("process"), dict):
                self._check_call("process", ("edges", place, "process"), edge["process"])
            if isinstance(edge.get("dynamic"), dict):
                split = edge["dynamic"].get("split")
                if split is None or isinstance(split, dict):
                    path: Path = ("edges", place, "dynamic", "split")
                    self._check_call("split", path, {"type": "message", **(split or {})})

    def _check_condition(self, path: Path, condition: Any) -> None:
        if isinstance(condition, dict):
            self._check_call("condition", path, condition)
        elif condition in CONSTANT:
            self.calls[path] = Call(str(condition).lower())

    def _check_id(self, path: Path, name: Any) -> bool:
        """Whether a node has this id; a text that is no id is a problem."""
        if not isinstance(name, str):
            return False
        if name not in self.ids and self.nodes:
            self._problem(path, f"there is no node {name!r}", self.id_names.hint(name))
        return name in self.ids

    def _check_heads(self) -> None:
        loops = self.data.get("loops")
        for head, loop in loops.items() if isinstance(loops, dict) else ():
            self._check_id(("loops", head), head)
            if isinstance(loop, dict):
                self._check_loop(("loops", head), loop)

    def _check_loop(self, path: Path, loop: dict[str, Any]) -> None:
        score, until = loop.get("score"), loop.get("until")
        if isinstance(score, dict):
            self._check_id((*path, "score", "node"), score.get("node"))
        if not isinstance(until, str):
            return
        model = self.words.model(CONTRACT, UNTIL)
        self.calls[path] = Call(UNTIL, until)
        if model is not None:
            place = (*self.path, *path)
            valid, complaints = validate(model, {UNTIL: until}, lambda: {UNTIL: until})
            self.report.complain(self.source, place, complaints)
            self.calls[path] = Call(UNTIL, valid)

    def _check_promoted(self) -> None:
        memory = self.data.get("memory")
        given = memory.get("promote") if isinstance(memory, dict) else None
        for place, name in enumerate(given if isinstance(given, list) else [given]):
            path: Path = ("memory", "promote", *([place] if isinstance(given, list) else []))
            self._check_id(path, name)
            if isinstance(name, str) and self.ids.get(name) in self.inner:
                message = f"the node {name!r} is a graph of its own"
                self._problem(path, message, "name nodes in the memory.promote of that graph")

    def _check_ends(self, key: str) -> list[str]:
        """The nodes of `start` or `end`, as given or by default."""
        given = self.data.get(key)
        if isinstance(given, str):
            self._check_id((key,), given)
            return [given]
        if isinstance(given, list) and given:
            for place, name in enumerate(given):
                self._check_id((key, place), name)
            return list(dict.fromkeys(name for name in given if isinstance(name, str)))
        return self._default_ends(key) if not given else []

    def _default_ends(self, key: str) -> list[str]:
        if key == "start":
            taken, why = {target for _, target in self.pairs}, "an edge enters every node"
        else:
            taken, why = {source for source, _ in self.pairs}, "an edge leaves every node"
        found = [name for name in self.ids if name not in taken]
        # There `end: []` asks for no output, which is an empty text then.
        yields = self.data.get(key) == [] and key == "end" and self.data.get("dialect") == "chatdev"
        if not (found or yields) and self.ids and len(self.ids) == len(self.data["nodes"]):
            way = "into it from a new node" if key == "start" else "out of it to a new node"
            hint = (
                f"name its {key} node, as in {key}: [{next(iter(self.ids))}], or lead an edge {way}"
            )
            self._problem((), f"the graph has no {key}: {why}", hint)
        return found

    def _problem(self, path: Path, message: str, hint: str) -> None:
        self.report.add(self.source.problem((*self.path, *path), message, hint))

    def _warn(self, path: Path, message: str, hint: str) -> None:
        self.report.warnings.append(self.source.problem((*self.path, *path), message, hint))

    # From here on all is well.

    def _build(self, graph: schema.GraphBody, start: list[str], end: list[str]) -> GraphSpec:
        edges = self._edges(graph.edges or [])
        self._warn_unreachable(edges, start)
        limits = graph.limits or schema.Limits()
        self._warn_of_guards(graph)
        return GraphSpec(
            id=graph.id,
            nodes=tuple(self._node(place, node) for place, node in enumerate(graph.nodes)),
            edges=edges,
            start=tuple(start),
            end=tuple(end),
            description=graph.description or "",
            loops={head: self._loop(head, loop) for head, loop in (graph.loops or {}).items()},
            limits=LimitsSpec(limits.max_steps, limits.as_spec()),
            breaker=graph.breaker_spec,
            memory=(graph.memory or schema.MemoryRules()).as_spec(),
            dialect=DIALECTS[graph.dialect] if graph.dialect else OWN,
            file=self.source.file,
        )

    def _node(self, place: int, node: schema.Node) -> NodeSpec:
        return NodeSpec(
            id=node.id,
            type=node.type,
            config=self.calls["nodes", place].config,
            description=node.description or "",
            context_window=node.context_window,
            timeout=node.timeout,
            retry=node.retry.as_spec() if node.retry else ONCE,
            on_error=node.on_error,
            join=node.join,
            breaker=node.breaker not in (False, "off"),
            inner=self.inner.get(place),
            line=self.source.line((*self.path, "nodes", place)),
        )

    def _loop(self, head: str, loop: schema.Loop) -> LoopSpec:
        patience, regression, budget = loop.patience, loop.regression, loop.budget
        return LoopSpec(
            head=head,
            max_rounds=loop.max_rounds,
            exit=loop.exit,
            target=loop.exit_on_score,
            score=_score_spec(loop.score),
            until=self.calls.get(("loops", head)),
            patience=PatienceSpec(patience.rounds, patience.min_delta, loop.on_stagnation)
            if patience
            else None,
            regression=RegressionSpec(regression.drop, regression.action) if regression else None,
            budget=budget.as_spec() if budget else BudgetSpec(),
            on_limit="ask" if loop.on_limit == "human" else loop.on_limit,
            carry=_carried(loop.carry),
            debug=loop.debug,
            line=self.source.line((*self.path, "loops", head)),
        )

    def _edges(self, edges: list[schema.Edge]) -> tuple[EdgeSpec, ...]:
        """The edges in file order, each once."""
        times = Counter([(edge.source, edge.target) for edge in edges])
        seen: dict[str, int] = {}
        kept: list[EdgeSpec] = []
        for place, edge in enumerate(edges):
            if times[edge.source, edge.target] > 1:
                fields = json.dumps(edge.model_dump(), sort_keys=True, default=repr)
                first = seen.setdefault(fields, place)
                if first != place:
                    self._warn_repeated(place, first, edge)
                    continue
            kept.append(self._edge(place, edge))
        return tuple(kept)

    def _edge(self, place: int, edge: schema.Edge) -> EdgeSpec:
        return EdgeSpec(
            source=edge.source,
            target=edge.target,
            label=edge.label or "",
            condition=self.calls.get(("edges", place, "condition"), ALWAYS),
            trigger=edge.trigger,
            carry_data=edge.carry_data,
            keep_message=edge.keep_message,
            clear_context=edge.clear_context,
            clear_kept_context=edge.clear_kept_context,
            process=self.calls.get(("edges", place, "process")),
            dynamic=self._dynamic(place, edge.dynamic),
            line=self.source.line((*self.path, "edges", place)),
        )

    def _dynamic(self, place: int, dynamic: schema.Dynamic | None) -> DynamicSpec | None:
        if dynamic is None:
            return None
        config = dynamic.config or schema.DynamicConfig()
        sizes = config.max_parallel, config.group_size
        return DynamicSpec(dynamic.type, self.calls["edges", place, "dynamic", "split"], *sizes)

    def _warn_of_guards(self, graph: schema.GraphBody) -> None:
        if self.outermost and graph.breaker_spec is None:
            hint = "leave it on unless something else watches the run"
            self._warn(("breaker",), "the circuit breaker is off", hint)
        if self.outermost:
            return
        for key, given in (("limits", graph.limits), ("breaker", graph.breaker)):
            if given is not None:
                message = f"{key!r} of a graph inside another one does not count"
                self._warn((key,), message, "set it in the outermost graph")

    def _warn_repeated(self, place: int, first: int, edge: schema.Edge) -> None:
        other = path_text((*self.path, "edges", first))
        message = (
            f"the edge from {edge.source!r} to {edge.target!r} repeats {other}; it counts once"
        )
        self._warn(("edges", place), message, "remove it, or make the two differ")

    def _warn_unreachable(self, edges: tuple[EdgeSpec, ...], start: list[str]) -> None:
        after: dict[str, list[str]] = {name: [] for name in self.ids}
        for edge in edges:
            if edge.trigger:
                after[edge.source].append(edge.target)
        reachable = reached(start, after.__getitem__)
        for name in [name for name in self.ids if name not in reachable]:
            message = f"nothing can reach the node {name!r} from the start"
            hint = "lead an edge to it, name it in 'start', or remove it"
            self._warn(("nodes", self.ids[name]), message, hint)


def _score_spec(score: str | schema.ScorePlace) -> ScoreSpec:
    place = score if isinstance(score, schema.ScorePlace) else schema.ScorePlace(path=score)
    return ScoreSpec(tuple(place.path.removeprefix("data.").split(".")), place.node)


def _carried(carry: str | schema.Window) -> int | None:
    if isinstance(carry, schema.Window):
        return carry.window
    return 1 if carry == "last" else None


def _called(kind: str) -> str:
    return "node type" if kind == "node" else kind
