"""`rondel tokens`: who may call the server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from rondel.cli.language import words
from rondel.cli.options import Db
from rondel.cli.screen import visible
from rondel.errors import CallError
from rondel.graph.names import Names

if TYPE_CHECKING:
    from rondel.server.tokens import TokenView

ACTIONS = ("create", "list", "revoke")


def tokens(
    action: Annotated[str, typer.Argument(metavar="create|list|revoke")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Whose it is.")] = None,
    role: Annotated[
        str, typer.Option(metavar="viewer|operator|admin", help="What it may do.")
    ] = "viewer",
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="G", help="Only what is of this group; may repeat. Default: all."),
    ] = None,
    db: Db = None,
) -> int:
    """Make, list and revoke the tokens of `rondel serve`.

    A token's text is printed once, when it is made; only its hash is kept.
    """
    from rondel.cli.database import database_of
    from rondel.server.server_database import open_server_database, place_of
    from rondel.server.tokens import Tokens

    if action not in ACTIONS:
        hint = Names(ACTIONS, what="there are").hint(action)
        raise CallError(f"rondel tokens knows no {action!r}; {hint}")
    if action != "list" and not name:
        raise CallError(f"say whose: rondel tokens {action} NAME")
    database = open_server_database(place_of(database_of(db)))
    try:
        known = Tokens(database)
        if action == "create":
            print(asyncio.run(known.create(name or "", role, group)))
        elif action == "revoke":
            asyncio.run(known.revoke(name or ""))
            print(words("revoked {name}", name=visible(name or "")))
        else:
            _list(asyncio.run(known.list()))
    finally:
        database.close()
    return 0


def _list(known: list[TokenView]) -> None:
    from rondel.cli.tables import moment, print_table

    rows = [
        (
            token.name,
            token.role,
            words("all") if token.groups is None else ", ".join(token.groups),
            moment(token.created_at),
            "" if token.revoked_at is None else moment(token.revoked_at),
        )
        for token in known
    ]
    if rows:
        print_table(("NAME", "ROLE", "GROUPS", "CREATED", "REVOKED"), rows)
    else:
        print(words("no tokens"))
