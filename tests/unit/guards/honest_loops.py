"""Loops that do what they should, however alike their rounds look: none of them is locked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from rondel import Graph
from tests.unit.guards.looping import (
    WORDS,
    agent,
    alone,
    chapters,
    graph_of,
    judged,
    reviewed,
    scripted,
    with_tool,
)

DRAFTS = [f"A draft about the {word}, written anew." for word in WORDS]
CODE = [f"    total += weights[{line}] * values[{line}]" for line in range(100)]
SAME_VERDICT = scripted({"data": {"decision": "no", "reasoning": "not yet"}})
UNVERIFIED = {
    "data": {
        "claims": [{"claim": "It is so.", "verified": False, "confidence": 0.9, "sources": []}]
    }
}


def edited(line: int) -> str:
    """The code with one line changed."""
    return "\n".join([*CODE[:line], f"    total -= {line}", *CODE[line + 1 :]])


def changing(results: Iterator[Any]) -> Any:
    def look(at: str = "") -> str:
        return f"{at}{next(results)}"

    return look


def by_round(template: str, values: list[Any]) -> Graph:
    return alone(*(template.format(value) for value in values))


def debate() -> Graph:
    sides = ["I say it is better.", "I say it is worse."]
    points = [f"{sides[n % 2]} Think of the {word}." for n, word in enumerate(WORDS)]
    return graph_of(
        [agent("For", *points[::2]), agent("Against", *points[1::2])],
        [("For", "Against"), ("Against", "For"), ("Against", "Done")],
        loops={"For": {"max_rounds": 4}},
    )


def quiet(type: str, config: dict[str, Any]) -> Graph:
    return judged(type, config, DRAFTS)


HONEST: dict[str, Graph] = {
    "a JSON critic whose score rises": reviewed(
        DRAFTS[:4], [f'{{"score": {n}}}' for n in (60, 68, 75, 82)]
    ),
    "the same with the score in data": reviewed(
        DRAFTS[:4], [{"data": {"score": n}} for n in (60, 68, 75, 82)]
    ),
    "a score that stays while the words differ": reviewed(
        DRAFTS[:6], [f'Look at the {word}. {{"score": 60}}' for word in WORDS[:6]]
    ),
    "a score that falls": reviewed(DRAFTS[:5], [f'{{"score": {n}}}' for n in (80, 70, 60, 50, 40)]),
    "scores with a fraction": reviewed(DRAFTS[:4], [f'{{"score": 7.{n}}}' for n in (1, 2, 3, 4)]),
    "a vote that says no": quiet("vote", {"agents": {"A": SAME_VERDICT, "B": SAME_VERDICT}}),
    "a vote of one": quiet("vote", {"agents": {"A": SAME_VERDICT}}),
    "a fact check that says no": quiet("fact_check", {"agent": scripted(UNVERIFIED)}),
    "a fact check that fails": quiet("fact_check", {"agent": scripted("no JSON at all")}),
    "one line of a hundred": alone(*(edited(line) for line in (10, 20, 30, 40, 50, 60, 70, 80))),
    "an operator": alone("if a < b:", "if a <= b:", "if a > b:", "if a >= b:", "if a != b:"),
    "an index": alone(*(f"return items[{n}]" for n in range(8))),
    "a negative number": alone("5", "-5", "5", "-5", "6", "-6"),
    "one character of a regular expression": alone(*(f"^[a-{c}]+$" for c in "bcdefgh")),
    "polling, allowed to": alone("The build is still running.", rounds=12, breaker="off"),
    "polling with a number that changes": by_round("{} % done", [10, 20, 30, 40, 50, 60]),
    "polling with a count down": by_round("Still waiting for {} jobs.", [9, 8, 7, 6, 5, 4]),
    "polling, twice the same, then news": by_round("Queue: {}", [5, 5, 5, 4, 4, 4, 3, 3, 3]),
    "a path that grows": by_round("cd {}", ["a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e"]),
    "files processed, as many as rounds": by_round("Processed {} files.", [1, 2, 3, 4, 5, 6]),
    "steps of a plan": by_round("Step {} is done.", [1, 2, 3, 4, 5, 6]),
    "a compiler's line and column": by_round(
        "main.c:{}: expected ';'", ["3:10", "3:20", "3:45", "4:10"]
    ),
    "a checker that approves each chapter": chapters(["Approved."], 6),
    "a checker that asks twice in each chapter": chapters(["Check once more."], 6, 2),
    "a checker that asks three times in each chapter": chapters(["Check once more."], 4, 3),
    "a loop that has just reached its goal": reviewed(
        ["The same draft."], [*['{"score": 60}'] * 3, '{"score": 95}'], 9, exit_on_score=90
    ),
    "a loop at its last round": alone(*["The same."] * 4),
    "three times the same, then not": alone(*["The same."] * 3, *DRAFTS[:3], *["The same."] * 3),
    "a writer who waits for a score that rises": reviewed(
        ["The same draft."], [f'{{"score": {n}}}' for n in range(50, 90, 5)], 8
    ),
    "a score that rises every other round": reviewed(
        ["The same draft."], [f'{{"score": {50 + n // 2}}}' for n in range(10)], 10
    ),
    "a list that grows": by_round("Found: {}", [", ".join(WORDS[:n]) for n in range(1, 9)]),
    "a list that shrinks": by_round("To do: {}", [", ".join(WORDS[n:]) for n in range(8)]),
    "a debate": debate(),
    "two moods, other words": alone(
        *(f"{('Yes', 'No')[n % 2]}, because of the {word}." for n, word in enumerate(WORDS))
    ),
    "ABAB twice only": alone("A.", "B.", "A.", "B.", "C."),
    "Chinese: drafts": alone(
        *(f"关于{word}的新草稿。" for word in ["港口", "委员会", "面粉", "素数", "小提琴"])
    ),
    "Chinese: scores": reviewed(DRAFTS[:5], [f"评分:{n} 分" for n in (60, 68, 75, 82, 85)]),
    "Chinese: one character": alone(
        "价格上涨。", "价格下跌。", "价格平稳。", "价格未知。", "价格混乱。"
    ),
    "Chinese: polling": by_round("已完成 {} 个任务。", [3, 5, 8, 12, 20]),
    "Chinese: points of a plan": by_round("提出{}点建议。", ["三", "四", "五", "六", "七"]),
    "Chinese: a list that grows": by_round(
        "已完成:{}", ["登录", "登录、注册", "登录、注册、支付", "登录、注册、支付、退款"]
    ),
    "Chinese: a checker in each chapter": chapters(["通过。"], 6),
    "a tool that is read page by page": with_tool(
        lambda page: "the same page", [{"page": n} for n in range(8)]
    ),
    "a tool whose answers change": with_tool(changing(count()), [{}] * 8),
    "a tool polled where that is allowed": with_tool(lambda: "pending", [{}] * 8, breaker="off"),
    "a tool asked again three times": with_tool(
        lambda at="": "empty", [{}, {}, {}, {"at": "a"}, {}, {}, {}]
    ),
    "a literal, a function's words, a person's": graph_of(
        [
            agent("Worker", *DRAFTS),
            {"id": "Says", "type": "literal", "config": {"content": "Once more."}},
            {"id": "Passes", "type": "passthrough"},
        ],
        [("Worker", "Says"), ("Says", "Passes"), ("Passes", "Worker"), ("Passes", "Done")],
        loops={"Worker": {"max_rounds": 8}},
    ),
}
"""By what each of them is."""
