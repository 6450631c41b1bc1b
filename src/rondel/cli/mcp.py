"""`rondel mcp`: the graphs of a folder as MCP tools, on stdio."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rondel.cli.options import AllowPython, Db
from rondel.errors import CallError


def mcp(
    graphs: Annotated[
        str, typer.Option(metavar="DIR", help="The folder of stored graphs.")
    ] = "graphs",
    allow_python: AllowPython = False,
    db: Db = None,
) -> int:
    """Offer every graph as a tool to the program that starts this one.

    Further tools start, watch and answer sessions, and read their rounds.
    """
    if not Path(graphs).is_dir():
        raise CallError(f"--graphs {graphs}: there is no such folder")
    from rondel.cli.database import database_of
    from rondel.server.run import serve_tools

    serve_tools(database_of(db), graphs, allow_python=allow_python)
    return 0
