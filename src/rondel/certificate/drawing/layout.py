"""The layout of a drawing: rows from top to bottom, loops as boxes around their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rondel.certificate.drawing.picture import Arrow, Picture, Shape

LETTER, WIDE_LETTER = 7.4, 13.0
NODE_HEIGHT = 44.0
NODE_PADDING = 14.0
TITLE = 26.0
PADDING = 22.0
ROW_GAP, COLUMN_GAP = 46.0, 44.0
LANE = 34.0
"""The space on both sides of a box for the arrows that lead back."""


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A place on the sheet."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Its lower side."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2

    def holds(self, x: float, y: float, margin: float = 0.0) -> bool:
        """Whether a point is in it, or nearly."""
        across = self.x - margin <= x <= self.right + margin
        return across and self.y - margin <= y <= self.bottom + margin


@dataclass(slots=True)
class Layout:
    """The place of every shape."""

    places: dict[Shape, Rectangle]
    nodes: dict[int, Rectangle]
    """The places of the nodes."""
    width: float
    height: float


def layout_of(picture: Picture) -> Layout:
    """The places of all shapes of a picture."""
    order = _Order(picture.arrows)
    order.arrange(picture.whole)
    sizes: dict[Shape, tuple[float, float]] = {}
    _measure(picture.whole, sizes)
    places: dict[Shape, Rectangle] = {}
    _place(picture.whole, 0.0, 0.0, sizes, places)
    nodes = {shape.node: places[shape] for shape in places if shape.node is not None}
    width, height = sizes[picture.whole]
    return Layout(places, nodes, width, height)


def text_width(text: str) -> float:
    """About how wide a text is."""
    return sum(WIDE_LETTER if ord(letter) >= 0x2E80 else LETTER for letter in text)


class _Order:
    """Puts the shapes of a row below those that lead to them."""

    def __init__(self, arrows: Sequence[Arrow]) -> None:
        self._sources: dict[int, list[int]] = {}
        for arrow in arrows:
            self._sources.setdefault(arrow.target, []).append(arrow.source)

    def arrange(self, shape: Shape) -> None:
        """Order the rows of a box and of all boxes in it."""
        at: dict[int, float] = {}
        for number, row in enumerate(shape.rows):
            if number:
                row.sort(key=lambda inner: self._wanted(inner, at))
            for place, inner in enumerate(row):
                for node in inner.nodes:
                    if node.node is not None:
                        at[node.node] = (place + 1) / (len(row) + 1)
                self.arrange(inner)

    def _wanted(self, shape: Shape, at: dict[int, float]) -> float:
        found = [
            at[source]
            for node in shape.nodes
            for source in self._sources.get(node.node or 0, ())
            if source in at
        ]
        return sum(found) / len(found) if found else 0.5


def _measure(shape: Shape, sizes: dict[Shape, tuple[float, float]]) -> None:
    title = text_width(shape.title)
    if not shape.rows:
        width = max(title, text_width(shape.kind) * 0.85) + 2 * NODE_PADDING
        sizes[shape] = max(width, 70.0), NODE_HEIGHT
        return
    widths, height = [title - 2 * LANE], TITLE + PADDING
    for row in shape.rows:
        for inner in row:
            _measure(inner, sizes)
        widths.append(sum(sizes[inner][0] for inner in row) + COLUMN_GAP * (len(row) - 1))
        height += max(sizes[inner][1] for inner in row)
    height += ROW_GAP * (len(shape.rows) - 1) + 12.0
    sizes[shape] = max(widths) + 2 * (PADDING + LANE), height


def _place(
    shape: Shape,
    x: float,
    y: float,
    sizes: dict[Shape, tuple[float, float]],
    places: dict[Shape, Rectangle],
) -> None:
    width, height = sizes[shape]
    places[shape] = Rectangle(x, y, width, height)
    top = y + TITLE + 12.0
    for row in shape.rows:
        used = sum(sizes[inner][0] for inner in row) + COLUMN_GAP * (len(row) - 1)
        tallest = max(sizes[inner][1] for inner in row)
        left = x + (width - used) / 2
        for inner in row:
            _place(inner, left, top + (tallest - sizes[inner][1]) / 2, sizes, places)
            left += sizes[inner][0] + COLUMN_GAP
        top += tallest + ROW_GAP
