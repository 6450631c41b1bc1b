"""A picture as a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterator

from rondel.certificate.drawing.picture import Picture, Shape

ENTITIES = (
    ("#", "#35;"),
    ("&", "#38;"),
    ('"', "#quot;"),
    ("<", "#lt;"),
    (">", "#gt;"),
    ("`", "#96;"),
)


def mermaid(picture: Picture) -> str:
    """The text of a flowchart with its loops as nested subgraphs."""
    lines = ["flowchart TD", *_inside(picture.whole, "  ")]
    for arrow in picture.arrows:
        line = "-->" if arrow.triggers else "-.->"
        text = f'|"{_escaped(arrow.text)}"|' if arrow.text else ""
        lines.append(f"  n{arrow.source} {line}{text} n{arrow.target}")
    return "\n".join(lines) + "\n"


def _inside(shape: Shape, indent: str) -> Iterator[str]:
    for inner in (each for row in shape.rows for each in row):
        if not inner.rows:
            text = f"{_escaped(inner.title)}<br/><small>{_escaped(inner.kind)}</small>"
            yield f'{indent}n{inner.node}("{text}")'
            continue
        name = f"box{id_of(inner)}" if inner.node is None else f"n{inner.node}"
        kind = f" ({_escaped(inner.kind)})" if inner.kind else ""
        yield f'{indent}subgraph {name}["{_escaped(inner.title)}{kind}"]'
        yield from _inside(inner, f"{indent}  ")
        yield f"{indent}end"


def id_of(shape: Shape) -> str:
    """A name for a box: that of the nodes in it."""
    return "_".join(str(node.node) for node in shape.nodes)


def _escaped(text: str) -> str:
    """Text inside quotes: Mermaid takes entities, written with a hash."""
    plain = " ".join(text.split())
    for mark, entity in ENTITIES:
        plain = plain.replace(mark, entity)
    return plain
