"""Edges of ChatDev: conditions, processors and dynamic execution."""

from __future__ import annotations

import re
from typing import Any

from rondel.formats.extension import KEY, extended, extra_edges
from rondel.formats.translation import Draft
from rondel.graph.names import Names
from rondel.graph.source import Path

EDGE = (
    *("from", "to", "trigger", "condition", "carry_data", "keep_message"),
    *("clear_context", "clear_kept_context", "process", "dynamic"),
)
KEYWORD = ("any", "none", "regex", "case_sensitive")
REGEX = ("pattern", "group", "case_sensitive", "multiple", "template", "on_no_match")
REGEX_FLAGS = {"multiline": "m", "dotall": "s"}
SPLIT = ("pattern", "group", "case_sensitive", "on_no_match", *REGEX_FLAGS)
LEADING_FLAGS = re.compile(r"\(\?([aimsux]+)\)")
PROCESSORS = ("regex_extract", "function", "template")
CONSTANTS = {None: True, True: True, False: False, "true": True, "always_false": False}
"""Conditions that need no function; `true` is also what a missing one is."""


def edges(draft: Draft, given: list[Any], path: Path, extension: Any = None) -> list[Any]:
    """The edges; a later one with the same ends takes the place of the earlier one.

    Those that only the graph's extension has stand among them where it says.
    """
    found: list[tuple[Any, Path]] = []
    places: dict[tuple[Any, Any], int] = {}
    for number, edge in enumerate(given):
        place = (*path, number)
        if not isinstance(edge, dict):
            found.append((edge, place))
            continue
        ends = (str(edge.get("from")), str(edge.get("to")))
        index = places.setdefault(ends, len(found))
        if index == len(found):
            found.append((edge, place))
        else:
            _tell_replaced(draft, ends, place, found[index][1])
            found[index] = (edge, place)
    extra = set()
    for at, edge, place in extra_edges(draft, extension, path[:-1]):
        extra.add(place)
        found.insert(at, (edge, place))
    return [
        _placed(draft, edge, place, (*path, index), translated=place not in extra)
        for index, (edge, place) in enumerate(found)
    ]


def _tell_replaced(draft: Draft, ends: tuple[str, str], place: Path, first: Path) -> None:
    where = f"{ends[0]!r} to {ends[1]!r}"
    message = f"the edge from {where} replaces the one on line {draft.line(first)}"
    draft.leave_out(place, message, "remove that one, or join their conditions")


def _placed(draft: Draft, edge: Any, place: Path, native: Path, *, translated: bool) -> Any:
    draft.moved(native, place)
    if not translated or not isinstance(edge, dict):
        return edge
    return _edge(draft, edge, place, native)


def _edge(draft: Draft, edge: dict[str, Any], path: Path, native: Path) -> dict[str, Any]:
    kept = draft.kept(edge, path, (*EDGE, KEY))
    extension = kept.pop(KEY, None)
    for key in ("trigger", "carry_data", "keep_message", "clear_context", "clear_kept_context"):
        if key in kept and kept[key] is None:
            del kept[key]
    condition = kept.pop("condition", None)
    translated = _condition(draft, condition, (*path, "condition"))
    if translated is not True:
        kept["condition"] = translated
    if isinstance(condition, str):  # the name of a function, in the place of its config
        draft.moved((*native, "condition", "config", "name"), (*path, "condition"))
    for key, translate in (("process", _process), ("dynamic", _dynamic)):
        if key in kept:
            made = translate(draft, kept.pop(key), (*path, key), (*native, key))
            if made is not None:
                kept[key] = made
    return extended(draft, kept, extension, path, native)


def _condition(draft: Draft, given: Any, path: Path) -> Any:
    if given is None or isinstance(given, bool | str):
        return CONSTANTS.get(given, _function(given))
    if not isinstance(given, dict):
        return given
    kind, config = given.get("type"), given.get("config")
    if kind not in ("function", "keyword"):
        hint = Names(("function", "keyword"), what="ChatDev has").hint(str(kind))
        draft.refuse((*path, "type"), f"there is no condition {kind!r} in ChatDev", hint)
        return True
    if not isinstance(config, dict):
        draft.refuse(path, "the condition has no config", "add: config: {...}")
        return True
    if kind == "function":
        return _condition(draft, config.get("name"), path)
    kept = draft.kept(config, (*path, "config"), (*KEYWORD, "default"))
    kept.pop("default", None)
    for key in ("any", "none", "regex"):
        if key in kept and not isinstance(kept[key], list):
            kept[key] = [] if kept[key] is None else [kept[key]]
    return {"type": "keyword", "config": kept}


def _function(name: Any) -> dict[str, Any]:
    """A function as a condition; in ChatDev it takes the text of the message."""
    return {"type": "function", "config": {"name": name, "takes": "text"}}


def _process(draft: Draft, given: Any, path: Path, native: Path) -> Any:
    if not isinstance(given, dict):
        return given
    kind, config = given.get("type"), given.get("config")
    if kind not in PROCESSORS:
        hint = Names(PROCESSORS, what="there are").hint(str(kind))
        draft.refuse((*path, "type"), f"the processor {kind!r} has no counterpart", hint)
        return None
    if not isinstance(config, dict):
        draft.refuse(path, "the processor has no config", "add: config: {...}")
        return None
    if kind == "function":
        kept = draft.kept(config, (*path, "config"), ("name",))
        return {"type": kind, "config": {**kept, "takes": "text"}}
    place = (*path, "config")
    if kind == "template":
        return {"type": kind, "config": draft.kept(config, place, ("template",))}
    known = (*REGEX, "default_value", "mode", *REGEX_FLAGS)
    kept = {k: v for k, v in draft.kept(config, place, known).items() if v is not None}
    for key in ("template", "group", "on_no_match"):
        if kept.get(key) == "":  # there empty text is none
            del kept[key]
    mode = kept.pop("mode", "replace_content")
    if mode != "replace_content":
        message = f"regex_extract with mode {mode!r} has no counterpart"
        draft.refuse((*place, "mode"), message, "it replaces the content")
    _fold_flags(draft, kept, place)
    kept["group"] = _group(kept.get("group", 0))
    if kept["group"] == 0:
        del kept["group"]
    draft.moved((*native, "config"), place)
    return {"type": kind, "config": kept}


def _group(group: Any) -> Any:
    return int(group) if isinstance(group, str) and group.isdigit() else group


def _fold_flags(draft: Draft, config: dict[str, Any], path: Path) -> None:
    """Moves the flags beside a pattern into the pattern."""
    flags = "".join(flag for key, flag in REGEX_FLAGS.items() if config.pop(key, None))
    pattern = config.get("pattern")
    if flags and isinstance(pattern, str):
        config["pattern"] = _with_flags(pattern, flags)
        draft.change(path, "the flags of the pattern are part of it now")


def _with_flags(pattern: str, flags: str) -> str:
    leading = LEADING_FLAGS.match(pattern)
    if leading is None:
        return f"(?{flags}){pattern}"
    return f"(?{leading[1]}{flags}){pattern[leading.end() :]}"


def _dynamic(draft: Draft, given: Any, path: Path, native: Path) -> Any:
    if not isinstance(given, dict):
        return given
    dynamic = draft.kept(given, path, ("type", "split", "config"))
    if dynamic.get("split") is None:  # there the default: each message is a part
        dynamic.pop("split", None)
    if dynamic.get("config") is None:
        dynamic.pop("config", None)
    if isinstance(dynamic.get("config"), dict):
        sizes = ("max_parallel", "group_size")
        dynamic["config"] = draft.kept(dynamic["config"], (*path, "config"), sizes)
    split = dynamic.get("split")
    if not isinstance(split, dict):
        return dynamic
    place = (*path, "split")
    settings, inside = split.get("config"), (*place, "config")
    if not isinstance(settings, dict):
        settings, inside = {k: v for k, v in split.items() if k not in ("type", "config")}, place
    draft.moved((*native, "split", "config"), inside)
    dynamic["split"] = _split(draft, split.get("type") or "message", settings, inside)
    return dynamic


def _split(draft: Draft, kind: Any, settings: dict[str, Any], path: Path) -> dict[str, Any]:
    match kind:
        case "json_path":
            kept = draft.kept(settings, path, ("json_path",))
            config = {"path": kept.get("json_path", ""), "on_no_match": "pass"}
            return {"type": kind, "config": config}
        case "regex":
            kept = draft.kept(settings, path, SPLIT)
            return {"type": kind, "config": _split_pattern(draft, kept, path)}
        case _:
            draft.kept(settings, path, ())
            return {"type": kind}


def _split_pattern(draft: Draft, config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The pattern with the settings beside it, and the number of its group."""
    pattern = config.get("pattern")
    if not isinstance(pattern, str):
        return {"pattern": pattern}
    flags = "".join(flag for key, flag in REGEX_FLAGS.items() if config.get(key))
    flags += "i" if config.get("case_sensitive") is False else ""
    leading = LEADING_FLAGS.match(pattern)
    if leading is not None:
        pattern, flags = pattern[leading.end() :], flags + leading[1]
    off = "" if "m" in flags else "-m"
    draft.change(path, "the settings of the pattern are part of it now")
    group = _group(config.get("group") or 0)
    return {
        "pattern": f"(?{''.join(dict.fromkeys(flags))}{off}:{pattern})",
        "group": group if _has_group(pattern, group) else 0,
        "on_no_match": config.get("on_no_match") or "pass",
    }


def _has_group(pattern: str, group: Any) -> bool:
    """Whether the pattern has the group; without it ChatDev takes the whole match."""
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return True  # whoever reads the pattern tells what is wrong with it
    if isinstance(group, int):
        return group <= compiled.groups
    return group in compiled.groupindex
