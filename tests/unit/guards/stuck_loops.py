"""Loops that get nowhere, beyond doubt: each is locked within six repeats."""

from __future__ import annotations

from typing import Any

from rondel import Graph
from tests.unit.guards.looping import WORDS, agent, alone, graph_of, reviewed, with_tool

MANY = 40


def stuck(*answers: Any) -> Graph:
    """These again and again."""
    return alone(*answers * MANY, rounds=MANY)


def broken() -> str:
    raise OSError("no such file")


def with_clock(times: list[str], template: str) -> Graph:
    return alone(*(template.format(time) for time in times), rounds=len(times))


CIRCLES = {
    f"a circle of {length}": (stuck(*(f"Ask the {word}." for word in WORDS[:length])), length)
    for length in range(2, 7)
}

STUCK: dict[str, tuple[Graph, int]] = {
    "the same": (stuck("I will run the tests again."), 1),
    "the same data": (stuck({"data": {"score": 60, "verdict": "no"}}), 1),
    "a score that stays": (reviewed(["A draft."], ['{"score": 60}'], MANY), 1),
    "a stuck writer and a critic with news": (
        reviewed(
            ["A draft."], [f"Look at the {word} {n}." for n, word in enumerate(WORDS * 4)], 30
        ),
        1,
    ),
    "case": (stuck("Try again.", "TRY AGAIN.", "try again."), 1),
    "punctuation at the edges": (
        stuck("Try again", "Try again!", "**Try again**", "Try again…"),
        1,
    ),
    "white space": (stuck("Try  again.", "Try\nagain.", " Try again. "), 1),
    "only the round": (alone(*(f"Round {n}: it still fails." for n in range(1, 20))), 1),
    "only the attempt": (alone(*(f"Attempt {n} of 20 failed." for n in range(1, 20))), 1),
    "only the attempt, as JSON": (
        alone(*(f'{{"attempt": {n}, "ok": false}}' for n in range(1, 20))),
        1,
    ),
    "only the round, in data": (
        alone(*({"content": "No.", "data": {"iteration": n}} for n in range(1, 20))),
        1,
    ),
    "only the draft's number": (alone(*(f"Draft {n}: tea is hot." for n in range(1, 20))), 1),
    "only the date": (
        with_clock([f"2026-03-{n:02}" for n in range(1, 20)], "Checked on {}: nothing new."),
        1,
    ),
    "only the day": (
        with_clock(
            [
                f"{day}, {n} March 2026"
                for n, day in enumerate(("Monday", "Tuesday", "Friday") * 3, 2)
            ],
            "On {} nothing was there.",
        ),
        1,
    ),
    "only the time": (with_clock([f"10:{n}:07" for n in range(10, 30)], "At {} it was down."), 1),
    "only the moment": (
        with_clock([f"2026-03-01T10:{n}:07.123Z" for n in range(10, 30)], "{} ERROR down"),
        1,
    ),
    **CIRCLES,
    "a failing tool": (with_tool(broken, [{}] * 20), 1),
    "a tool with the same result": (with_tool(lambda at: "pending", [{"at": "job 7"}] * 20), 1),
    "Chinese: the same": (stuck("我再试一次。", "我再试一次!", "我再试一次"), 1),
    "Chinese: only the round": (
        alone(*(f"第{n}轮:测试仍未通过。" for n in ("一", "二", "3", "四", "五", "六", "七"))),
        1,
    ),
    "Chinese: only the date": (
        with_clock([f"2026年3月{n}日" for n in range(1, 20)], "{}检查:没有变化。"),
        1,
    ),
    "Chinese: only the time": (
        with_clock([f"下午{n}点" for n in range(1, 12)], "{}服务仍不可用。"),
        1,
    ),
    "Chinese: a circle": (stuck("请问账单部门。", "账单部门需要更多数据。"), 2),
    "the checker of one chapter": (
        graph_of(
            [agent("Author", *(f"About {word}." for word in WORDS)), agent("Checker", "Again.")],
            [("Author", "Checker"), ("Checker", "Checker"), ("Checker", "Done")],
            loops={"Checker": {"max_rounds": 30}},
        ),
        1,
    ),
}
"""By what each of them is: the graph, and how many outputs make one repeat."""
