"""Entries of scopes that are under way: the graph, inner graphs, and loops in their rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from rondel.engine.core.checkpoint import Emission
from rondel.engine.core.contract import Ruling
from rondel.engine.core.progress import NO_EMISSIONS, Progress
from rondel.engine.message import Message, merged_data
from rondel.engine.protocols import Verdict
from rondel.graph.plan import HEAD, InnerLoop, Scope, ScopedEdge
from rondel.graph.values import spoken_value, value_of

if TYPE_CHECKING:
    from rondel.engine.core.step import Step


Place = tuple[int, int]
"""Level and item: the logical order of what happens in one round."""

SPOKEN: Final = 1 << 40
"""A score in plain words counts as if said so many levels earlier than all data and JSON."""

NOWHERE: Final[Place] = (-2 * SPOKEN, -1)

NO_OUTPUTS: Final[dict[int, Sequence[Message]]] = {}
NO_HITS: Final[dict[int, dict[int, set[int]]]] = {}
NO_EDGES: Final[dict[int, set[int]]] = {}
NOT_A_WORD: Final[list[tuple[Place, dict[str, Any], str]]] = []
NO_ITEMS: Final[list[int]] = []
NO_SCORES: Final[list[float | None]] = []
NO_PLACES: Final[list[Place]] = []
"""What every entry or round begins with, shared by all and never changed: few need their own."""


class Frame:
    """One entry of a scope: the graph, an inner graph, or a loop in its current round."""

    __slots__ = (
        "_path",
        "_path_round",
        "around",
        "busy",
        "checking_until",
        "cut",
        "emitted",
        "entry",
        "exited",
        "fired",
        "goal",
        "goal_place",
        "halted",
        "hits",
        "item",
        "leaving",
        "level",
        "loop_entry",
        "nudged",
        "open",
        "outputs",
        "owner",
        "parent",
        "prefix",
        "progress",
        "retriggered",
        "rolls_back",
        "round",
        "ruling",
        "said",
        "scope",
        "score_places",
        "scores",
        "verdict",
        "verdict_place",
        "waiting_items",
        "waits",
        "ways",
    )

    def __init__(
        self,
        entry: int,
        scope: Scope,
        parent: Frame | None,
        owner: Step | None,
        active: float = 0.0,
    ) -> None:
        self.entry = entry
        self.scope = scope
        self.parent = parent
        self.owner = owner
        """The step of the node whose inner graph this is; None for the root and for loops."""
        around = 0 if parent is None else parent.loop_entry
        self.loop_entry: int = around if scope.head is None else entry
        """The entry of the innermost loop around what runs here, through inner graphs; else 0."""
        self.item = scope.parent_item
        self.prefix: tuple[int, ...] = ()
        self.round = 0
        self.goal: Verdict | None = None
        """The newest verdict of a node that steers the loop and has a goal."""
        self.leaving = False
        self.progress = Progress(scope.max_rounds, scope.contract.on_limit, active)
        self.ruling: Ruling | None = None
        """How the contract ends the loop, while that still needs something from outside."""
        self.ways: dict[int, Emission] | None = None
        """What it sends out then, while the edges' processes are at work on it."""
        self.halted = False
        """Whether its next round waits for somebody to resume the session."""
        self.checking_until = False
        """Whether the round is over and its `until` is being evaluated."""
        self.outputs = NO_OUTPUTS
        """The last output of each of the graph's end nodes."""
        self.scores = NO_SCORES
        """What was scored in this round, for each score that is looked for, once one was found."""
        self.score_places = NO_PLACES
        self.around = ""
        """The address of what the scope is in."""
        self._path, self._path_round = "", -1
        if owner is not None:
            self.prefix = (*owner.frame.prefix, owner.round, owner.level)
            part = f"({owner.part})" if owner.part else ""
            self.around = f"{owner.frame.path(owner.round)}{owner.node.name}{part}/"
        elif parent is not None:
            self.prefix = (*parent.prefix, parent.round, parent.scope.levels[self.item])
            self.around = parent.path(parent.round)

    def begin_round(self) -> None:
        """Forget the last round's joins; the body starts anew."""
        scope = self.scope
        self.round += 1
        self.waits = scope.waits.copy()
        """By item, for how many edges it still waits, as long as it waits."""
        self.fired = [0] * len(scope.waits)
        """By item, how many of them have fired."""
        self.open = len(scope.waits)
        self.busy = 0
        """How many items are under way."""
        self.hits: dict[int, dict[int, set[int]]] = NO_HITS
        """By item and node, the edges out of inner loops or into them that fired."""
        self.exited = False
        self.retriggered = False
        self.emitted: dict[int, Emission] = NO_EMISSIONS
        self.verdict: Verdict | None = None
        self.verdict_place = NOWHERE
        self.goal_place = NOWHERE
        for index in range(len(self.scores)):
            if self.scores[index] is not None:
                self.scores[index], self.score_places[index] = None, NOWHERE
        self.said: list[tuple[Place, dict[str, Any], str]] = NOT_A_WORD
        """For loops that listen: data and text of all that was said in this round."""
        self.cut = False
        """Whether a budget ran out in this round."""
        self.rolls_back = False
        """Whether the next round starts from where the best one ended."""
        self.nudged = False
        """Whether the next round is told to try something else."""
        self.level = 0
        self.waiting_items: list[int] = NO_ITEMS

    @property
    def score(self) -> float | None:
        """The score of the round so far."""
        return self.scores[0] if self.scores else None

    @property
    def reached(self) -> bool | None:
        """Whether the loop has reached its goal; None if it has none."""
        goal = None if self.goal is None else self.goal.goal_met
        if self.progress.met or goal:
            return True
        return False if self.scope.has_goal else goal

    @property
    def target(self) -> float | None:
        """The score that is the loop's goal, by its contract or a node that steers it."""
        if self.scope.target is not None or self.goal is None:
            return self.scope.target
        return self.goal.target

    def hear_step(self, step: Step, messages: tuple[Message, ...]) -> None:
        """A step of this round said something."""
        last = messages[-1]
        data, content = last.data, last.content
        text = content if isinstance(content, str) else last.text
        if data or "{" in text or ":" in text or "：" in text:
            for index, (path, node) in enumerate(self.scope.scores):
                if node is None or node == step.node.index:
                    self._measure(index, path, data, text, step)
        if self.scope.listens:
            self.listen(messages, (step.level, step.item))

    def _measure(
        self, index: int, path: tuple[str, ...], data: dict[str, Any], text: str, step: Step
    ) -> None:
        """Look for a score; of several that have a value, the logically last one counts."""
        value = value_of(data, text, path)
        if value is not None:
            self._take_value(index, value, (step.level, step.item))
        elif text:
            value = spoken_value(text, path)
            if value is not None:
                self._take_value(index, value, (step.level - SPOKEN, step.item))

    def _take_value(self, index: int, value: float, place: Place) -> None:
        """Something was measured; what was said later in logical order counts more."""
        if not self.scores:
            scores = len(self.scope.scores)
            self.scores, self.score_places = [None] * scores, [NOWHERE] * scores
        if place >= self.score_places[index]:
            self.scores[index], self.score_places[index] = value, place

    def listen(self, messages: Sequence[Message], place: Place) -> None:
        """Keep what a step said, for the `until` of the round."""
        self._keep(place, merged_data(messages), messages[-1].text)

    def _keep(self, place: Place, data: dict[str, Any], text: str) -> None:
        if self.said is NOT_A_WORD:
            self.said = []
        self.said.append((place, data, text))

    def hear(self) -> tuple[dict[str, Any], str]:
        """All that was said in this round, in logical order: the data merged, the last text."""
        self.said.sort(key=lambda said: said[0])
        data: dict[str, Any] = {}
        for _, more, _ in self.said:
            data.update(more)
        return data, self.said[-1][2] if self.said else ""

    def take_up(self, inner: Frame) -> None:
        """A loop in this round is over: it counts as one item, by its last round."""
        level = self.scope.levels[inner.item]
        place = (level, inner.item)
        for index, wanted_score in enumerate(self.scope.scores if inner.scores else ()):
            there = inner.scope.scores.index(wanted_score)
            value = inner.scores[there]
            if value is not None:
                spoken = inner.score_places[there][0] < 0
                self._take_value(index, value, (level - SPOKEN, inner.item) if spoken else place)
        if self.scope.listens and inner.said:
            data, text = inner.hear()
            self._keep(place, data, text)

    @property
    def address(self) -> str:
        """A loop's address with its round."""
        return self.path(self.round).removesuffix("/")

    def path(self, round: int) -> str:
        """The address of what is in a round, up to its name."""
        if self.scope.head is None:
            return self.around
        if round != self._path_round:
            self._path, self._path_round = f"{self.around}{self.scope.name}[{round}]/", round
        return self._path

    def outward(self) -> list[Frame]:
        """This entry and those around it, the innermost first, through inner graphs."""
        found = [self]
        frame = self.parent
        while frame is not None:
            found.append(frame)
            frame = frame.parent
        return found

    def loops_outward(self) -> list[Frame]:
        """The loops among them."""
        return [frame for frame in self.outward() if frame.scope.head is not None]

    def graph_frame(self) -> Frame:
        """The entry of the graph this frame runs in."""
        frame = self
        while frame.scope.head is not None and frame.parent is not None:
            frame = frame.parent
        return frame

    def pull(self, scoped: ScopedEdge) -> None:
        """An edge of this round fired: trigger its target in the scope where it lands."""
        frame = self
        for _ in range(scoped.hops):
            frame.exited = True
            frame = frame.parent  # type: ignore[assignment]
        frame.hit(scoped.edge, scoped.item, scoped.target)

    def pull_out(self, edge: int, target: int) -> None:
        """The loop's contract takes this edge, whoever in the loop it starts from."""
        frame = self
        while target not in frame.scope.item_of and frame.parent is not None:
            frame.exited = True
            frame = frame.parent
        item = HEAD if target == frame.scope.head else frame.scope.item_of[target]
        frame.hit(edge, item, target)

    def hit(self, edge: int, item: int, target: int) -> None:
        """Count an edge for an item, once a round however often it fires."""
        if item == HEAD:
            self.retriggered = True
            return
        hits = self.own_hits().setdefault(item, {}).setdefault(target, set())
        if edge not in hits:
            hits.add(edge)
            self.fired[item] += 1

    def keep_output(self, node: int, messages: Sequence[Message]) -> None:
        """An end node of the graph produced these messages."""
        if self.outputs is NO_OUTPUTS:
            self.outputs = {}
        self.outputs[node] = messages

    @property
    def output(self) -> Sequence[Message] | None:
        """What the first end node of the graph with output produced, if any did or need not."""
        yields_anything = self.scope.dialect.sinks_yield
        for end in self.scope.ends:
            messages = self.outputs.get(end)
            if messages and (yields_anything or not messages[-1].empty):
                return messages
        return (Message(),) if yields_anything else None

    def fire_start(self, node: int) -> None:
        """A start node of the graph is triggered, as if enough edges into it had fired."""
        item = self.scope.item_of[node]
        group = self.scope.items[item]
        if isinstance(group, InnerLoop):
            self.own_hits()[item] = {node: set(range(-group.quorum[node], 0))}
        self.fired[item] = self.scope.quorum[item]

    def heads_hit(self, item: int, group: InnerLoop) -> list[int]:
        """The nodes of a loop that enough edges into them triggered."""
        hits = self.hits.get(item, NO_EDGES)
        return [node for node, edges in hits.items() if len(edges) >= group.quorum[node]]

    def own_hits(self) -> dict[int, dict[int, set[int]]]:
        """The round's own hits, to be added to."""
        if self.hits is NO_HITS:
            self.hits = {}
        return self.hits

    def forget_hits(self, item: int) -> None:
        """The loop is entered: which edges led to it does not matter any more."""
        self.hits.pop(item, None)
        if not self.hits:
            self.hits = NO_HITS

    def wait_for_level(self, item: int) -> None:
        """The item is ready, but its level is not."""
        if self.waiting_items is NO_ITEMS:
            self.waiting_items = []
        self.waiting_items.append(item)

    def take_verdict(self, verdict: Verdict, level: int, item: int) -> None:
        """A step gave a verdict on the loop; of several in a round, the logically last counts."""
        place = (level, item)
        if verdict.goal_met is not None and place >= self.goal_place:
            self.goal, self.goal_place = verdict, place
            self.progress.scored = self.progress.scored or verdict.score is not None
        if verdict.reason and place >= self.verdict_place:
            self.verdict, self.verdict_place = verdict, place

    def track(self, scoped_edges: tuple[ScopedEdge, ...], emission: Emission) -> None:
        """Remember what the loops' ways out would carry if a contract ended them now."""
        for scoped in scoped_edges:
            frame = self
            for _ in range(scoped.hops):
                if scoped.edge in frame.scope.ways:
                    if frame.emitted is NO_EMISSIONS:
                        frame.emitted = {}
                    frame.emitted[scoped.edge] = emission
                frame = frame.parent  # type: ignore[assignment]
