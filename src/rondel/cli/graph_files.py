"""A graph file as the command line opens it: YAML, JSON or Python, changed before it is checked."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path as FilePath
from typing import Any, cast

from rondel.cli.arguments import in_document
from rondel.errors import CallError, GraphError, Problem, RondelError
from rondel.graph.load import Revise, read
from rondel.graph.names import Names
from rondel.graph.source import Path, path_text
from rondel.sessions.agents import check_provider, replace_in_document
from rondel.sessions.graph import Graph, load_text, revise_graph

Change = tuple[Path, Any]

KINDS = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false"}


def open_graph(
    file: str,
    changes: Sequence[Change] = (),
    provider: str | None = None,
    compat: str | None = None,
    *,
    demand_secrets: bool = True,
) -> Graph:
    """The graph of a file, as it can run; raises GraphError or CallError with all that is wrong.

    `compat` names the system whose format the file is in; `demand_secrets` is Graph.load's.
    """
    if provider is not None:
        check_provider(provider, "--provider: ")
    path, revise = FilePath(file), _revision(changes, provider)
    if path.suffix == ".py":
        return _python_graph(file, revise)
    try:
        return load_text(
            read(path), str(path), compat=compat, demand_secrets=demand_secrets, revise=revise
        )
    except GraphError:
        foreign = None if compat else _foreign_problem(file)
        if foreign is None:
            raise
        raise GraphError([foreign]) from None


def in_file(problems: Iterable[Problem], file: str) -> list[Problem]:
    """The problems of a graph with its file; one written in Python does not know it."""
    return [each if each.file else replace(each, file=file) for each in problems]


def write_new(file: str, text: str, *, force: bool) -> None:
    """Write a graph's file, over one that exists only with `force`."""
    try:
        with FilePath(file).open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        message = f"{file} exists already; use --force to overwrite it, or another -o FILE"
        raise CallError(message) from None
    except OSError as error:
        raise CallError(f"{file} cannot be written: {error.strerror}") from error


def _foreign_problem(file: str) -> Problem | None:
    """A problem with a remedy, if the file is one of another system."""
    from rondel.formats import TITLES, recognised

    compat = recognised(file)
    if compat is None:
        return None
    remedy = f"add --compat {compat}, or translate it: rondel import {file} --from {compat}"
    return Problem(f"this is a graph of {TITLES[compat]}", hint=remedy, file=file)


def _revision(changes: Sequence[Change], provider: str | None) -> Revise | None:
    """What makes the changes in a document, and puts all agents on another provider."""
    if not changes and provider is None:
        return None

    def revise(document: dict[str, Any], outermost: bool) -> None:
        for path, value in changes if outermost else ():
            _set(document, in_document(path, document), value)
        if provider is not None:
            replace_in_document(document, provider)

    return revise


# --set


def _set(document: Any, path: Path, value: Any) -> None:
    """Put a value at a path; mappings that are missing on the way come into being."""
    place = document
    for depth, step in enumerate(path[:-1]):
        key = _key(place, step, path[: depth + 1])
        if isinstance(place, dict) and place.get(key) is None:
            place[key] = {}
        place = place[key]
    place[_key(place, path[-1], path)] = value


def _key(place: Any, step: str | int, path: Path) -> Any:
    """The key or index that a step means; in a list of nodes it may be a node's id."""
    whole = path_text(path)
    if isinstance(place, dict):
        return str(step)
    if not isinstance(place, list):
        kind = KINDS.get(type(place), "a number")
        raise CallError(f"--set {whole}: {path_text(path[:-1])} is {kind}; nothing is inside it")
    ids = {item["id"]: number for number, item in enumerate(place) if _has_id(item)}
    if step in ids:
        return ids[str(step)]
    if str(step).isdecimal() and int(step) < len(place):
        return int(step)
    if ids and not str(step).isdecimal():
        hint = Names(ids, what="there are").hint(str(step))
        raise CallError(f"--set {whole}: there is no node {step!r}; {hint}")
    raise CallError(f"--set {whole}: there are {len(place)} items; count them from 0")


def _has_id(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("id"), str)


# Python


def _python_graph(file: str, revise: Revise | None) -> Graph:
    graph = _graph_in(file)
    if revise is not None:
        revise_graph(graph, revise)
    try:
        graph.plan()
    except GraphError as error:
        raise GraphError(in_file(error.problems, file)) from None
    return graph


def _graph_in(file: str) -> Graph:
    """The graph of a Python file: its `graph`, or the only one in it."""
    path = FilePath(file)
    if not path.is_file():
        raise GraphError([Problem("the file does not exist", file=file)])
    names = _executed(path, file)
    if isinstance(names.get("graph"), Graph):
        return cast(Graph, names["graph"])
    graphs = list(
        {id(value): value for value in names.values() if isinstance(value, Graph)}.values()
    )
    if len(graphs) == 1:
        return graphs[0]
    message = f"there are {len(graphs)} graphs in it" if graphs else "there is no Graph in it"
    raise GraphError([Problem(message, hint="name the one to use: graph = ...", file=file)])


def _executed(path: FilePath, file: str) -> dict[str, Any]:
    """The names that a Python file defines; as with `python FILE`, it can import its neighbours."""
    name = f"rondel_file_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise GraphError([Problem("the file is not Python", file=file)])
    module = module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except GraphError:
        raise
    except Exception as error:  # whatever the author's code raises
        raise GraphError([_python_problem(error, path, file)]) from error
    return vars(module)


def _python_problem(error: Exception, path: FilePath, file: str) -> Problem:
    if isinstance(error, SyntaxError):
        return Problem(f"SyntaxError: {error.msg}", file=file, line=error.lineno)
    frames = traceback.extract_tb(error.__traceback__)
    here = [frame.lineno for frame in frames if FilePath(frame.filename) == path.absolute()]
    line = here[-1] if here else None
    told = str(error) if isinstance(error, RondelError) else f"{type(error).__name__}: {error}"
    return Problem(told, file=file, line=line)
