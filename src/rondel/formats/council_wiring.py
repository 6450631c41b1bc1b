"""The edges of a Council workflow, and those along which its shared state travels here.

In a loop the document goes round: what a reviewer chooses, else what the last agent wrote, is the
next round's document. Every agent sees the document. The loop sees every agent's score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from rondel.graph.components import reached
from rondel.graph.source import Path

SPEAKERS = frozenset({"agent", "vote", "fact_check"})
"""Node types that add something to the document."""

READERS = frozenset({"agent"})
AUTHORS = frozenset({"agent"})
"""Node types whose text can be the next round's document."""

CHOOSERS = frozenset({"fact_check", "vote"})
"""Node types that choose among their edges here, and may go along all of them there."""


class WiredEdge(NamedTuple):
    """An edge, and its place in the file."""

    edge: dict[str, Any]
    origin: Path


class Rewiring(NamedTuple):
    """A change, for the report."""

    node: str
    message: str


@dataclass(frozen=True, slots=True)
class CouncilLoop:
    """A loop: its node, where it goes on and where it exits, and who is in it."""

    loop: str
    head: str
    exit: str
    body: frozenset[str]
    author: str | None
    """The last agent before the loop: what it writes is the next round's document."""
    reviewer: str | None


class Wiring:
    """The edges of one workflow."""

    def __init__(self, start: str, types: dict[str, str]) -> None:
        self._start = start
        self._types = types
        self._after: dict[str, list[str]] = defaultdict(list)
        self._before: dict[str, list[str]] = defaultdict(list)
        self.edges: list[WiredEdge] = []
        self.helpers: list[dict[str, Any]] = []
        self.all_follow: set[str] = set()
        """The nodes that go along all their edges there."""
        self.with_goals: set[str] = set()
        """The loops that have a goal, and have missed it if they end without it."""
        self.ended_by: dict[str, str] = {}
        """The loops that a reviewer can end, with what he says then."""

    def lead(self, source: str, target: str, origin: Path, label: str = "") -> None:
        """An edge that the file has."""
        self._after[source].append(target)
        self._before[target].append(source)
        edge = {"from": source, "to": target}
        self.edges.append(WiredEdge({**edge, "label": label} if label else edge, origin))

    def spread(self) -> Iterable[Rewiring]:
        """Put a node behind each one that would choose an edge here, so that all are taken;
        report it."""
        for name, type_ in self._types.items():
            if type_ not in CHOOSERS or name not in self.all_follow or len(self._after[name]) < 2:
                continue
            after = f"{name} done"
            self._helper(after, f"What follows {name}")
            origin: Path = ("nodes", name)
            for wired in self.edges:
                if wired.edge["from"] == name:
                    wired.edge["from"] = after
            self.edges.append(WiredEdge({"from": name, "to": after}, origin))
            yield Rewiring(name, "all that follows does so, whatever comes of it")

    def share_state(self) -> Iterable[Rewiring]:
        """Add the edges of the shared state, and say why."""
        rounds = [self._round(name) for name, type_ in self._types.items() if type_ == "loop"]
        loops = [found for found in rounds if found is not None]
        for found in loops:
            yield Rewiring(
                found.loop, "the loop decides only; the document travels on edges of its own"
            )
            self._carry_scores(found)
            if found.reviewer is None:
                self._carry_document(found)
            else:
                self._offer_choices(found, found.reviewer)
                yield Rewiring(found.reviewer, "each answer of the reviewer has a node of its own")
        inside = {found.reviewer for found in loops}
        for name, type_ in self._types.items():
            if type_ == "human_review" and name not in inside and self._before[name]:
                self._hand_on_reviewed(name)
                yield Rewiring(name, "what was reviewed goes on, not what the reviewer answers")
        self._show_document(loops)

    def agents_before(self, name: str) -> list[str]:
        """The agents on the ways to a node that no other agent is on, in the file's order."""
        found, seen, work = set(), {name}, [name]
        for current in work:
            for before in self.before(current):
                if self._types[before] == "agent":
                    found.add(before)
                elif before not in seen:
                    seen.add(before)
                    work.append(before)
        return [each for each in self._types if each in found]

    def before(self, name: str) -> list[str]:
        """The predecessors of a node."""
        return list(dict.fromkeys(self._before[name]))

    def _hand_on_reviewed(self, reviewer: str) -> None:
        """Add edges that carry the reviewed text past the reviewer."""
        sources = self._reviewed(reviewer)
        for wired in [wired for wired in self.edges if wired.edge["from"] == reviewer]:
            wired.edge["carry_data"] = False
            for source in sources:
                self._data(source, wired.edge["to"], reviewer)

    def _reviewed(self, reviewer: str) -> list[str]:
        """The authors of what a reviewer sees: the nearest predecessors that are no reviewers."""
        found: list[str] = []
        seen, work = {reviewer}, [reviewer]
        for current in work:
            for before in self.before(current):
                if before in seen:
                    continue
                seen.add(before)
                if self._types[before] == "human_review":
                    work.append(before)
                else:
                    found.append(before)
        return found

    # Loops

    def _round(self, loop: str) -> CouncilLoop | None:
        after = self._after[loop]
        if len(after) < 2:
            return None
        head, exit_ = after[:2]
        forward = reached([head], lambda name: self._after[name] if name != loop else ())
        back = reached([loop], lambda name: self._before[name] if name != head else ())
        body = frozenset(forward & back)
        author = self._nearest(loop, body, AUTHORS)
        reviewers = [name for name in self._before[loop] if self._types[name] == "human_review"]
        return CouncilLoop(loop, head, exit_, body, author, next(iter(reviewers), None))

    def _nearest(self, name: str, body: frozenset[str], types: frozenset[str]) -> str | None:
        """The nearest predecessor of these types."""
        seen, work = {name}, [name]
        for current in work:
            for before in self._before[current]:
                if before in seen or before not in body:
                    continue
                if self._types[before] in types:
                    return before
                seen.add(before)
                work.append(before)
        return None

    def _carry_scores(self, found: CouncilLoop) -> None:
        """Carry the score of every agent in the loop to the loop's node."""
        for wired in self.edges:
            edge = wired.edge
            if edge["from"] == found.loop and edge["to"] in (found.head, found.exit):
                edge["carry_data"] = False
        for name in self._types:
            speaks = name in found.body and self._types[name] in SPEAKERS
            if speaks and name not in self._before[found.loop]:
                self._data(name, found.loop, found.loop)

    def _carry_document(self, found: CouncilLoop) -> None:
        if found.author is not None:
            self._data(found.author, found.head, found.loop)
            self._data(found.author, found.exit, found.loop)

    def _offer_choices(self, found: CouncilLoop, reviewer: str) -> None:
        """The reviewer's answer decides which document goes on."""
        self.edges = [
            wired
            for wired in self.edges
            if (wired.edge["from"], wired.edge["to"]) != (reviewer, found.loop)
        ]
        choices = {"apply": found.author, "continue": found.head, "rollback": None}
        past = f"{reviewer} past"
        self._helper(past, "The document of a round that went on")
        self._data(found.head, past, reviewer)
        self._trigger(past, found.loop, reviewer)
        for action, source in choices.items():
            node = f"{reviewer} {action}"
            keeps = action == "rollback"
            self._helper(node, f"The reviewer said {action}", keeps=keeps)
            if source is not None:
                self._data(source, node, reviewer)
            self._trigger(reviewer, node, reviewer, action)
            self._trigger(node, past if source is not None else found.loop, reviewer)
            self._data(node, found.head, reviewer)
            self._data(node, found.exit, reviewer)
        self._data(self._start, f"{reviewer} rollback", reviewer)
        self._data(past, f"{reviewer} rollback", reviewer)
        self._data(self._start, found.exit, reviewer)
        if found.loop in self.with_goals:
            self._say(reviewer, found.loop, "exit")
        else:
            self._trigger(reviewer, found.exit, reviewer, "exit")

    # The document

    def _show_document(self, loops: list[CouncilLoop]) -> None:
        """Add an edge with the document for agents that do not receive it."""
        for name, type_ in self._types.items():
            if type_ not in READERS:
                continue
            around = next((found for found in loops if name in found.body), None)
            source = around.head if around is not None else self._start
            if name != source and not self._hands_on(source, name):
                self._data(source, name, name)

    def _hands_on(self, source: str, target: str) -> bool:
        """Whether the source's output arrives at the target unchanged."""
        seen, work = {target}, [target]
        for current in work:
            for before in self._before[current]:
                if before == source:
                    return True
                if before not in seen and self._types[before] not in SPEAKERS:
                    seen.add(before)
                    work.append(before)
        return False

    # Edges and nodes

    def _helper(self, name: str, description: str, *, keeps: bool = False) -> None:
        node: dict[str, Any] = {"id": name, "type": "passthrough", "description": description}
        self.helpers.append({**node, "context_window": -1} if keeps else node)

    def _data(self, source: str, target: str, place: str) -> None:
        edge = {"from": source, "to": target, "trigger": False}
        self.edges.append(WiredEdge(edge, ("nodes", place)))

    def _say(self, reviewer: str, loop: str, action: str) -> None:
        """Tell the loop what the reviewer said: it ends by it, as by a goal that it reached."""
        self._trigger(reviewer, loop, reviewer, action)
        self.edges[-1].edge["carry_data"] = True
        self.ended_by[loop] = action

    def _trigger(self, source: str, target: str, place: str, action: str = "") -> None:
        edge: dict[str, Any] = {"from": source, "to": target, "carry_data": False}
        if action:
            expr = {"expr": f'data.action == "{action}"'}
            edge["condition"] = {"type": "expr", "config": expr}
        self.edges.append(WiredEdge(edge, ("nodes", place)))
