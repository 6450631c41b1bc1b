"""What is under way, folded from events and put into lines, without a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from rich.cells import cell_len

from rondel.cli.cells import head, sparkline, tail, wrapped
from rondel.cli.live.lines import GraphFacts, LoopFacts, NodeFacts, Space, cost, lines_of
from rondel.cli.live.session_now import SessionNow
from rondel.graph.spec import BudgetSpec
from rondel.sessions.event import Event

START = 1_700_000_000.0
FACTS = GraphFacts(
    loops={"Outline": LoopFacts(6, 90.0, BudgetSpec(usd=0.1)), "Draft": LoopFacts(3)},
    nodes={"Talk": NodeFacts(3, 3, 2)},
)


def event(name: str, address: str | None, **data: Any) -> Event:
    node = address.rpartition("/")[2].partition("[")[0] if address else None
    return Event(1, name, "2023-11-14T22:13:20Z", "s", node, address, data)


def running(address: str) -> Event:
    return event("node_state_change", address, status="running")


def completed(address: str) -> Event:
    return event("node_state_change", address, status="completed")


def begun(loop: str, address: str, round: int) -> Event:
    return event("loop:round_started", address, loop=loop, round=round)


def ended(loop: str, address: str, round: int, score: float | None) -> Event:
    return event("loop:round_completed", address, loop=loop, round=round, score=score)


def spent(address: str, usd: float) -> Event:
    return event("token_usage", address, input_tokens=900, output_tokens=100, usd=usd)


def shown(*events: Event, columns: int = 100, rows: int = 20) -> list[str]:
    current = SessionNow()
    for each in events:
        current.fold(each)
    lines = lines_of(current, FACTS, Space(columns, rows, START + 12))
    return ["".join(span.text for span in line).rstrip() for line in lines]


ROUNDS = (
    begun("Outline", "Outline[1]", 1),
    spent("Outline[1]/Outline", 0.005),
    ended("Outline", "Outline[1]", 1, 62.0),
    begun("Outline", "Outline[2]", 2),
    spent("Outline[2]/Outline", 0.008),
    ended("Outline", "Outline[2]", 2, 82.0),
    begun("Outline", "Outline[3]", 3),
)


def test_a_loop_shows_its_round_scores_cost_and_a_curve() -> None:
    first, last = shown(*ROUNDS)
    assert first == "Outline  round 3/6 · score 62 → 82 of 90 · $0.013 of $0.10  ▁▆"
    assert last == "12s · steps done: 0 · 2,000 tokens · $0.013"


def test_every_step_has_a_line_with_its_time_and_what_it_says() -> None:
    said = event("token_stream", "B", chunk="hello\nthere", agent="B")
    lines = shown(*(running(name) for name in "ABCDE"), said)
    assert [line.split()[1] for line in lines[:5]] == [*"ABCDE"]
    assert lines[0] == "⠋ A    12s"
    assert lines[1] == "⠋ B    12s  hello there"
    assert shown(running("A"), completed("A")) == ["12s · steps done: 1"]


def test_inner_loops_are_indented_and_gone_when_they_end() -> None:
    inner = [
        *ROUNDS,
        begun("Draft", "Outline[3]/Draft[1]", 1),
        running("Outline[3]/Draft[1]/Polish"),
    ]
    lines = shown(*inner)
    assert lines[1] == "  Draft  round 1/3"
    assert lines[2] == "    ⠋ Polish    12s"
    over = event("loop:exited", "Outline[3]/Draft", exit_reason="exit_edge")
    assert len(shown(*inner, completed("Outline[3]/Draft[1]/Polish"), over)) == 2


def test_retries_and_debates_are_told() -> None:
    failed = event("error", "Talk", error="busy", kind="retry")
    said = event("token_stream", "Talk", chunk="I agree", agent="Optimist")
    turn = event("debate:round", "Talk", round=1, agent="Optimist", content="x")
    assert shown(running("Talk"), failed)[0] == "⠋ Talk    12s  try 2 of 3  round 1/3"
    assert shown(running("Talk"), said)[0] == "⠋ Talk    12s  round 1/3 · Optimist  I agree"
    void = event("token_stream", "Talk", chunk="", agent="Optimist")
    assert "I agree" not in shown(running("Talk"), said, void)[0]
    assert shown(running("Talk"), turn, turn)[0] == "⠋ Talk    12s  round 2/3"


def test_a_loop_that_failed_goes_on_when_it_is_resumed() -> None:
    over = event("loop:exited", "Outline", exit_reason="failed")
    failed = event("session_state_change", None, status="failed", reason="")
    again = event("session_state_change", None, status="running", reason="")
    assert len(shown(*ROUNDS, over, failed)) == 1
    assert "score 62 → 82" in shown(*ROUNDS, over, failed, again)[0]


@pytest.mark.parametrize("columns", [120, 80, 60, 30, 12])
def test_no_line_is_wider_than_the_window(columns: int) -> None:
    chinese = "标题应当更短，第二段重复了第一段的意思" * 5
    events = [
        *ROUNDS,
        running("Outline[3]/审校员"),
        running("Outline[3]/" + "long " * 40),
        event("token_stream", "Outline[3]/审校员", chunk=chinese, agent="审校员"),
    ]
    assert all(cell_len(line) <= columns for line in shown(*events, columns=columns))


def test_what_has_no_room_is_counted() -> None:
    lines = shown(*(running(f"node {number}") for number in range(50)), rows=10)
    assert len(lines) == 10
    assert lines[8] == "... and 42 more lines"


def test_texts_are_measured_in_cells() -> None:
    assert head("第一稿太长", 6) == "第一…"
    assert tail("第一稿太长", 6) == "…太长"
    assert head("abc", 3) == "abc"


@pytest.mark.parametrize("width", [10, 17, 40])
def test_words_are_kept_whole_and_lines_fit(width: int) -> None:
    text = (
        "Loops deserve names, and 循环应当有名字，也应当有上限。\n  - an item that is long\n\nend"
    )
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert not [line for line in lines if line.startswith(("，", "。"))]
    assert {"Loops", "deserve", "names,"} <= {word for line in lines for word in line.split()}


def test_a_word_that_is_longer_than_the_window_is_broken() -> None:
    assert wrapped("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]


def test_curves_and_costs() -> None:
    assert sparkline([60]) == ""
    assert sparkline([60, 60]) == "▄▄"
    assert sparkline([10, 50, 90]) == "▁▅█"
    assert sparkline([10, 50], 90) == "▁▅"
    assert [cost(usd) for usd in (0, 0.1, 0.013, 0.00042, 12.5)] == [
        "$0.00",
        "$0.10",
        "$0.013",
        "$0.0004",
        "$12.50",
    ]
