"""Memories of ChatDev: a blackboard is the session's working memory, all others are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rondel.formats.translation import Draft
from rondel.graph.names import Names
from rondel.graph.paths import Path

ATTACHMENT = ("name", "retrieve_stage", "top_k", "similarity_threshold", "read", "write")
GENERATION, REFLECTION = "gen", "post_gen_thinking"
BLACKBOARD = "blackboard"
MAX_ITEMS = 1000
TOP_K = 3
FOR_EVER = "87600h"
"""Nothing on a blackboard gets too old; ten years are longer than any session."""


@dataclass(frozen=True, slots=True)
class Use:
    """What an agent does with the blackboard."""

    limit: int = TOP_K
    before: bool = False
    """Whether it reads it before it answers."""
    after: bool = False
    """Whether it reads it before it reflects on its answer."""
    writes: bool = False

    @property
    def reads(self) -> bool:
        """Whether it reads it at all."""
        return self.before or self.after


class Memories:
    """The stores of one graph, and which of them its agents use."""

    def __init__(self, draft: Draft, given: Any, path: Path, *, outermost: bool) -> None:
        self._draft = draft
        self._path = path
        self._outermost = outermost
        self._stores: dict[str, tuple[dict[str, Any], Path]] = {}
        self._used: str | None = None
        self.promoted: list[str] = []
        """Agents of the graph whose answers go to the blackboard."""
        for number, store in enumerate(_listed(given)):
            if isinstance(store, dict) and isinstance(store.get("name"), str):
                self._stores[store["name"]] = (store, (*path, number))

    def use(self, given: Any, path: Path) -> Use:
        """What an agent does, by its `memories`."""
        found = Use()
        for number, attachment in enumerate(_listed(given)):
            place = (*path, number) if isinstance(given, list) else path
            if number and found != Use():
                hint = "keep one of them"
                self._draft.refuse(place, "an agent has one memory here at most", hint)
            elif self._is_board(attachment, place):
                found = self._use(attachment, place)
        return found

    def finish(self) -> dict[str, Any]:
        """The graph's `memory` section; nothing if no agent uses a store."""
        for name, (_, place) in self._stores.items():
            if name != self._used:
                self._draft.leave_out(place, f"no agent uses the memory {name!r}")
        if self._used is None:
            return {}
        store, place = self._stores[self._used]
        self._draft.change(place, f"the memory {self._used!r} is the session's working memory")
        self._draft.moved((*self._path, "size"), (*place, "config", "max_items"))
        settings = store.get("config")
        size = settings.get("max_items", MAX_ITEMS) if isinstance(settings, dict) else MAX_ITEMS
        section = {"size": size, "max_age": FOR_EVER, "min_confidence": 0}
        return {**section, "promote": self.promoted} if self.promoted else section

    def _is_board(self, attachment: Any, place: Path) -> bool:
        name = attachment.get("name") if isinstance(attachment, dict) else attachment
        if not isinstance(name, str) or name not in self._stores:
            hint = Names(self._stores, what="there are").hint(str(name))
            self._refuse(place, f"there is no memory {name!r} in graph.memory", hint)
            return False
        store, _ = self._stores[name]
        config = store.get("config")
        kind, settings = store.get("type"), config if isinstance(config, dict) else {}
        if kind != BLACKBOARD:
            hint = "lead a memory node to the agent, and name the agent in graph.memory.promote"
            message = f"the memory {name!r} of type {kind!r} has no counterpart"
            self._refuse(place, message, hint)
        elif settings.get("memory_path") not in (None, "", "auto"):
            message = f"the memory {name!r} in a file of its own has no counterpart"
            self._refuse(place, message, "set memory_path: auto, and give sessions one group_id")
        elif not self._outermost:
            hint = "use it in the outermost graph"
            self._refuse(place, f"the memory {name!r} of an inner graph has no counterpart", hint)
        elif self._used not in (None, name):
            message = f"the memory {name!r} besides {self._used!r} has no counterpart"
            self._refuse(place, message, "a session has one working memory; keep one")
        else:
            self._used = name
            return True
        return False

    def _use(self, attachment: dict[str, Any], place: Path) -> Use:
        kept = self._draft.kept(attachment, place, ATTACHMENT)
        stages = _listed(kept.get("retrieve_stage")) or [GENERATION, REFLECTION]
        reads = kept.get("read", True) is not False
        limit = kept.get("top_k", TOP_K)
        if type(limit) is not int or limit < 1:
            self._refuse((*place, "top_k"), "top_k is not a whole number from 1 on", "")
            limit = TOP_K
        return Use(
            limit,
            before=reads and GENERATION in stages,
            after=reads and REFLECTION in stages,
            writes=kept.get("write", True) is not False,
        )

    def _refuse(self, place: Path, message: str, hint: str) -> None:
        self._draft.refuse(place, message, hint)


def _listed(given: Any) -> list[Any]:
    """One or several, as ChatDev takes them."""
    return given if isinstance(given, list) else [] if given is None else [given]
