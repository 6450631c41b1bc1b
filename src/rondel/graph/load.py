"""Loads graph files; reports all that is wrong with them at once, each problem with its place."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from rondel.errors import GraphError, Problem
from rondel.graph import schema
from rondel.graph.names import Vocabulary
from rondel.graph.positions import MAX_BYTES, Parsed, parse
from rondel.graph.secrets import may_be_unset
from rondel.graph.sentences import validate
from rondel.graph.source import Path, Positions, Report, Source, by_place, once_each, value_at
from rondel.graph.spec import GraphSpec
from rondel.graph.spec_builder import CachedVocabulary, SpecBuilder
from rondel.graph.variables import Spared, fill

MAX_NESTING = 20

Translate = Callable[[Parsed, str], Parsed]
"""Translates a document of another format; its second argument is the file's name."""

Revise = Callable[[dict[str, Any], bool], None]
"""Changes a document before it is checked; the second argument says whether it is the outermost."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A graph, its warnings, and the documents it was made from.

    `document` and `includes` are as written, with variables unreplaced: they hold no secret and
    `from_document` makes the same graph of them again. `environment` is what they took from the
    environment or `.env`, and must not be stored.
    """

    spec: GraphSpec
    warnings: tuple[Problem, ...]
    document: dict[str, Any]
    includes: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def loads(
    text: str | bytes,
    vocabulary: Vocabulary,
    file: str = "",
    *,
    environ: Mapping[str, str] | None = None,
    translate: Translate | None = None,
    demand_secrets: bool = True,
    within: str | os.PathLike[str] | None = None,
    revise: Revise | None = None,
) -> Loaded:
    """The graph of a YAML or JSON text; raises GraphError with all that is wrong.

    Files that it names are beside `file`. Without `demand_secrets`, a key or an address whose
    variable is not set is a warning. With `within`, files outside that folder are not read.
    `revise` gets this document and those of the files that it names.
    """
    path = FilePath(file)
    loader = _Loader(
        CachedVocabulary(vocabulary),
        path.parent,
        environ,
        revise,
        translate=translate,
        spared=None if demand_secrets else may_be_unset,
        within=None if within is None else os.path.realpath(within),
    )
    return loader.text(text, file, path.name)


def from_document(
    document: dict[str, Any],
    vocabulary: Vocabulary,
    directory: str | os.PathLike[str] | None = None,
    *,
    includes: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    revise: Revise | None = None,
) -> Loaded:
    """The graph of plain data; documents in `includes` stand for the files of those names.

    `revise` gets the documents of other files that it names.
    """
    base = FilePath(directory or "")
    loader = _Loader(CachedVocabulary(vocabulary), base, environ, revise, given=includes or {})
    return loader.document(document, None, "", "")


def read(file: FilePath) -> bytes:
    """The text of a file; raises GraphError if it cannot be read."""
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise GraphError([Problem(f"the file {_reason(error)}", file=str(file))]) from error


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    return f"cannot be read: {error.strerror or error}"


@dataclass(slots=True)
class _Loader:
    """One load: the documents met so far, and what is wrong with them."""

    words: CachedVocabulary
    base: FilePath
    environ: Mapping[str, str] | None
    revise: Revise | None
    given: Mapping[str, Any] = field(default_factory=dict)
    """Documents that stand for the files of those names."""
    translate: Translate | None = None
    spared: Spared | None = None
    within: str | None = None
    report: Report = field(default_factory=Report)
    environment: dict[str, str] = field(default_factory=dict)
    includes: dict[str, Any] = field(default_factory=dict)
    done: dict[str, GraphSpec | None] = field(default_factory=dict)
    vars: dict[str, Any] = field(default_factory=dict)
    """The variables of the documents around the current one, if it shares them."""
    chain: list[str] = field(default_factory=list)
    nesting: int = 0

    def text(self, text: str | bytes, file: str, key: str) -> Loaded:
        """Load the outermost graph from its text."""
        return self.document(*self._parsed(text, file, outermost=True), file, key)

    def _parsed(
        self, text: str | bytes, file: str, *, outermost: bool = False
    ) -> tuple[Any, Positions]:
        """The document of a text, translated if it is in another format, and revised."""
        parsed = parse(text, file)
        self.report.problems += parsed.problems
        if self.translate is not None:
            parsed = self.translate(parsed, file)
            self.report.problems += parsed.problems
            self.report.warnings += parsed.warnings
        data = parsed.data
        if self.revise is not None and isinstance(data, dict) and not self.report.problems:
            data = json.loads(json.dumps(data))  # what aliases repeat is changed in one place only
            self.revise(data, outermost)
        return data, parsed.positions

    def document(self, raw: Any, positions: Positions | None, file: str, key: str) -> Loaded:
        """Load the outermost graph from its data."""
        self.chain.append(self._identity(key))
        spec = self._graph(self._source(raw, positions, file, key))
        if spec is None or self.report.problems:
            found = by_place(self.report.problems)
            raise GraphError(found if self.translate is None else once_each(found))
        warnings = tuple(by_place(self.report.warnings))
        return Loaded(spec, warnings, raw, self.includes, self.environment)

    def _source(self, raw: Any, positions: Positions | None, file: str, key: str) -> Source:
        """The document with its variables replaced."""
        around = self.vars if _shares_variables(raw) else None
        filled = fill(raw, self.base / posixpath.dirname(key), self.environ, self.spared, around)
        if isinstance(filled.data, dict) and isinstance(filled.data.get("vars"), dict):
            self.vars = {**(around or {}), **filled.data["vars"]}
        source = Source(raw, filled.data, file, key, positions)
        self.report.warnings += [source.told(unset) for unset in filled.spared]
        self.report.add_unknown(source.told(unknown) for unknown in filled.problems)
        self.environment |= filled.environment
        return source

    def _graph(self, source: Source) -> GraphSpec | None:
        """The graph of a whole document, or of a bare body."""
        data = source.data
        if isinstance(data, dict) and data.get("prices") is not None:
            self._read_prices(source, data["prices"])
        if isinstance(data, dict) and "nodes" in data and "graph" not in data:
            return self._bare(source)
        if not isinstance(data, dict):
            if data is source.raw:
                self.report.add(_no_document(source))
            return None
        document, complaints = validate(schema.Document, data, lambda: source.raw)
        self.report.complain(source, (), complaints)
        return self._body(source, ("graph",), document.graph if document else None)

    def _read_prices(self, source: Source, given: Any) -> None:
        """Note what the models cost; those of the outermost graph count."""
        if self.nesting:
            message = "'prices' of a graph inside another one does not count"
            hint = "set it in the outermost graph"
            self.report.warnings.append(source.problem(("prices",), message, hint))
            return
        listed: Source | None = replace(source, data=given)
        if isinstance(given, str):
            key = posixpath.normpath(posixpath.join(posixpath.dirname(source.key), given))
            listed = self._included(source, ("prices",), key)
        if listed is None:
            return
        shown = {"prices": listed.raw}
        found, complaints = validate(schema.PriceList, {"prices": listed.data}, lambda: shown)
        if isinstance(given, str):  # others are told of with the document
            inside = [replace(each, path=each.path[1:]) for each in complaints]
            self.report.complain(listed, (), inside)
        if found is not None:
            self.words.prices = {name: each.as_spec() for name, each in found.prices.items()}

    def _bare(self, source: Source) -> GraphSpec | None:
        """A file without `graph:` that begins with what belongs under it."""
        if len(self.chain) == 1:
            hint = "put it all under 'graph:', with an 'id'"
            message = "there is no 'graph:'; the whole file is taken for the graph"
            self.report.warnings.append(source.problem((), message, hint))
        data = {"id": FilePath(source.file).stem or "graph", **source.data}
        envelope = {key: data.pop(key) for key in schema.ENVELOPE if key in data}
        _, complaints = validate(schema.Envelope, envelope, lambda: source.raw)
        self.report.complain(source, (), complaints)
        return self._inline(replace(source, data=data), ())

    def _inline(self, source: Source, path: Path) -> GraphSpec | None:
        """The graph whose body is at a path."""
        data = value_at(source.data, path)
        graph, complaints = validate(schema.GraphBody, data, lambda: source.shown(path))
        self.report.complain(source, path, complaints)
        return self._body(source, path, graph)

    def _body(self, source: Source, path: Path, graph: schema.GraphBody | None) -> GraphSpec | None:
        def include(node: Path, reference: Any) -> GraphSpec | None:
            return self._include(source, node, reference)

        body = SpecBuilder(
            source, path, self.words, self.report, include, outermost=self.nesting == 0
        )
        return body.read(graph)

    def _include(self, source: Source, node: Path, reference: Any) -> GraphSpec | None:
        """The graph inside a node: `("inline", body, key)` or `("file", name)`."""
        kind, what, *rest = reference
        place = (*node, "config", *_key_path(source, node, what, rest))
        if self.nesting >= MAX_NESTING:
            message = f"graphs nest deeper than {MAX_NESTING} levels here"
            self.report.add(source.problem(place, message))
            return None
        self.nesting += 1
        try:
            if kind == "inline":
                return self._inline(source, place)
            return self._file(source, place, str(what))
        finally:
            self.nesting -= 1

    def _file(self, source: Source, place: Path, name: str) -> GraphSpec | None:
        """The graph of a file named in a node's config, loaded once however often it is named."""
        key = self._key_of(source, name)
        identity = self._identity(key)
        if identity in self.chain:
            ring = [*self.chain[self.chain.index(identity) :], identity]
            message = f"the graph contains itself: {' -> '.join(FilePath(f).name for f in ring)}"
            hint = "use a loop of edges to repeat a part"
            self.report.add(source.problem(place, message, hint))
            return None
        if identity not in self.done:
            around = self.vars
            included = self._included(source, place, key)
            if included is None:
                return None
            self.chain.append(identity)
            self.done[identity] = self._graph(included)
            self.chain.pop()
            self.vars = around
        return self.done[identity]

    def _key_of(self, source: Source, name: str) -> str:
        """Where a named file is: beside the document, in ChatDev also beside the outermost one."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(source.key), name))
        outermost = posixpath.normpath(name)
        if beside == outermost or not _shares_variables(source.raw) or self._is_there(beside):
            return beside
        return outermost if self._is_there(outermost) else beside

    def _is_there(self, key: str) -> bool:
        return key in self.given or (self.base / key).is_file()

    def _included(self, source: Source, place: Path, key: str) -> Source | None:
        """The document of an included file."""
        file = self.base / key
        if self.within is not None and not FilePath(os.path.realpath(file)).is_relative_to(
            self.within
        ):
            message = f"the file {key!r} is outside the folder of graphs"
            self.report.add(source.problem(place, message, "put it into the folder"))
            return None
        try:
            if key in self.given:
                self.includes[key], positions = self.given[key], None
            else:
                self.includes[key], positions = self._parsed(read(file), str(file))
        except GraphError as error:
            if isinstance(error.__cause__, OSError):
                message = f"the file {key!r} {_reason(error.__cause__)}"
                self.report.add(source.problem(place, message))
            else:
                self.report.problems += error.problems
            return None
        return self._source(self.includes[key], positions, str(file), key)

    def _identity(self, key: str) -> str:
        return os.path.realpath(self.base / key)


def _shares_variables(raw: Any) -> bool:
    """Whether a document shares the variables of the document around it, as in ChatDev."""
    graph = raw.get("graph") if isinstance(raw, dict) else None
    return isinstance(graph, dict) and graph.get("dialect") == "chatdev"


def _no_document(source: Source) -> Problem:
    message = "a graph file is a mapping of keys to values"
    if source.data is None:
        message = "the file is empty" if source.file else "there is nothing to load"
    return source.problem((), message, "begin with 'graph:'")


def _key_path(source: Source, node: Path, what: Any, given: list[Any]) -> Path:
    """The path in a node's config at which it refers to another graph."""
    if given:
        return (given[0],) if isinstance(given[0], str) else tuple(given[0])
    config = value_at(source.data, (*node, "config")) or {}
    nested = {key: value for key, value in config.items() if isinstance(value, dict)}
    inside = [((key, name), it) for key, inner in nested.items() for name, it in inner.items()]
    places: list[tuple[Path, Any]] = [((key,), value) for key, value in config.items()]
    return next((place for place, value in [*places, *inside] if value == what), ())
