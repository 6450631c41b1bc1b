"""The key `x-rondel` in a file of another system: what that system has no place for.

It stands beside the other keys of a graph, a node or an edge, and the other system ignores it.
What it holds takes the place of what the translation of those keys gives: field by field, and
within `config` too. `without` names fields that only the other system needs; `edges` holds the
edges that it could not hold, each with its place among all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rondel.formats.translation import Draft
from rondel.graph.source import Path

KEY = "x-rondel"
WITHOUT = "without"
EDGES = "edges"
PLACE = "at"
CONFIG = "config"
DOCUMENT = "document"
STAND_IN = "stand_in"
"""In a Council workflow: what stands beside the graph, and a node that only Council needs."""

APART = (WITHOUT, EDGES, DOCUMENT)
"""What under the key is no field of what it stands beside."""


def difference(native: Mapping[str, Any], translated: Mapping[str, Any]) -> dict[str, Any]:
    """The extension with which `extended` turns the translation into `native`."""
    changed, gone = _fields(native, translated, {CONFIG})
    inside, missing = _fields(native.get(CONFIG) or {}, translated.get(CONFIG) or {}, set())
    if inside:
        changed[CONFIG] = inside
    gone += [f"{CONFIG}.{name}" for name in missing]
    return {**changed, WITHOUT: gone} if gone else changed


def _fields(
    native: Mapping[str, Any], translated: Mapping[str, Any], apart: set[str]
) -> tuple[dict[str, Any], list[str]]:
    changed = {
        key: value
        for key, value in native.items()
        if key not in apart and (key not in translated or translated[key] != value)
    }
    gone = [key for key in translated if key not in native and key not in apart]
    return changed, gone


def extended(
    draft: Draft, translated: dict[str, Any], extension: Any, path: Path, native: Path
) -> dict[str, Any]:
    """The translation with what its extension says; `path` is where the file has both."""
    place = (*path, KEY)
    if extension is None:
        return translated
    if not isinstance(extension, dict):
        draft.refuse(place, f"{KEY!r} is not a mapping", "remove it")
        return translated
    made = _without(draft, dict(translated), extension.get(WITHOUT, []), (*place, WITHOUT))
    for key, value in extension.items():
        if key in APART:
            continue
        if key == CONFIG and isinstance(value, dict):
            made[CONFIG] = {**(made.get(CONFIG) or {}), **value}
            for name in value:
                draft.moved((*native, CONFIG, name), (*place, CONFIG, name))
        elif key == "nodes":
            draft.refuse((*place, key), f"{KEY!r} holds no nodes", "put them into the graph")
        else:
            made[key] = value
            draft.moved((*native, key), (*place, key))
    return made


def _without(draft: Draft, made: dict[str, Any], names: Any, place: Path) -> dict[str, Any]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        draft.refuse(place, f"{WITHOUT!r} is not a list of names", "write it as [first, second]")
        return made
    for name in names:
        inside = name.removeprefix(f"{CONFIG}.")
        if inside == name:
            made.pop(name, None)
        else:
            settings = made.get(CONFIG) or {}
            made[CONFIG] = {key: settings[key] for key in settings if key != inside}
    return made


def extra_edges(draft: Draft, extension: Any, path: Path) -> Iterator[tuple[int, Any, Path]]:
    """The edges that only the extension of a graph has: the place, the edge, where it stands."""
    given = extension.get(EDGES, []) if isinstance(extension, dict) else []
    place = (*path, KEY, EDGES)
    for number, edge in enumerate(given if isinstance(given, list) else [given]):
        at = edge.get(PLACE) if isinstance(edge, dict) else None
        if not isinstance(at, int) or isinstance(at, bool) or at < 0:
            hint = "give its number among all edges, from 0"
            draft.refuse((*place, number), f"the edge has no place {PLACE!r}", hint)
        else:
            inside = {key: value for key, value in edge.items() if key != PLACE}
            yield at, inside, (*place, number)
