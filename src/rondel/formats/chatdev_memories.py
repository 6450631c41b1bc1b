"""Memories of ChatDev: blackboards become the session's working memory, files become documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from rondel.formats.referenced_files import Unreadable, documents
from rondel.formats.translation import Draft
from rondel.graph.names import Names
from rondel.graph.source import Path

ATTACHMENT = ("name", "retrieve_stage", "top_k", "similarity_threshold", "read", "write")
GENERATION, REFLECTION = "gen", "post_gen_thinking"
BLACKBOARD, SIMPLE, FILE = "blackboard", "simple", "file"
EMBEDDING = ("provider", "model", "api_key", "base_url")
MAX_ITEMS = 1000
TOP_K = 3
FOR_EVER = "87600h"
"""The age limit of entries from a blackboard, which has none: ten years."""


@dataclass(frozen=True, slots=True)
class Use:
    """How an agent uses its memories."""

    limit: int = 0
    before: bool = False
    """Whether it reads them before it answers."""
    after: bool = False
    """Whether it reads them before the reflection on its answer."""
    writes: bool = False
    embedding: dict[str, Any] | None = None
    least: float | None = None
    """The least similarity of what is read."""
    documents: list[dict[str, str]] = field(default_factory=list)
    session: bool = False
    """Whether it reads entries of agents."""

    @property
    def reads(self) -> bool:
        """Whether it reads any memory."""
        return self.before or self.after

    @property
    def config(self) -> dict[str, Any]:
        """The config of the `memory` node that reads for the agent."""
        made: dict[str, Any] = {"limit": self.limit or TOP_K}
        if self.embedding is not None:
            made["embedding"] = self.embedding
            if self.least is not None:
                made["min_similarity"] = self.least
        if self.documents:
            made["documents"] = self.documents
            if self.session:
                made["also_session"] = True
        return made


class Memories:
    """The stores of one graph, and which of them its agents use."""

    def __init__(self, draft: Draft, given: Any, path: Path, file: str, *, outermost: bool) -> None:
        self._draft = draft
        self._path = path
        self._file = file
        self._outermost = outermost
        self._stores: dict[str, tuple[dict[str, Any], Path]] = {}
        self._used: list[str] = []
        self._boards: list[str] = []
        """The stores that agents write to."""
        self.promoted: list[str] = []
        """The agents whose answers are promoted."""
        for number, store in enumerate(_listed(given)):
            if isinstance(store, dict) and isinstance(store.get("name"), str):
                self._stores[store["name"]] = (store, (*path, number))

    def use(self, given: Any, path: Path) -> Use:
        """The use that an agent's `memories` declare."""
        found = Use()
        for number, attachment in enumerate(_listed(given)):
            place = (*path, number) if isinstance(given, list) else path
            kept = attachment if isinstance(attachment, dict) else {"name": attachment}
            store = self._store(kept.get("name"), place)
            if store is not None:
                found = self._with(found, kept, place, *store)
        return found

    def finish(self) -> dict[str, Any]:
        """The graph's `memory` section; empty if no agent uses a store that is written to."""
        for name, (_, place) in self._stores.items():
            if name not in self._used:
                self._draft.leave_out(place, f"no agent uses the memory {name!r}")
        promoted = {"promote": self.promoted} if self.promoted else {}
        if not self._boards or not self._outermost:
            return promoted
        sizes = [self._size(name) for name in self._boards]
        section = {"size": max(sizes, key=_as_number), "max_age": FOR_EVER, "min_confidence": 0}
        return {**section, **promoted}

    def _size(self, name: str) -> Any:
        store, place = self._stores[name]
        self._draft.moved((*self._path, "size"), (*place, "config", "max_items"))
        settings = store.get("config")
        return settings.get("max_items", MAX_ITEMS) if isinstance(settings, dict) else MAX_ITEMS

    def _store(self, name: Any, place: Path) -> tuple[dict[str, Any], Path] | None:
        """The store of that name, if its kind is known."""
        if not isinstance(name, str) or name not in self._stores:
            hint = Names(self._stores, what="there are").hint(str(name))
            self._draft.refuse(place, f"there is no memory {name!r} in graph.memory", hint)
            return None
        store, where = self._stores[name]
        if store.get("type") not in (BLACKBOARD, SIMPLE, FILE):
            hint = "use one of the types blackboard, simple and file"
            message = f"the memory {name!r} of type {store.get('type')!r} has no counterpart"
            self._draft.refuse(place, message, hint)
            return None
        return store, where

    def _with(
        self, use: Use, attachment: dict[str, Any], place: Path, store: dict[str, Any], where: Path
    ) -> Use:
        """The use with one more memory."""
        kept = self._draft.kept(attachment, place, ATTACHMENT)
        given = store.get("config")
        config: dict[str, Any] = given if isinstance(given, dict) else {}
        embedding = self._embedding(config.get("embedding"), (*where, "config", "embedding"))
        name, kind = store["name"], store["type"]
        if name not in self._used:
            self._used.append(name)
            self._tell(name, kind, config, where)
        if kind == SIMPLE and embedding is None:
            message = f"the memory {name!r} has no embedding: nothing is kept in it, as there"
            self._draft.leave_out(where, message)
            return use
        if kind != FILE and name not in self._boards:
            self._boards.append(name)
        stages = _listed(kept.get("retrieve_stage")) or [GENERATION, REFLECTION]
        reads = kept.get("read", True) is not False
        found = replace(
            use,
            limit=use.limit + self._limit(kept, place),
            before=use.before or (reads and GENERATION in stages),
            after=use.after or (reads and REFLECTION in stages),
            writes=use.writes or (kind != FILE and kept.get("write", True) is not False),
            embedding=use.embedding or embedding,
            session=use.session or (kind != FILE and reads),
        )
        least = kept.get("similarity_threshold")
        if isinstance(least, int | float) and not isinstance(least, bool) and -1 < least <= 1:
            found = replace(found, least=min(x for x in (use.least, least) if x is not None))
        if kind == FILE and reads:
            found = replace(found, documents=[*use.documents, *self._documents(config, where)])
        return found

    def _limit(self, attachment: dict[str, Any], place: Path) -> int:
        limit = attachment.get("top_k", TOP_K)
        if type(limit) is int and limit > 0:
            return limit
        self._draft.refuse((*place, "top_k"), "top_k is not a whole number from 1 on", "")
        return TOP_K

    def _tell(self, name: str, kind: str, config: dict[str, Any], where: Path) -> None:
        if kind == FILE:
            self._draft.change(where, f"the documents of the memory {name!r} are part of the graph")
            return
        told = f"the memory {name!r} is the session's working memory"
        if config.get("memory_path") not in (None, "", "auto"):
            told += "; sessions that are to share it need the same input group_id"
        self._draft.change(where, told)

    def _embedding(self, given: Any, path: Path) -> dict[str, Any] | None:
        if not isinstance(given, dict):
            return None
        kept = self._draft.kept(given, path, EMBEDDING, {"params": "texts are embedded as a whole"})
        made = {key: kept[key] for key in EMBEDDING if kept.get(key) and key != "model"}
        return {**made, "name": kept["model"]} if kept.get("model") else made

    def _documents(self, config: dict[str, Any], where: Path) -> list[dict[str, str]]:
        found: list[dict[str, str]] = []
        sources = config.get("file_sources")
        if not isinstance(sources, list) or not sources:
            self._draft.refuse(
                where, "the memory names no file_sources", "add: file_sources: [...]"
            )
            return found
        for number, source in enumerate(sources):
            try:
                found += documents(self._file, source if isinstance(source, dict) else {})
            except Unreadable as error:
                place = (*where, "config", "file_sources", number)
                self._draft.leave_out(place, f"nothing is read: {error}")
        return found


def _as_number(size: Any) -> float:
    return size if isinstance(size, int | float) else 0


def _listed(given: Any) -> list[Any]:
    """A value or a list of values, as a list."""
    return given if isinstance(given, list) else [] if given is None else [given]
