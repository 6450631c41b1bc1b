"""`rondel serve`, `rondel mcp`: graphs and sessions for other programs, and pages for people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rondel.cli.language import words
from rondel.cli.logs import LogFormat, log_as
from rondel.cli.options import AllowCommands, AllowPython, Db, Functions
from rondel.dispatch.dispatcher import QUEUE
from rondel.dispatch.dispatchers import NAMES
from rondel.errors import CallError

if TYPE_CHECKING:
    from rondel.server.options import Options


def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen at.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port to listen at.")
    ] = 8484,
    graphs: Annotated[
        str, typer.Option(metavar="DIR", help="The folder of stored graphs.")
    ] = "graphs",
    allow_python: AllowPython = False,
    allow_commands: AllowCommands = False,
    functions: Functions = None,  # noqa: ARG001
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Graphs may reach private networks.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Also called by this name.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="Pages there may call it.")
    ] = None,
    need_tokens: Annotated[
        bool, typer.Option("--tokens", help="Demand tokens also at a loopback address.")
    ] = False,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="What steps have left when it stops.")
    ] = 20.0,
    dispatcher: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"Leave sessions to `rondel worker`, by {' or '.join(NAMES)}."
        ),
    ] = None,
    queue: Annotated[
        str, typer.Option(metavar="NAME", help="Where they wait for a worker.")
    ] = QUEUE,
    opened: Annotated[bool, typer.Option("--open", help="Open the pages in a browser.")] = False,
    db: Db = None,
    log_format: LogFormat = None,
) -> int:
    """Serve the API and the web pages until Ctrl-C.

    Bound to this machine; any other address demands tokens.
    """
    log_as(log_format)
    folder = Path(graphs)
    if folder.exists() and not folder.is_dir():
        raise CallError(f"--graphs {graphs}: that is no folder")
    folder.mkdir(parents=True, exist_ok=True)
    from rondel.cli.database import database_of
    from rondel.server.options import Options
    from rondel.server.run import serve as run

    options = Options(
        host=host,
        port=port,
        allow_python=allow_python,
        allow_commands=allow_commands,
        allow_private=allow_private,
        tokens=need_tokens,
        hosts=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        grace=grace,
        dispatcher=dispatcher,
        queue=queue,
    )
    run(database_of(db), str(folder), options, lambda: _tell(options, graphs, opened=opened))
    return 0


def _tell(options: Options, graphs: str, *, opened: bool) -> None:
    """Say where it serves, and open the pages there if asked to."""
    where = f"http://{options.host}:{options.port}"
    told = "rondel serves {where} with the graphs of {graphs}; Ctrl-C ends it"
    if options.dispatcher is not None:
        told = (
            "rondel serves {where} with the graphs of {graphs} and leaves its sessions to "
            "`rondel worker`; Ctrl-C ends it"
        )
    print(words(told, where=where, graphs=graphs), file=sys.stderr)
    if opened:
        import webbrowser

        webbrowser.open(where)


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
