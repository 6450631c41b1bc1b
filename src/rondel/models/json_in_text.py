"""JSON objects in what a model wrote: `rondel.graph.json_in_text`, under its older name."""

from __future__ import annotations

from rondel.graph.json_in_text import MAX_DEPTH, objects_in

__all__ = ["MAX_DEPTH", "objects_in"]
