"""A picture as SVG, without any other tool."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rondel.certificate.drawing.curves import Curve, CurveRouter, Point
from rondel.certificate.drawing.layout import Layout, Rectangle, layout_of
from rondel.certificate.drawing.picture import Arrow, Picture, Shape

MARGIN = 20.0
STYLE = """
  text { font-family: system-ui, 'Noto Sans', 'Noto Sans CJK SC', sans-serif; fill: #1f2933; }
  .id { font-size: 13px; font-weight: 600; text-anchor: middle; }
  .type { font-size: 11px; fill: #616e7c; text-anchor: middle; }
  .title { font-size: 12px; font-weight: 600; fill: #1d4ed8;
    stroke: #ffffff; stroke-width: 3px; paint-order: stroke; stroke-linejoin: round; }
  .inner { fill: #616e7c; }
  .label { font-size: 11px; text-anchor: middle; fill: #3e4c59;
    stroke: #ffffff; stroke-width: 4px; paint-order: stroke; stroke-linejoin: round; }
  .node { fill: #ffffff; stroke: #3e4c59; stroke-width: 1.3px; }
  .loop { fill: #3b82f6; fill-opacity: 0.07; stroke: #3b82f6; stroke-width: 1.3px; }
  .graph { fill: #9aa5b1; fill-opacity: 0.08; stroke: #9aa5b1; stroke-width: 1.3px; }
  .edge { fill: none; stroke: #52606d; stroke-width: 1.3px; }
  .data { stroke-dasharray: 5 4; }
"""


def svg(picture: Picture) -> str:
    """The text of an SVG file."""
    layout = layout_of(picture)
    router = CurveRouter(layout, picture.arrows)
    curves = [(arrow, router.curve(arrow)) for arrow in picture.arrows]
    left, top, width, height = _extent(layout, [curve for _, curve in curves])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{left:.0f} {top:.0f} {width:.0f} {height:.0f}">',
        f"<title>{escape(picture.title)}</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#52606d"/></marker></defs>',
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" '
        'fill="#ffffff"/>',
        *_boxes(picture.whole, layout),
        *(_path(arrow, curve) for arrow, curve in curves),
        *_titles(layout),
        *_nodes(layout),
        *(_label(arrow, router.label(arrow, curve)) for arrow, curve in curves if arrow.text),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _extent(layout: Layout, curves: list[Curve]) -> tuple[float, float, float, float]:
    points = [curve.at(part / 8) for curve in curves for part in range(9)]
    xs = [0.0, layout.width, *(x for x, _ in points)]
    ys = [0.0, layout.height, *(y for _, y in points)]
    left, top = min(xs) - MARGIN, min(ys) - MARGIN
    return left, top, max(xs) + MARGIN - left, max(ys) + MARGIN - top


def _boxes(whole: Shape, layout: Layout) -> Iterator[str]:
    """The boxes, outer ones first."""
    work = [inner for row in whole.rows for inner in row]
    for shape in work:
        work.extend(inner for row in shape.rows for inner in row)
        if not shape.rows:
            continue
        yield _rectangle(layout.places[shape], "loop" if shape.is_loop else "graph", 12)


def _titles(layout: Layout) -> Iterator[str]:
    for shape, place in layout.places.items():
        if not shape.rows or not (shape.is_loop or shape.kind):
            continue
        title = shape.title if shape.is_loop else f"{shape.title} ({shape.kind})"
        styled = "title" if shape.is_loop else "title inner"
        yield (
            f'<text class="{styled}" x="{place.x + 12:.1f}" y="{place.y + 18:.1f}">'
            f"{escape(title)}</text>"
        )


def _nodes(layout: Layout) -> Iterator[str]:
    for shape, place in layout.places.items():
        if shape.rows or shape.node is None:
            continue
        x, y = place.middle
        yield _rectangle(place, "node", 9)
        yield f'<text class="id" x="{x:.1f}" y="{y - 2:.1f}">{escape(shape.title)}</text>'
        yield f'<text class="type" x="{x:.1f}" y="{y + 14:.1f}">{escape(shape.kind)}</text>'


def _rectangle(place: Rectangle, kind: str, corner: int) -> str:
    return (
        f'<rect class="{kind}" x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{corner}"/>'
    )


def _path(arrow: Arrow, curve: Curve) -> str:
    kind = "edge" if arrow.triggers else "edge data"
    return f'<path class="{kind}" d="{curve.path}" marker-end="url(#tip)"/>'


def _label(arrow: Arrow, middle: Point) -> str:
    x, y = middle
    return f'<text class="label" x="{x:.1f}" y="{y + 4:.1f}">{escape(arrow.text)}</text>'
