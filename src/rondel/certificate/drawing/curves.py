"""Curves for arrows: they avoid other nodes, and those that lead back run along the side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rondel.certificate.drawing.layout import Layout, Rectangle, text_width
from rondel.certificate.drawing.picture import Arrow

Point = tuple[float, float]
SIDEWAYS = (0.0, 40.0, -40.0, 80.0, -80.0, 130.0, -130.0, 190.0, -190.0, 260.0, -260.0)
LANES = tuple(side * 14.0 * number for number in range(2, 30) for side in (1, -1))
SAMPLES = 24
LABEL_PLACES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
LABEL_HEIGHT = 15.0
CORNER = 10.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A line from a node to another: one cubic curve, or straight lines with round corners."""

    points: tuple[Point, Point, Point, Point]
    straight: bool = False

    def at(self, part: float) -> Point:
        """The point that far along."""
        return self._on_lines(part) if self.straight else _on_curve(self.points, part)

    @property
    def path(self) -> str:
        """The line as an SVG path."""
        start, first, second, end = self.points
        if not self.straight:
            return f"M{_text(start)}C{_text(first)} {_text(second)} {_text(end)}"
        corner = min(CORNER, abs(second[1] - first[1]) / 2)
        before = (first[0] - _sign(first[0] - start[0]) * corner, first[1])
        after = (first[0], first[1] + _sign(second[1] - first[1]) * corner)
        up = (second[0], second[1] - _sign(second[1] - first[1]) * corner)
        home = (second[0] + _sign(end[0] - second[0]) * corner, second[1])
        turns = f"L{_text(before)}Q{_text(first)} {_text(after)}L{_text(up)}"
        return f"M{_text(start)}{turns}Q{_text(second)} {_text(home)}L{_text(end)}"

    @property
    def detour(self) -> float:
        """How far aside it goes."""
        (x0, _), (x1, _), (x2, _), (x3, _) = self.points
        return abs(x1 - x0) + abs(x2 - x3)

    def _on_lines(self, part: float) -> Point:
        (ax, ay), (bx, by) = self.points[min(int(part * 3), 2) : min(int(part * 3), 2) + 2]
        along = part * 3 - min(int(part * 3), 2)
        return ax + (bx - ax) * along, ay + (by - ay) * along


class CurveRouter:
    """Finds a curve for one arrow after the other."""

    def __init__(self, layout: Layout, arrows: Sequence[Arrow]) -> None:
        self._nodes = layout.nodes
        self._plain = {
            shape.node: place
            for shape, place in layout.places.items()
            if shape.node is not None and not shape.rows
        }
        self._boxes = [
            (place, {node.node for node in shape.nodes})
            for shape, place in layout.places.items()
            if shape.rows
        ]
        self._leaving = Counter(arrow.source for arrow in arrows if self._goes_down(arrow))
        self._arriving = Counter(arrow.target for arrow in arrows if self._goes_down(arrow))
        self._left: Counter[int] = Counter()
        self._arrived: Counter[int] = Counter()
        self._back: Counter[int] = Counter()
        self._labels: list[Rectangle] = []
        self._taken: list[Point] = []

    def curve(self, arrow: Arrow) -> Curve:
        """The curve of an arrow that hits the fewest nodes and earlier arrows."""
        best = min(self._candidates(arrow), key=lambda curve: self._hits(arrow, curve))
        self._taken += [best.at(part / 12) for part in range(1, 12)]
        return best

    def _goes_down(self, arrow: Arrow) -> bool:
        return self._nodes[arrow.target].y >= self._nodes[arrow.source].bottom

    def _candidates(self, arrow: Arrow) -> list[Curve]:
        source, target = self._nodes[arrow.source], self._nodes[arrow.target]
        if self._goes_down(arrow):
            return list(self._downwards(arrow, source, target))
        self._back[arrow.target] += 1
        return list(_backwards(source, target, 6.0 * self._back[arrow.target]))

    def _downwards(self, arrow: Arrow, source: Rectangle, target: Rectangle) -> Iterator[Curve]:
        self._left[arrow.source] += 1
        self._arrived[arrow.target] += 1
        start = _spread(source, self._left[arrow.source], self._leaving[arrow.source])
        end = _spread(target, self._arrived[arrow.target], self._arriving[arrow.target])
        reach = max((target.y - source.bottom) * 0.45, 18.0)
        for aside in SIDEWAYS:
            first = (start + aside * 1.3, source.bottom + reach)
            second = (end + aside * 1.3, target.y - reach)
            yield Curve(((start, source.bottom), first, second, (end, target.y)))

    def _hits(self, arrow: Arrow, curve: Curve) -> float:
        hits = 0.0
        for number in range(1, SAMPLES):
            x, y = curve.at(number / SAMPLES)
            for node, place in self._plain.items():
                if node not in (arrow.source, arrow.target):
                    hits += 10 * place.holds(x, y, 4.0)
            for place, inside in self._boxes:
                if arrow.source not in inside and arrow.target not in inside:
                    hits += place.holds(x, y, 4.0)
            hits += sum(abs(x - tx) < 7 and abs(y - ty) < 7 for tx, ty in self._taken)
        return hits + curve.detour / 400

    def label(self, arrow: Arrow, curve: Curve) -> Point:
        """The middle of the arrow's text, where it hides the least."""
        half = text_width(arrow.text) * 0.8 / 2
        places = [curve.at(part) for part in LABEL_PLACES]
        best = min(places, key=lambda point: self._hidden(_around(point, half)))
        self._labels.append(_around(best, half))
        return best

    def _hidden(self, place: Rectangle) -> int:
        others = (*self._labels, *self._plain.values())
        return sum(_overlap(place, other) for other in others)


def _around(point: Point, half: float) -> Rectangle:
    x, y = point
    return Rectangle(x - half, y - LABEL_HEIGHT / 2, 2 * half, LABEL_HEIGHT)


def _backwards(source: Rectangle, target: Rectangle, shift: float) -> Iterator[Curve]:
    """Along a lane on one side, from the middle of one node to that of the other."""
    start, end = source.middle[1], target.middle[1] + min(shift, 18.0) - 6.0
    if source is target:
        start, end = source.bottom - 12, source.y + 12
    for aside in LANES:
        if aside > 0:
            side = max(source.right, target.right) + aside
            points = ((source.right, start), (side, start), (side, end), (target.right, end))
        else:
            side = min(source.x, target.x) + aside
            points = ((source.x, start), (side, start), (side, end), (target.x, end))
        yield Curve(points, straight=True)


def _spread(place: Rectangle, number: int, count: int) -> float:
    """Where the number-th of several arrows meets a side."""
    return place.x + place.width * number / (count + 1)


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    apart = one.right < other.x or other.right < one.x
    return not (apart or one.bottom < other.y or other.bottom < one.y)


def _on_curve(points: Sequence[Point], part: float) -> Point:
    rest = 1 - part
    weights = (rest**3, 3 * rest**2 * part, 3 * rest * part**2, part**3)
    x = sum(weight * point[0] for weight, point in zip(weights, points, strict=True))
    return x, sum(weight * point[1] for weight, point in zip(weights, points, strict=True))


def _sign(number: float) -> float:
    return 1.0 if number > 0 else -1.0


def _text(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
