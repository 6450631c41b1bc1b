"""Stored graphs: a folder of files as their authors wrote them; changes are noticed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rondel.errors import CallError, GraphChanged, GraphError, GraphExists, Problem, UnknownGraph
from rondel.graph.load import Revise
from rondel.graph.names import Names
from rondel.graph.positions import parse
from rondel.graph.variables import surroundings
from rondel.sessions.graph import Graph, load_text

SUFFIXES = (".yaml", ".yml", ".json")
INDEX = "graph"
"""The name of a file whose graph is named after its folder."""

UNSAFE = re.compile(r"[^\w.-]+")
LONGEST_NAME = 100

MARK = "@"
"""The first character of a folder that belongs to one group."""

Groups = Set[str] | None
"""The groups of a caller; None means all."""

Environ = Mapping[str, str] | None
"""What variables stand for; None is what the process's environment and `.env` say."""

Stamp = tuple[int, int]
"""The time and size of a file, which change with its content."""


@dataclass(frozen=True, slots=True)
class GraphFile:
    """One stored graph: its name here, where it is, and its text."""

    id: str
    path: Path
    name: str
    """The path inside the folder."""
    text: str
    etag: str
    """Changes with every change of the text."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class _Seen:
    stamp: Stamp
    text: str
    etag: str
    own_id: str
    """The id that the graph gives itself; empty if it cannot be read."""
    description: str
    is_graph: bool


class GraphsFolder:
    """Finds, reads and writes the graphs of a folder; nothing outside it is touched.

    A graph is named by its id. Of several with one id the first file has it, and the others are
    named by their paths; so is one that cannot be read.
    """

    def __init__(self, root: str | os.PathLike[str], environ: Environ = None) -> None:
        self.root = Path(os.path.realpath(root))
        self._environ = environ
        """What variables stand for where a caller does not say."""
        self._seen: dict[Path, _Seen] = {}
        self._graphs: dict[Path, tuple[tuple[Any, ...], Graph]] = {}

    # Reading

    def files(self, groups: Groups = None) -> dict[str, GraphFile]:
        """All stored graphs by name, as they are now, in the order of their paths.

        Files in a folder `@GROUP` are for callers of that group, and for callers of all groups.
        """
        self._look()
        found: dict[str, GraphFile] = {}
        for path in sorted(self._seen):
            seen = self._seen[path]
            name = path.relative_to(self.root).as_posix()
            if not seen.is_graph or not _is_for(name, groups):
                continue
            names = (seen.own_id, _named(name), name.replace("/", "."))
            own = next((each for each in names if each and each not in found), name)
            found[own] = GraphFile(own, path, name, seen.text, seen.etag, seen.description)
        return found

    def get(self, id: str, groups: Groups = None) -> GraphFile:
        """The stored graph of that name."""
        files = self.files(groups)
        file = files.get(id)
        if file is None:
            hint = Names(files, what="there are").hint(id) if files else "there is none yet"
            raise UnknownGraph(f"there is no graph {id!r}; {hint}")
        return file

    def load(
        self, file: GraphFile, *, demand_secrets: bool = True, environ: Environ = None
    ) -> Graph:
        """The graph of a file; read again only when it or a file that it names has changed."""
        environ = self._environ if environ is None else environ
        known = self._graphs.get(file.path)
        if known is not None:
            stamps = (self._stamps(known[1], file, environ), demand_secrets)
            if known[0] == stamps:
                return known[1]
        within = self._room_of(file.name)
        graph = Graph.load(file.path, demand_secrets=demand_secrets, within=within, environ=environ)
        stamps = (self._stamps(graph, file, environ), demand_secrets)
        self._graphs[file.path] = (stamps, graph)
        return graph

    def loads(
        self,
        text: str,
        name: str = "",
        *,
        demand_secrets: bool = True,
        environ: Environ = None,
        revise: Revise | None = None,
    ) -> Graph:
        """The graph of a text, as if it were in the folder under that name."""
        return load_text(
            text,
            str(self.root / (name or "graph.yaml")),
            demand_secrets=demand_secrets,
            within=self._room_of(name),
            environ=self._environ if environ is None else environ,
            revise=revise,
        )

    def draft_name(self, groups: Groups) -> str:
        """The name of a graph that is not stored."""
        return f"{_room(groups)}draft.yaml"

    def within(self, problem: Problem) -> Problem:
        """A problem whose file is named as it is in the folder."""
        inside = problem.file.removeprefix(f"{self.root}/")
        return problem if inside == problem.file else replace(problem, file=inside)

    # Writing

    def create(
        self, text: str, name: str = "", groups: Groups = None, demanded: str | None = None
    ) -> GraphFile:
        """Store a new graph; its file is named after it unless a name is given.

        If `demanded` is given, it must be the graph's id.
        """
        room = _room(groups)
        path = self._place(room + name) if name else None
        own = self._checked(text, room + name if name else self.draft_name(groups)).id
        if demanded is not None and own != demanded:
            raise UnknownGraph(f"there is no graph {demanded!r}; the graph sent has the id {own!r}")
        if own in self.files(groups):
            raise GraphExists(f"there is a graph {own!r} already; change that one, or name it else")
        path = path or self._place(f"{room}{UNSAFE.sub('_', own)[:LONGEST_NAME]}.yaml")
        if path.exists():
            where = path.relative_to(self.root).as_posix()
            raise GraphExists(f"there is a file {where!r} already; give another name")
        self._write(path, text)
        return self._at(path)

    def replace(self, id: str, text: str, etag: str | None, groups: Groups = None) -> GraphFile:
        """Change a stored graph, unless somebody else did since the text with that etag."""
        file = self._own(id, groups)
        _demand_same(file, etag)
        graph = self._checked(text, file.name)
        owner = self.files(groups).get(graph.id)
        if owner is not None and owner.path != file.path and graph.id != id:
            raise GraphExists(f"there is a graph {graph.id!r} already, in {owner.name!r}")
        self._write(file.path, text)
        return self._at(file.path)

    def delete(self, id: str, etag: str | None, groups: Groups = None) -> None:
        """Remove a stored graph, unless somebody changed it since."""
        file = self._own(id, groups)
        _demand_same(file, etag)
        file.path.unlink(missing_ok=True)
        self._seen.pop(file.path, None)
        self._graphs.pop(file.path, None)

    # Inside

    def _own(self, id: str, groups: Groups) -> GraphFile:
        """A stored graph that the caller may change; a common one only by callers of all groups."""
        file = self.get(id, groups)
        if groups is not None and not file.name.startswith(MARK):
            raise CallError(f"graph {id!r} is everybody's; only a token of no group can change it")
        return file

    def _room_of(self, name: str) -> Path:
        """The folder whose files a graph of that name may read: its group's, or the whole."""
        return self.root / name.partition("/")[0] if name.startswith(MARK) else self.root

    def _checked(self, text: str, name: str) -> Graph:
        graph = self.loads(text, name, demand_secrets=False)
        graph.plan()
        return graph

    def _place(self, name: str) -> Path:
        path = self.root / name
        hidden = any(part.startswith(".") for part in Path(name).parts)
        inside = Path(os.path.realpath(path)).is_relative_to(self.root)
        if hidden or not inside or path.suffix not in SUFFIXES or "\0" in name:
            raise CallError(
                f"a graph cannot be stored as {name!r}; name a .yaml or .json file in the folder"
            )
        return path

    def _write(self, path: Path, text: str) -> None:
        """Write the whole file or nothing: it gets its name once it is complete."""
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("w", encoding="utf-8", newline="") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            if path.exists():
                part.chmod(path.stat().st_mode)
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise CallError(f"{path.name} cannot be written: {error.strerror or error}") from error
        self._seen.pop(path, None)

    def _at(self, path: Path) -> GraphFile:
        return next(file for file in self.files().values() if file.path == path)

    def _look(self) -> None:
        """Read what is new or has changed, and forget what is gone."""
        there: dict[Path, Stamp] = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith((".", "__"))]
            for name in names:
                if name.endswith(SUFFIXES) and not name.startswith("."):
                    path = Path(folder, name)
                    with suppress(OSError):
                        if Path(os.path.realpath(path)).is_relative_to(self.root):
                            there[path] = _stamp(path)
        for path in self._seen.keys() - there.keys():
            del self._seen[path]
            self._graphs.pop(path, None)
        for path, stamp in there.items():
            seen = self._seen.get(path)
            if seen is None or seen.stamp != stamp:
                with suppress(OSError):
                    self._seen[path] = _read(path, stamp)

    def _stamps(self, graph: Graph, file: GraphFile, environ: Environ) -> tuple[Any, ...]:
        stamps: list[Any] = [file.etag]
        for name in (*graph.includes, ".env"):
            try:
                stamps.append(_stamp(file.path.parent / name))
            except OSError:
                stamps.append(None)
        stamps += map(surroundings(environ).get, graph.environment)
        return tuple(stamps)


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _read(path: Path, stamp: Stamp) -> _Seen:
    content = path.read_bytes()
    etag = sha256(content).hexdigest()[:20]
    text = content.decode("utf-8", "replace")
    try:
        data = parse(content, path.name).data
    except GraphError:
        return _Seen(stamp, text, etag, "", "", path.suffix != ".json")
    body = data.get("graph", data) if isinstance(data, dict) else None
    if not isinstance(body, dict) or "nodes" not in body:
        return _Seen(stamp, text, etag, "", "", False)
    own = str(body.get("id") or "")
    return _Seen(stamp, text, etag, own, str(body.get("description") or ""), True)


def _named(name: str) -> str:
    """The name of a graph whose id is taken or cannot be read."""
    parts = Path(name).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == INDEX else parts)


def _is_for(name: str, groups: Groups) -> bool:
    """Whether callers of these groups may see the file of that name."""
    if groups is None or not name.startswith(MARK):
        return True
    return name.partition("/")[0] in map(_folder_of, groups)


def _room(groups: Groups) -> str:
    """The folder that new graphs of these groups go to."""
    return "" if groups is None else f"{_folder_of(min(groups, default='none'))}/"


def _folder_of(group: str) -> str:
    """The folder of a group and of no other: what a file's name cannot hold is written as %XX."""
    return MARK + UNSAFE.sub(lambda found: quote(found[0], safe=""), group)


def _demand_same(file: GraphFile, etag: str | None) -> None:
    if etag not in (None, "*", file.etag):
        raise GraphChanged(
            f"graph {file.id!r} was changed meanwhile; read it again and repeat your change"
        )
