"""Random graphs whose loops have whole contracts: scores, goals, limits, and what is handed on.

Every way in which a run can end early is kept to one a case, so that no timing decides between
two of them: at most one loop fails the session, and answers run out or stop the session only
where nothing else would have ended it.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.reference.document import read_graph
from tests.reference.forest import PossibleLoop, possible_loops
from tests.reference.generator import (
    AGAIN,
    DONE,
    MAX_STEPS,
    WORDS,
    Block,
    Builder,
    Case,
    Dice,
    drawn_dice,
    full_case,
    way_out_is_clear,
)
from tests.reference.interpreter import interpret
from tests.reference.run import Run

SCORES = [40, 60, 70, 70.5, 85, 90, 95]
NO_SCORES: list[Any] = [True, [95], {"value": 95}, "n/a", "nan", "inf", None]
SCORE_PATHS = ["data.score"] * 4 + ["data.review.quality", "score", "data.review.quality"]
CONDITIONS = [
    "round >= 2",
    "round > 3",
    "score != null && score >= 85",
    "score == null",
    "has(data.ok) && data.ok == true",
    '"ok" in data',
    'has(data.score) && data.score == "90"',
    "has(data.review) && has(data.review.quality) && data.review.quality > 84.5",
    'text.contains("blue")',
    f'text == "{DONE}"',
    f'!text.contains("{AGAIN}")',
]
MOST_ROUNDS = {0: [1], 1: [5, 4, 6, 3, 5, 4, 2, 1], 2: [4, 3, 3, 2, 5, 1], 3: [3, 2, 2, 1]}
"""By the number of heads: the more loops, the fewer rounds."""
ANSWERS = ["continue", "continue 1", "continue 2", "best", "maybe", "best"]


@st.composite
def contracted_graphs(draw: st.DrawFn) -> Case:
    """Cases whose loops have scores and contracts, which shrink."""
    return contracted_case(drawn_dice(draw))


def seeded_case(seed: int) -> Case:
    """The case of a seed: quick, and more varied than what hypothesis draws."""
    return contracted_case(random.Random(seed).randint)


def contracted_case(dice: Dice) -> Case:
    """A case whose loops have scores and contracts."""
    builder = ContractBuilder(
        dice, nodes_left=dice(2, 5), scores=True, window_chance=45, loops_at_top=8
    )
    case = _with_decisions(builder, full_case(builder))
    if any(contract.get("on_stagnation") == "nudge" for _, contract in contracts_of(case)):
        return _without_failures(case)
    case = _with_one_failure(case)
    if builder.chance(70) or interpret_case(case).status == "failed":
        return case
    return _cut_short(builder, case)


def in_plain_words(case: Case) -> Case:
    """The case with scores in words, and loops that hand on what they do by default."""
    plain = replace(case, document=copy.deepcopy(case.document))
    _speak(plain.document["graph"])
    for _, contract in contracts_of(plain):
        if contract.get("on_limit") in ("best", "last"):
            del contract["on_limit"]
    return plain


def with_budgets(case: Case, dice: random.Random) -> Case:
    """The case with scripts that spend, and loops that may spend so much."""
    costly = replace(case, document=copy.deepcopy(case.document))
    costly.document["graph"]["breaker"] = "off"
    _spend(costly.document["graph"], dice)
    for _, contract in contracts_of(costly):
        if dice.random() < 0.7:
            contract["budget"] = {"tokens": dice.choice([20, 50, 90, 150])}
    return costly


def _spend(body: dict[str, Any], dice: random.Random) -> None:
    for node in body["nodes"]:
        if node["type"] == "subgraph":
            _spend(node["config"].get("graph") or node["config"]["config"], dice)
        for lines in node["config"].get("outputs", []) if node["type"] == "script" else []:
            lines[:] = [_priced(line, dice.choice([0, 10, 25, 40])) for line in lines]


def _priced(line: str | dict[str, Any], tokens: int) -> dict[str, Any]:
    told = {"content": line} if isinstance(line, str) else line
    return {**told, "tokens": tokens}


def _speak(body: dict[str, Any]) -> None:
    for node in body["nodes"]:
        if node["type"] == "subgraph":
            _speak(node["config"].get("graph") or node["config"]["config"])
        for lines in node["config"].get("outputs", []) if node["type"] == "script" else []:
            lines[:] = [_in_words(line) for line in lines]


def _in_words(line: str | dict[str, Any]) -> str | dict[str, Any]:
    if isinstance(line, str) or list(line.get("data", {})) != ["score"]:
        return line
    return f"{line['content']}\nScore: {line['data']['score']}"


def interpret_case(case: Case) -> Run:
    """What the reference makes of a case, with nudges of its own."""
    return interpret(case.document, case.task, case.answers, case.decisions)


def contracts_of(case: Case) -> list[tuple[str, dict[str, Any]]]:
    """All contracts with the names of their heads, those in subgraphs too."""
    return list(_contracts(case.document["graph"], ""))


def _contracts(body: dict[str, Any], names: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for head, contract in (body.get("loops") or {}).items():
        yield names + head, contract
    for node in body["nodes"]:
        if node["type"] == "subgraph":
            inner = node["config"].get("graph") or node["config"]["config"]
            yield from _contracts(inner, f"{names}{node['id']}/")


def _with_decisions(builder: Builder, case: Case) -> Case:
    asking = [head for head, each in contracts_of(case) if each.get("on_limit") == "human"]
    decisions = {head: [*builder.some(ANSWERS, 0, 3), *["best"] * MAX_STEPS] for head in asking}
    return replace(case, decisions=decisions)


def _without_failures(case: Case, spared: int = 0) -> Case:
    """The case with all loops but the first few that fail the session handing on the last round."""
    spare = replace(case, document=copy.deepcopy(case.document))
    failing = [each for _, each in contracts_of(spare) if each.get("on_limit") == "fail"]
    for contract in failing[spared:]:
        contract["on_limit"] = "last"
    return spare


def _with_one_failure(case: Case) -> Case:
    if all(contract.get("on_limit") != "fail" for _, contract in contracts_of(case)):
        return case
    without = _without_failures(case)
    fails_anyway = interpret_case(without).status == "failed"
    return without if fails_anyway else _without_failures(case, spared=1)


def _cut_short(builder: Builder, case: Case) -> Case:
    """The case with somebody who stops the session, or who does not answer any more."""
    asking = sorted(case.decisions)
    if asking and builder.chance(50):
        stopper = builder.pick(asking)
        given = [*case.decisions[stopper][: builder.dice(0, 1)], "stop"]
        return replace(case, decisions=case.decisions | {stopper: given})
    decisions = {head: given[: builder.dice(0, 2)] for head, given in case.decisions.items()}
    return replace(case, answers=case.answers[: builder.dice(0, 3)], decisions=decisions)


@dataclass
class ContractBuilder(Builder):
    """Builds graphs in which most loops have a score and a contract that makes use of it."""

    def _any_node(self) -> str:
        return self._critic() if self.chance(30) else super()._any_node()

    def _measured(self, body: Block) -> Block:
        if not self.chance(85):
            return body
        critic = self._critic()
        self._edge(body.exit, critic)
        return Block(body.entry, critic)

    def _drivers(self) -> list[Callable[[Block, str], None]]:
        return [self._by_limit] * 12 + [self._by_refusal] * 2 + super()._drivers()

    def _by_refusal(self, body: Block, after: str) -> None:
        """It goes on unless somebody says a word, and then nobody triggers the head."""
        refusal = self.pick([["blue"], [DONE], ["22", "never"]])
        self._edge(body.exit, body.entry, condition=_none_of(refusal))
        self._edge(body.exit, after, condition=False)

    # -- scores ---------------------------------------------------------------------------

    def _critic(self) -> str:
        lines = [self._output() for _ in range(self.dice(2, 6))]
        return self._node("script", {"outputs": lines})

    def _output(self) -> list[Any]:
        if self.chance(2):
            return []
        more = [self._line()] if self.chance(8) else []
        return [*more, self._line()]

    def _line(self) -> str | dict[str, Any]:
        lines: list[Callable[[], str | dict[str, Any]]] = [self._score] * 9
        lines += [self._both, self._as_text, self._in_json, self._structured, self._quality]
        return self.pick([*lines, self._unusable, self._word])()

    def _word(self) -> str:
        return self.pick(WORDS)

    def _score(self) -> dict[str, Any]:
        return {"content": self._word(), "data": {"score": self.pick(SCORES), **self._ok()}}

    def _ok(self) -> dict[str, Any]:
        return {"ok": self.pick([True, False])} if self.chance(15) else {}

    def _as_text(self) -> dict[str, Any]:
        return {"content": self._word(), "data": {"score": str(self.pick(SCORES))}}

    def _quality(self) -> dict[str, Any]:
        return {"content": self._word(), "data": {"review": {"quality": self.pick(SCORES)}}}

    def _both(self) -> dict[str, Any]:
        review = {"quality": self.pick(SCORES)}
        return {"content": self._word(), "data": {"score": self.pick(SCORES), "review": review}}

    def _structured(self) -> dict[str, Any]:
        keys = self.pick([["weighted_score"], ["weighted_total"], ["weighted_total"] * 2])
        structured: dict[str, Any] = {key: self.pick(SCORES) for key in keys}
        if len(keys) > 1:
            structured["weighted_score"] = self.pick([self.pick(SCORES), "none"])
        return {"content": self._word(), "data": {"structured_score": structured}}

    def _unusable(self) -> dict[str, Any]:
        return {"content": self._word(), "data": {"score": self.pick(NO_SCORES)}}

    def _in_json(self) -> str:
        first, second = self.pick(SCORES), self.pick(SCORES)
        return self.pick(
            [
                f'{{"score": {first}}}',
                f'I say {{"score": "{first}"}} and {{"note": {second}}}, {self._word()}',
                f'{{broken}} {{"score": {first}}} then {{"score": {second}}} blue',
                f'Review:\n```json\n{{"score": {first}, "review": {{"quality": {second}}}}}\n```\n',
                f'{{"review": {{"quality": {first}}}}} and {{"score": true}}',
            ]
        )

    # -- contracts ------------------------------------------------------------------------

    def _add_contracts(self, body: dict[str, Any]) -> None:
        loops = self._possible_loops(body)
        heads = sorted({loop.head for loop in loops})
        most = MOST_ROUNDS[min(len(heads), 3)]
        contracts: dict[str, dict[str, Any]] = {}
        for head in heads:
            if self.chance(97):
                headed = [loop.nodes for loop in loops if loop.head == head]
                nodes = sorted(frozenset.intersection(*headed))
                contracts[head] = {**self._whole_contract(nodes), "max_rounds": self.pick(most)}
        self._label_exits(body, contracts, loops)
        if contracts:
            body["loops"] = contracts

    def _label_exits(
        self,
        body: dict[str, Any],
        contracts: dict[str, dict[str, Any]],
        loops: list[PossibleLoop],
    ) -> None:
        """Make every way out clear; an edge that clears one may be one more exit of another."""
        ways = [way for loop in loops for way in _ways(contracts, loop)]
        for _ in range(3):
            for loop, label in ways:
                self._has_way_out(body, loop, label)
        graph = read_graph({**body, "nodes": self.nodes, "edges": self.edges})
        for loop, label in ways:
            if not way_out_is_clear(graph, loop, label):
                contracts.pop(loop.head, None)

    def _possible_loops(self, body: dict[str, Any]) -> list[PossibleLoop]:
        return possible_loops(read_graph({**body, "nodes": self.nodes, "edges": self.edges}))

    def _whole_contract(self, nodes: list[str]) -> dict[str, Any]:
        contract = self._contract() | self._goal() | self._patience() | self._regression()
        contract["on_limit"] = self.pick(
            ["best", "last", "best", "human", "best", "last", "human", "fail", "best", "human"]
        )
        if self.chance(60):
            contract["carry"] = self.pick(["last", {"window": 2}, {"window": 1}, "all"])
        if self.chance(35):
            contract["score"] = self._place_of_score(nodes)
        return contract

    def _place_of_score(self, nodes: list[str]) -> str | dict[str, str]:
        path = self.pick(SCORE_PATHS)
        if self.chance(50):
            return path
        node = {"node": self.pick(nodes)}
        return node if self.chance(40) else {**node, "path": path}

    def _goal(self) -> dict[str, Any]:
        goal: dict[str, Any] = {}
        if self.chance(35):
            goal["exit_on_score"] = self.pick([95, 90, 96, 89.5])
        if self.chance(20):
            goal["until"] = self._expression()
        return goal

    def _expression(self) -> str:
        first, second = self.pick(CONDITIONS), self.pick(CONDITIONS)
        forms = [first, first, f"({first}) && ({second})", f"{first} || {second}", f"!({first})"]
        return self.pick(forms)

    def _patience(self) -> dict[str, Any]:
        if not self.chance(50):
            return {}
        patience = {"rounds": self.pick([2, 1]), "min_delta": self.pick([2, 0, 10, 0.5])}
        action = (
            {"on_stagnation": self.pick(["nudge", "nudge", "nudge", "exit"])}
            if self.chance(70)
            else {}
        )
        return {"patience": patience, **action}

    def _regression(self) -> dict[str, Any]:
        if not self.chance(60):
            return {}
        action = self.pick(["rollback", "exit", "rollback", "warn", "rollback"])
        return {"regression": {"drop": self.pick([10, 5, 20, 0.5]), "action": action}}


def _ways(
    contracts: dict[str, dict[str, Any]], loop: PossibleLoop
) -> list[tuple[PossibleLoop, str]]:
    """The loop, once with each label that its contract may leave by."""
    if loop.head not in contracts:
        return []
    has_goal = not contracts[loop.head].keys().isdisjoint({"exit_on_score", "until"})
    return [(loop, label) for label in (["limit", "goal"] if has_goal else ["limit"])]


def _none_of(words: list[str]) -> dict[str, Any]:
    return {"type": "keyword", "config": {"none": words}}
