"""How figures and endings read."""

from __future__ import annotations

from typing import Any

import pytest

from rondel.cli.views import ending, money, number

LOOP = {
    "rounds": 3,
    "exit_reason": "exit_edge",
    "value": None,
    "threshold": None,
    "best_round": None,
    "bounded": False,
    "score": None,
    "target": None,
    "note": "",
}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "3 rounds, exit_edge"),
        ({"rounds": 1}, "1 round, exit_edge"),
        ({"value": 90.0, "threshold": 90.0}, "3 rounds, exit_edge (90 >= 90)"),
        ({"value": 89.5, "threshold": 90.0}, "3 rounds, exit_edge (89.5 < 90)"),
        (
            {"value": 3.0, "threshold": 3.0, "score": 70.0, "target": 90.0},
            "3 rounds, exit_edge (3 >= 3), score 70 of 90",
        ),
        (
            {"value": 95.0, "threshold": 90.0, "score": 95.0, "target": 90.0},
            "3 rounds, exit_edge (95 >= 90)",
        ),
        (
            {"bounded": True, "note": "no score found"},
            "3 rounds, exit_edge, goal not reached; no score found",
        ),
        ({"best_round": 2, "bounded": True}, "3 rounds, exit_edge, best round 2, goal not reached"),
    ],
)
def test_an_ending(changes: dict[str, Any], text: str) -> None:
    assert ending(LOOP | changes) == text


def test_figures() -> None:
    assert [number(62.0), number(0.1 + 0.2), number(-3.256)] == ["62", "0.3", "-3.26"]
    assert [money(0), money(0.00042), money(12.5), money(1234.5)] == [
        "$0.0000",
        "$0.0004",
        "$12.50",
        "$1,234.50",
    ]
