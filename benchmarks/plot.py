"""A bar chart on a logarithmic scale, written as SVG that reads on white and on dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 860
LEFT = 200
RIGHT = 110
TOP = 64
BAR = 13
GAP = 9

FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\""
INK = "#7b848e"
GRID = "#8b949e"
COLOURS = {"floor": "#9aa4ae", "rondel": "#e8590c", "peer": "#3f83d6"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One figure: what it is of, and its value, or a word where there is none."""

    label: str
    value: float | None
    words: str


@dataclass(frozen=True, slots=True)
class Row:
    """The bars of one contender."""

    title: str
    kind: str
    """`floor`, `rondel` or `peer`."""
    bars: Sequence[Bar]


def bar_chart(title: str, note: str, rows: Sequence[Row]) -> str:
    """The whole chart as one SVG document."""
    scale = Scale.over([bar.value for row in rows for bar in row.bars if bar.value])
    heights = [BAR * len(row.bars) + GAP for row in rows]
    bottom = TOP + sum(heights)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" '
        f'width="{WIDTH}" height="{bottom + 30}" role="img" {FONT}>',
        f"<title>{escape(title)}</title>",
        _text(12, 22, title, 15, weight="600"),
        _text(12, 42, note, 12),
        *_grid(scale, bottom),
    ]
    top = TOP
    for row, height in zip(rows, heights, strict=True):
        parts += _row(row, top, scale)
        top += height
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a value is on the axis: whole powers of ten at both ends."""

    low: int
    high: int

    @classmethod
    def over(cls, values: Sequence[float]) -> Scale:
        """One that holds all the values."""
        logs = [math.log10(value) for value in values if value > 0] or [0.0]
        low = math.floor(min(logs))
        return cls(low, max(math.ceil(max(logs)), low + 1))

    def at(self, value: float) -> float:
        """The place of a value; what is not above nothing is at the left end."""
        part = (math.log10(value) - self.low) / (self.high - self.low) if value > 0 else 0.0
        return LEFT + max(0.0, part) * (WIDTH - LEFT - RIGHT)


def _grid(scale: Scale, bottom: float) -> list[str]:
    lines = []
    for power in range(scale.low, scale.high + 1):
        x = f"{scale.at(10.0**power):.1f}"
        lines.append(
            f'<line x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{bottom}" '
            f'stroke="{GRID}" stroke-opacity="0.35"/>'
        )
        lines.append(_text(float(x), bottom + 16, _power(power), 11, anchor="middle"))
    return lines


def _row(row: Row, top: float, scale: Scale) -> list[str]:
    colour = COLOURS[row.kind]
    middle = top + BAR * len(row.bars) / 2 + 4
    weight = "600" if row.kind == "rondel" else "400"
    parts = [_text(LEFT - 48, middle, row.title, 12, anchor="end", weight=weight)]
    for number, bar in enumerate(row.bars):
        y = top + BAR * number
        end = LEFT if bar.value is None else max(scale.at(bar.value), LEFT + 2)
        opacity = 0.55 + 0.45 * (number + 1) / len(row.bars)
        parts.append(_text(LEFT - 6, y + 9.5, bar.label, 9, anchor="end"))
        if bar.value is not None:
            parts.append(
                f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="{BAR - 2}" rx="2" '
                f'fill="{colour}" fill-opacity="{opacity:.2f}"/>'
            )
        parts.append(_text(end + 5, y + 9.5, bar.words, 10, weight=weight))
    return parts


def _text(
    x: float, y: float, words: str, size: int, *, anchor: str = "start", weight: str = "400"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{INK}">{escape(words)}</text>'
    )


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"
