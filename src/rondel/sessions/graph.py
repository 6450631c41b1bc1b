"""Graphs as their authors hold them: loaded from a file, or written in Python."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from rondel.engine.protocols import Middleware, Processor
from rondel.engine.registry import Registry
from rondel.errors import GraphError, Problem
from rondel.graph.compile import collector_held, compile_graph
from rondel.graph.load import Loaded, Revise, from_document, loads, read
from rondel.graph.names import Vocabulary
from rondel.graph.plan import Plan
from rondel.graph.schema import ENVELOPE
from rondel.graph.secrets import Stored
from rondel.graph.spec import GraphSpec
from rondel.nodes.calling import function_processor
from rondel.sessions.authored import Functions
from rondel.sessions.changes import body_of, change_body, structure_in
from rondel.sessions.registry import (
    FUNCTION,
    AuthoredNames,
    LenientVariables,
    ReadingNames,
    default_registry,
)

if TYPE_CHECKING:
    from typing import Unpack

    from rondel.engine.shell.binding import Binding
    from rondel.sessions import fields as given


Function = TypeVar("Function", bound=Callable[..., Any])


class Graph:
    """Nodes and directed edges, cycles allowed."""

    def __init__(
        self,
        id: str,
        *,
        description: str = "",
        start: str | list[str] | None = None,
        end: str | list[str] | None = None,
        registry: Registry | None = None,
    ) -> None:
        self._registry = registry or default_registry()
        body: dict[str, Any] = {"id": id, "nodes": [], "edges": [], "loops": {}, "limits": {}}
        for key, value in (("description", description), ("start", start), ("end", end)):
            if value:
                body[key] = value
        self._document: dict[str, Any] = {"version": 1, "graph": body}
        self._functions = Functions()
        self._authored = True
        """Whether it was written in Python from the start."""
        self._included: dict[str, Any] | None = None
        self._loaded: Loaded | None = None
        self._plan: Plan | None = None
        self._stored: Stored | None = None
        self._environ: Mapping[str, str] | None = None
        """What its variables come from; None is the environment of the process."""
        self._revise: Revise | None = None
        """What changes the documents of files that it names."""
        self._as_stored = False
        """Whether a stored session has this graph: rules that came later do not apply to it."""

    def __repr__(self) -> str:
        return f"<Graph {self.id}>"

    # Files

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        compat: str | None = None,
        registry: Registry | None = None,
        demand_secrets: bool = True,
        within: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Graph:
        """The graph of a YAML or JSON file; raises GraphError with all that is wrong.

        `compat` names the system whose format it is in: chatdev or council. Without
        `demand_secrets`, keys and addresses may be variables that are not set: enough to look at
        the graph, not to run it. With `within`, it can name no file outside that folder. With
        `environ`, its variables come from there and not from the environment and `.env`.
        """
        return load_text(
            read(Path(path)),
            str(Path(path)),
            compat=compat,
            registry=registry,
            demand_secrets=demand_secrets,
            within=within,
            environ=environ,
        )

    @classmethod
    def loads(
        cls,
        text: str,
        *,
        file: str = "",
        compat: str | None = None,
        registry: Registry | None = None,
        demand_secrets: bool = True,
        within: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Graph:
        """The graph of a YAML or JSON text."""
        return load_text(
            text,
            file,
            compat=compat,
            registry=registry,
            demand_secrets=demand_secrets,
            within=within,
            environ=environ,
        )

    @classmethod
    @collector_held()
    def from_document(
        cls,
        document: dict[str, Any],
        *,
        directory: str | os.PathLike[str] | None = None,
        includes: Mapping[str, Any] | None = None,
        registry: Registry | None = None,
    ) -> Graph:
        """The graph of a document that is parsed already.

        Files it names are in `directory`, or have been read already into `includes`.
        """
        known = registry or default_registry()
        loaded = from_document(document, known, directory, includes=includes)
        return cls._from_loaded(loaded, known)

    @classmethod
    def outline(
        cls,
        document: dict[str, Any],
        includes: Mapping[str, Any] | None = None,
        *,
        registry: Registry | None = None,
    ) -> Graph:
        """The structure of a stored graph, to read its sessions with.

        Functions, providers, plug-ins and the variables of the environment may be missing.
        """
        known = registry or default_registry()
        graph = cls("", registry=known)
        graph._document = document
        graph._as_stored = True
        environ = LenientVariables(os.environ)
        words = ReadingNames(known, document, includes or {})
        graph._loaded = from_document(
            graph._with_start(), words, includes=includes, environ=environ
        )
        return graph

    @classmethod
    def _from_loaded(
        cls,
        loaded: Loaded,
        registry: Registry,
        environ: Mapping[str, str] | None = None,
        *,
        as_stored: bool = False,
    ) -> Graph:
        graph = cls(loaded.spec.id, registry=registry)
        graph._environ = environ
        graph._as_stored = as_stored
        graph._document = _enveloped(loaded)
        graph._loaded = loaded
        graph._authored = False
        graph.plan()
        return graph

    # Writing in Python

    @overload
    def node(self, function: Function, /) -> Function: ...
    @overload
    def node(
        self, /, *, id: str = "", blocking: bool = False, **fields: Unpack[given.NodeFields]
    ) -> Callable[[Function], Function]: ...
    def node(
        self,
        function: Any = None,
        /,
        *,
        id: str = "",
        blocking: bool = False,
        **fields: Unpack[given.NodeFields],
    ) -> Any:
        """Make a function a node; the node's id is the function's name unless one is given."""

        def decorate(decorated: Function) -> Function:
            name = id or decorated.__name__
            processor = function_processor(decorated, blocking=blocking)
            self.add(name, processor, **fields)
            self._functions.code[f"node {name}"] = decorated
            return decorated

        return decorate if function is None else decorate(function)

    def add(
        self, id: str, type: str | Processor, config: Any = None, **fields: Unpack[given.NodeFields]
    ) -> None:
        """Add a node of a built-in or registered type, or one run by a processor of your own."""
        if isinstance(type, str):
            node = {"id": id, "type": type, "config": config or {}, **fields}
        else:
            self._functions.processors[id] = type
            self._functions.code[f"node {id}"] = type
            node = {"id": id, "type": FUNCTION, "config": {"name": id}, **fields}
        self._body.setdefault("nodes", []).append(node)
        self._changed()

    def edge(
        self,
        source: given.NodeId,
        target: given.NodeId,
        when: given.When = None,
        **fields: Unpack[given.EdgeFields],
    ) -> None:
        """Add an edge from one node to another; `when` is an expression or a function.

        A node is named by its id, or by the function that it was made of.
        `process` may be a function of a message, which returns the changed message.
        """
        source, target = self._functions.id_of(source), self._functions.id_of(target)
        edge: dict[str, Any] = {"from": source, "to": target, **fields}
        edges = self._body.setdefault("edges", [])
        between = f"{source} -> {target} (edge {len(edges) + 1})"
        process = fields.get("process")
        if callable(process):
            edge["process"] = self._functions.process(f"process {len(edges)}", process)
            self._functions.code[f"process {between}"] = fields["process"]
        if callable(when):
            edge["condition"] = self._functions.condition(f"when {len(edges)}", when)
            self._functions.code[f"condition {between}"] = when
        elif isinstance(when, str):
            edge["condition"] = {"type": "expr", "config": {"expr": when}}
        elif when is not None:
            edge["condition"] = when
        edges.append(edge)
        self._changed()

    def loop(self, head: given.NodeId, **contract: Unpack[given.LoopFields]) -> None:
        """Give the loop headed by a node its contract."""
        self._body.setdefault("loops", {})[self._functions.id_of(head)] = contract
        self._changed()

    def limits(self, **limits: Unpack[given.LimitFields]) -> None:
        """Bound the whole run."""
        self._body.setdefault("limits", {}).update(limits)
        self._changed()

    def prices(self, prices: Mapping[str, Mapping[str, float]], /) -> None:
        """Say what models cost per million tokens: `{"mine": {"input": 0.5, "output": 1.5}}`."""
        self._document["prices"] = {model: dict(price) for model, price in prices.items()}
        self._changed()

    def breaker(self, switch: bool = True, /, **settings: Unpack[given.BreakerFields]) -> None:
        """Say when the circuit breaker trips, or switch it off with False."""
        self._body["breaker"] = settings if switch else "off"
        self._changed()

    def memory(self, **section: Unpack[given.MemoryFields]) -> None:
        """Say what working memory takes and keeps, and which nodes promote to it."""
        self._body.setdefault("memory", {}).update(section)
        self._changed()

    # Using it

    @property
    def id(self) -> str:
        """The graph's name."""
        return self._loaded.spec.id if self._loaded is not None else str(self._body["id"])

    @property
    def registry(self) -> Registry:
        """The registry in which its names were looked up."""
        return self._registry

    @property
    def document(self) -> dict[str, Any]:
        """The graph as a document: as written, with variables unreplaced."""
        return self._document

    @property
    def includes(self) -> dict[str, Any]:
        """The documents of the files that the graph names."""
        return dict(self._load().includes)

    @property
    def environment(self) -> Mapping[str, str]:
        """What it took from the environment, by the variable's name."""
        return self._load().environment

    @property
    def stored(self) -> Stored:
        """The graph as a session stores it, without its secrets."""
        if self._stored is None:
            self._stored = Stored.of(self._document, self.includes)
        return self._stored

    @classmethod
    @collector_held()
    def from_stored(
        cls,
        stored: Stored,
        *,
        registry: Registry | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Graph:
        """The graph that a session keeps, with its secrets as far as they are known."""
        document, includes = stored.unsealed()
        known = registry or default_registry()
        loaded = from_document(document, known, includes=includes, environ=environ)
        return cls._from_loaded(loaded, known, environ, as_stored=True)

    @property
    def is_python(self) -> bool:
        """Whether parts of it are Python functions, which no document can hold."""
        return bool(self._functions)

    @property
    def code(self) -> Mapping[str, Any]:
        """The functions and processors that its author gave it, by their place in it."""
        return self._functions.code

    def with_changes(self, changes: dict[str, Any]) -> Graph:
        """A copy of the graph with other settings: `{"nodes.Writer.config.role": "strict"}`."""
        document = copy.deepcopy(self._document)
        for path, value in changes.items():
            change_body(body_of(document), path, value)
        return self.with_document(document, self.includes)

    def has_structure_of(self, document: dict[str, Any]) -> bool:
        """Whether a document differs from this graph's at most in what a fork may change."""
        return structure_in(document) == structure_in(self._document)

    def with_stored(self, document: dict[str, Any], includes: dict[str, Any]) -> Graph:
        """This graph's functions and secrets under the document that a session keeps."""
        stored = Stored(document, includes, self.stored.secrets)
        return self.with_document(*stored.unsealed())

    def with_document(self, document: dict[str, Any], includes: Mapping[str, Any]) -> Graph:
        """This graph's functions under another document of the same structure."""
        graph = Graph(self.id, registry=self._registry)
        graph._document = document
        graph._functions = self._functions
        graph._environ = self._environ
        graph._included = dict(includes)
        graph._as_stored = True
        graph.plan()
        return graph

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The warnings about the graph; they do not keep it from running."""
        return self._load().warnings

    @property
    def spec(self) -> GraphSpec:
        """The graph as the engine takes it."""
        spec = self._load().spec
        return self._functions.completed(spec, self._registry) if self._functions else spec

    def plan(self) -> Plan:
        """The compiled graph; compiled once."""
        if self._plan is None:
            with collector_held():
                plan = compile_graph(self.spec)
                if not self._as_stored:
                    _check_prices(plan)
                self._plan = plan
        return self._plan

    def bind(
        self, registry: Registry | None = None, middleware: tuple[Middleware, ...] = ()
    ) -> Binding:
        """The compiled graph with its processors and conditions from a registry."""
        from rondel.engine.shell.binding import Binding

        return Binding(self.plan(), registry or self._registry, middleware)

    # Inside

    @property
    def _body(self) -> dict[str, Any]:
        return body_of(self._document)

    def _changed(self) -> None:
        self._loaded = None
        self._plan = None
        self._stored = None

    def _load(self) -> Loaded:
        if self._loaded is None:
            known: Vocabulary = AuthoredNames(self._registry) if self.is_python else self._registry
            self._loaded = from_document(
                self._with_start(),
                known,
                includes=self._included,
                environ=self._environ,
                revise=self._revise,
            )
        return self._loaded

    def _with_start(self) -> dict[str, Any]:
        """If every node has an edge into it, a graph written in Python starts at its first node."""
        body = self._body
        entered = {edge.get("to") for edge in body.get("edges") or []}
        nodes = body.get("nodes") or []
        if not self._authored or body.get("start") or not nodes:
            return self._document
        if any(node.get("id") not in entered for node in nodes):
            return self._document
        return {**self._document, "graph": {**body, "start": nodes[0]["id"]}}


@collector_held()
def load_text(
    text: str | bytes,
    file: str = "",
    *,
    compat: str | None = None,
    registry: Registry | None = None,
    demand_secrets: bool = True,
    within: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    revise: Revise | None = None,
) -> Graph:
    """The graph of a text, whose documents may be revised before they are checked."""
    translate = None
    if compat is not None:
        from rondel.formats import translator

        translate = translator(compat)
    known = registry or default_registry()
    loaded = loads(
        text,
        known,
        file,
        environ=environ,
        translate=translate,
        demand_secrets=demand_secrets,
        within=within,
        revise=revise,
    )
    return Graph._from_loaded(loaded, known, environ)


def revise_graph(graph: Graph, revise: Revise) -> None:
    """Revise the documents of a graph that is written in Python, before they are checked."""
    revise(graph._document, True)
    graph._revise = revise
    graph._changed()


def _enveloped(loaded: Loaded) -> dict[str, Any]:
    """The document; one without `graph:` is put under that key, with its id."""
    document: dict[str, Any] = loaded.document
    if "graph" in document:
        return document
    body = {"id": loaded.spec.id, **document}
    envelope: dict[str, Any] = {key: body.pop(key) for key in ENVELOPE if key in body}
    return {**envelope, "graph": body}


def _check_prices(plan: Plan) -> None:
    """Refuse budgets in money over models without a price."""
    graphs = [plan.spec, *(node.spec.inner for node in plan.nodes if node.spec.inner is not None)]
    budgets = [loop.budget for graph in graphs for loop in graph.loops.values()]
    if all(budget.usd is None for budget in (plan.spec.limits.budget, *budgets)):
        return
    from rondel.certificate.cost import unpriced

    if problems := unpriced(plan):
        raise GraphError(problems)
