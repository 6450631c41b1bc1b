"""Files that a graph or a workflow refers to: graphs, documents to search, skills to follow.

Those of a workflow are read when it is translated, and are part of the graph then.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

LARGEST = 1_000_000
"""The most characters of all documents of one memory."""

SKILL = "SKILL.md"
SKILLS = ("skills", ".agents/skills")

_reads: ContextVar[bool] = ContextVar("_reads", default=True)


class Unreadable(Exception):
    """An error of a referenced file, with a remedy."""


@contextmanager
def nothing_beside() -> Iterator[None]:
    """Read no files inside this context: the sender of a workflow may not see those of this
    machine."""
    token = _reads.set(False)
    try:
        yield
    finally:
        _reads.reset(token)


def _roots(file: str) -> list[Path]:
    """The folders of relative names: the current one, the workflow's, and its parent."""
    if not _reads.get():
        raise Unreadable("files of this machine are not read here; run it on the command line")
    folder = Path(file).resolve().parent if file else Path.cwd()
    return list(dict.fromkeys([Path.cwd(), folder, folder.parent]))


def documents(file: str, source: dict[str, Any]) -> list[dict[str, str]]:
    """The documents of a file, or of all files of a folder that have one of these endings."""
    name = source.get("path")
    if not isinstance(name, str) or not name.strip():
        raise Unreadable("the source has no path; add: path: FOLDER")
    roots = _roots(file)
    tried = [Path(root, name).expanduser() for root in roots]
    place = next((path for path in tried if _exists(path)), None)
    if place is None:
        raise Unreadable(f"there is no {name!r} in {', '.join(map(str, roots))}")
    given, encoding = source.get("file_types"), source.get("encoding")
    endings = given if isinstance(given, list) else None if given is None else [given]
    encoding = encoding if isinstance(encoding, str) and encoding else "utf-8"
    found: list[dict[str, str]] = []
    for path in _files(place, recursive=source.get("recursive") is not False):
        if endings is None or path.suffix in endings:
            text = _text(path, encoding)
            if text.strip():
                found.append({"name": path.name, "text": text})
    if sum(len(each["text"]) for each in found) > LARGEST:
        raise Unreadable(f"{name!r} holds more than {LARGEST:,} characters; name fewer files")
    return found


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _files(place: Path, *, recursive: bool) -> list[Path]:
    if place.is_file():
        return [place]
    paths = place.rglob("*") if recursive else place.glob("*")
    return sorted(path for path in paths if path.is_file())


def _text(path: Path, encoding: str) -> str:
    try:
        if path.stat().st_size > 4 * LARGEST:
            raise Unreadable(f"{path} is larger than {4 * LARGEST:,} bytes")
        return path.read_text(encoding, "ignore")
    except LookupError:
        raise Unreadable(f"there is no encoding {encoding!r}") from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}") from error


def skills(file: str, allowed: list[str]) -> dict[str, str]:
    """The skills by name, those allowed or all there are; Unreadable if one is missing."""
    roots = [root / place for root in _roots(file) for place in SKILLS]
    found: dict[str, str] = {}
    for root in filter(_exists, roots):
        for path in sorted(root.glob(f"*/{SKILL}")):
            if not allowed or path.parent.name in allowed:
                found.setdefault(path.parent.name, _text(path, "utf-8"))
    missing = next((name for name in allowed if name not in found), None)
    if missing is not None:
        where = ", ".join(str(root / missing / SKILL) for root in roots)
        raise Unreadable(f"there is no skill {missing!r}: looked for {where}")
    return {name: found[name] for name in allowed} if allowed else found


def inlined(document: dict[str, Any], includes: Mapping[str, Any]) -> dict[str, Any]:
    """The document with every subgraph that is a file in the place where it is named."""
    whole = {**document, "graph": _graph(document["graph"], "", includes)}
    if isinstance(prices := document.get("prices"), str):
        whole["prices"] = includes[posixpath.normpath(prices)]
    return whole


def _graph(graph: dict[str, Any], folder: str, includes: Mapping[str, Any]) -> dict[str, Any]:
    return {**graph, "nodes": [_node(node, folder, includes) for node in graph["nodes"]]}


def _node(node: dict[str, Any], folder: str, includes: Mapping[str, Any]) -> dict[str, Any]:
    if node.get("type") != "subgraph":
        return node
    config = node["config"]
    name = config.get("file")
    if config.get("type") == "file":
        name = config["config"]["path"]
    if name is None:
        inner = config.get("graph") or config["config"]
        return {**node, "config": {"graph": _graph(inner, folder, includes)}}
    key = posixpath.normpath(posixpath.join(folder, name))
    if key not in includes:  # named from the outermost file's folder
        key = posixpath.normpath(name)
    body = includes[key].get("graph", includes[key])
    inside = _graph(body, posixpath.dirname(key), includes)
    return {**node, "config": {"graph": inside}}
