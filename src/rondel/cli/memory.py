"""`rondel memory`: the quarantine log of a session, and the working memory of groups."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from rondel.cli.cells import short
from rondel.cli.database import find, open_existing
from rondel.cli.language import counted, words
from rondel.cli.options import AsDocument, Db
from rondel.cli.tables import document, json_line, moment, print_table
from rondel.cli.views import content_text
from rondel.errors import CallError
from rondel.graph.moments import to_microsecond
from rondel.graph.names import Names
from rondel.journal.store import Group, GroupSummary, MemoryEntry
from rondel.sessions.engine import Engine
from rondel.sessions.quarantine import QuarantineEntry

FEW = 60
MOST = 2**31


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """The options of the command besides the action."""

    said: Sequence[str]
    session: str | None
    confidence: float | None
    yes: bool
    as_json: bool


def memory(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="list, promote, clear or quarantine.")
    ],
    said: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GROUP | SESSION [ADDRESS]]",
            help="list [GROUP], promote SESSION ADDRESS, clear GROUP, quarantine SESSION.",
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(metavar="ID", help="list, clear: the group that this session is in."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(metavar="X", help="promote: vouch for it with this, from 0 to 1."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="clear: do not ask.")] = False,
    as_json: AsDocument = False,
    db: Db = None,
) -> int:
    """See and change what groups of sessions remember.

    list shows the groups, or the entries of one; promote puts what a finished step emitted into
    the working memory of its session's group; clear empties a group; quarantine shows all that a
    session's nodes emitted.
    """
    if action not in ACTIONS:
        hint = Names(ACTIONS, what="there are").hint(action)
        raise CallError(f"there is no action {action!r}; {hint}")
    options = MemoryOptions(said or (), session, confidence, yes, as_json)
    _check(action, options)
    return asyncio.run(_act(action, options, db))


async def _act(action: str, options: MemoryOptions, db: str | None) -> int:
    async with open_existing(db) as engine:
        await ACTIONS[action].run(engine, options)
    return 0


# The actions


async def _list(engine: Engine, options: MemoryOptions) -> None:
    if not options.said and options.session is None:
        known = engine.store.groups()
        if options.as_json:
            print(document({"groups": list(map(_group_json, known))}))
        else:
            _print_groups(known)
        return
    group = _group(engine, options)
    entries = engine.store.recall(group, 0.0, MOST)[::-1]
    if options.as_json:
        fields = {"group": group.name, "own": group.own, "entries": list(map(_entry_json, entries))}
        print(document(fields))
    else:
        _print_entries(entries)


async def _promote(engine: Engine, options: MemoryOptions) -> None:
    session, address = find(engine, options.said[0]), options.said[1]
    entries = await engine.promote(session.id, address, options.confidence)
    if options.as_json:
        print(document({"entries": list(map(_entry_json, entries))}))
    elif entries:
        group = _called(entries[0].group)
        told = "{entries} of {address} in {group}"
        print(words(told, entries=_counted(len(entries)), address=address, group=group))
    else:
        told = "nothing of {address} is kept: the graph's memory keeps less than that"
        print(words(told, address=address))


async def _clear(engine: Engine, options: MemoryOptions) -> None:
    group = _group(engine, options)
    count = len(engine.store.recall(group, 0.0, MOST))
    if count and not options.yes:
        _demand_consent(
            words("forget {entries} of {group}", entries=_counted(count), group=_called(group))
        )
    forgotten = engine.store.forget(group)
    if options.as_json:
        print(document({"group": group.name, "own": group.own, "forgotten": forgotten}))
    else:
        told = "forgot {entries} of {group}"
        print(words(told, entries=_counted(forgotten), group=_called(group)))


async def _quarantine(engine: Engine, options: MemoryOptions) -> None:
    session = find(engine, options.said[0])
    entries = session.quarantine()
    if options.as_json:
        print(document({"session_id": session.id, "entries": msgspec.to_builtins(entries)}))
    else:
        _print_quarantine(entries)


class Action(NamedTuple):
    """An action of the command, and what follows it."""

    run: Callable[[Engine, MemoryOptions], Awaitable[None]]
    form: str
    least: int
    most: int
    """The number of words; a session may stand for a group."""


ACTIONS = {
    "list": Action(_list, "[GROUP], or --session ID", 0, 1),
    "promote": Action(_promote, "SESSION ADDRESS", 2, 2),
    "clear": Action(_clear, "GROUP, or --session ID", 1, 1),
    "quarantine": Action(_quarantine, "SESSION", 1, 1),
}


def _check(name: str, options: MemoryOptions) -> None:
    """Refuse a call that says too little, too much, or what the action cannot use."""
    action = ACTIONS[name]
    names_session = options.session is not None
    by_group = name in ("list", "clear")
    if not action.least <= len(options.said) + (by_group and names_session) <= action.most:
        raise CallError(f"write it as: rondel memory {name} {action.form}")
    for option, useless in (
        ("--session", names_session and not by_group),
        ("--confidence", options.confidence is not None and name != "promote"),
        ("--yes", options.yes and name != "clear"),
    ):
        if useless:
            raise CallError(f"memory {name} takes no {option}; --help shows what there is")


def _group(engine: Engine, options: MemoryOptions) -> Group:
    if options.session is not None:
        return find(engine, options.session).group
    if not options.said[0].strip():
        raise CallError("a group's name is not blank; --session ID names a session's own group")
    return Group(options.said[0])


def _demand_consent(what: str) -> None:
    if not sys.stdin.isatty():
        raise CallError(f"this would {what}; say --yes")
    if input(f"{what}? [y/N] ").strip().lower() not in ("y", "yes"):
        raise CallError("nothing was forgotten")


# How they look


def _print_groups(known: Sequence[GroupSummary]) -> None:
    if not known:
        print(words("no group remembers anything"))
        return
    rows = [
        (
            quoted(each.group.name),
            words("one session's own" if each.group.own else "named"),
            f"{each.entries}",
            moment(each.newest),
        )
        for each in known
    ]
    print_table(("GROUP", "KIND", "ENTRIES", "NEWEST"), rows, right=["ENTRIES"])


def _print_entries(entries: Sequence[MemoryEntry]) -> None:
    if not entries:
        print(words("nothing is remembered"))
        return
    rows = [
        (
            moment(entry.created_at),
            entry.session,
            entry.address,
            _sure(entry.confidence),
            _said(entry.content, entry.data),
        )
        for entry in entries
    ]
    headers = ("PROMOTED", "SESSION", "ADDRESS", "CONFIDENCE", "CONTENT")
    print_table(headers, rows, right=["CONFIDENCE"])


def _print_quarantine(entries: Sequence[QuarantineEntry]) -> None:
    if not entries:
        print(words("nothing was emitted"))
        return
    rows = [
        (
            moment(datetime.fromisoformat(entry.timestamp).timestamp()),
            entry.address,
            _sure(entry.confidence),
            _said(entry.content, entry.data),
        )
        for entry in entries
    ]
    print_table(("FINISHED", "ADDRESS", "CONFIDENCE", "CONTENT"), rows, right=["CONFIDENCE"])


def quoted(name: str) -> str:
    """A group's name, in quotes if it could be misread."""
    plain = name.isprintable() and name == " ".join(name.split()) and not name.startswith('"')
    return name if plain else json_line(name)


def _called(group: Group) -> str:
    kind = "the own group of session {name}" if group.own else "group {name}"
    return words(kind, name=quoted(group.name))


def _counted(entries: int) -> str:
    return counted(entries, "{count} entry", "{count} entries")


def _sure(confidence: float | None) -> str:
    return "" if confidence is None else f"{confidence:g}"


def _said(content: Any, data: dict[str, Any]) -> str:
    return short(content_text({"content": content, "data": data}), FEW)


def _group_json(known: GroupSummary) -> dict[str, Any]:
    return {
        "group": known.group.name,
        "own": known.group.own,
        "entries": known.entries,
        "newest": to_microsecond(known.newest),
    }


def _entry_json(entry: MemoryEntry) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(entry)
    group = {"group": entry.group.name, "own": entry.group.own}
    return {**fields, **group, "created_at": to_microsecond(entry.created_at)}
