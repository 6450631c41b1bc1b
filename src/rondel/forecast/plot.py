"""A picture of a simulation: rounds of every loop and the cost, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from rondel.forecast.figures import histogram
from rondel.forecast.simulation import Simulation

WIDTH, HEIGHT, GAP, LEFT, TOP = 460, 180, 60, 50, 40
BINS = 20


def svg_of(simulation: Simulation) -> str:
    """The picture as SVG."""
    charts: list[tuple[str, list[tuple[str, int]]]] = []
    for head in simulation.heads:
        counts = histogram(simulation.rounds(head))
        charts.append((f"{head}: rounds", [(str(each), counts[each]) for each in counts]))
    charts.append(("cost of a run, USD", _binned([run.usd for run in simulation.runs])))
    height = TOP + len(charts) * (HEIGHT + GAP)
    drawn = "\n".join(_chart(*each, place) for place, each in enumerate(charts))
    title = f"{len(simulation.runs):,} simulated runs of {simulation.plan.spec.id}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 2 * LEFT}" height="{height}" '
        f'font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n'
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>\n{drawn}\n</svg>\n'
    )


def _binned(values: Sequence[float]) -> list[tuple[str, int]]:
    """So many equal steps from the least to the most."""
    low, high = min(values), max(values)
    if high == low:
        return [(f"{low:.4f}", len(values))]
    step = (high - low) / BINS
    counts = [0] * BINS
    for value in values:
        counts[min(int((value - low) / step), BINS - 1)] += 1
    labels = [f"{low + step * number:.4f}" if number % 5 == 0 else "" for number in range(BINS)]
    return list(zip(labels, counts, strict=True))


def _chart(name: str, bars: list[tuple[str, int]], place: int) -> str:
    top = TOP + place * (HEIGHT + GAP) + 20
    most = max(count for _, count in bars)
    width = WIDTH / max(len(bars), 1)
    parts = [f'<text x="{LEFT}" y="{top - 6}" font-weight="bold">{escape(name)}</text>']
    for number, (label, count) in enumerate(bars):
        tall = HEIGHT * count / most
        x, y = LEFT + number * width, top + HEIGHT - tall
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width - 2, 1):.1f}" height="{tall:.1f}" '
            f'fill="#4a7ebb"><title>{escape(label)}: {count}</title></rect>'
        )
        middle = x + width / 2
        if label:
            parts.append(
                f'<text x="{middle:.1f}" y="{top + HEIGHT + 14}" text-anchor="middle">'
                f"{escape(label)}</text>"
            )
    return "\n".join(parts)
