"""Drawings of a graph with its loops as boxes, the bounds on them."""

from rondel.certificate.drawing.mermaid import mermaid
from rondel.certificate.drawing.picture import picture_of
from rondel.certificate.drawing.svg import svg

__all__ = ["mermaid", "picture_of", "svg"]
