"""`rondel`: finds the verb, runs it, and turns every error into a line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from typing import Any

from rondel.cli.failures import explain, hushed
from rondel.cli.language import LANGUAGES, language_in, speak, without_option, words
from rondel.cli.screen import guarded
from rondel.errors import CallError

VERBS = {
    "run": "run a graph with live progress: rounds, scores, cost",
    "check": "find all that is wrong with a graph, and show its loops and their bounds",
    "estimate": "tell what a run takes at most, and what is to be expected",
    "simulate": "run a graph thousands of times on simulated models",
    "serve": "serve the API and the web pages",
    "mcp": "offer the graphs of a folder as MCP tools, on stdio",
    "tokens": "make, list and revoke the tokens of the server",
    "new": "list the templates, or write a graph file from one",
    "schema": "print the JSON Schema of graph files, for editors",
    "sessions": "list sessions, newest first",
    "show": "show a session: state, inputs, loops, cost, questions, steps",
    "rounds": "list every round of a session's loops, with score and cost",
    "watch": "follow a session that any process drives, as rondel run shows it",
    "events": "print what happened in a session, or follow it",
    "answer": "answer a session's question, and go on with it",
    "resume": "go on with a session after a pause, a crash or a kill",
    "pause": "start no further step of a session",
    "stop": "end a session for good",
    "signal": "tell a session something",
    "unlock": "open a session's lock, and go on with it",
    "replay": "rebuild any point of a session, without a model call",
    "fork": "start a new session from a point of another",
    "memory": "see and change what groups of sessions remember",
    "export": "write a session to a file",
    "import": "add a session from a file, or translate a graph of another system",
    "doctor": "look at what is installed, reachable and writable",
    "bench": "measure what a step takes on this machine and in its database",
    "worker": "drive the sessions that other processes submit",
    "gc": "delete sessions that ended long ago",
    "verify": "check that a database and its sessions are as they were written",
    "backup": "copy a database, also while it is used",
    "completion": "print what a shell needs to complete commands, options and sessions",
    "repair": "save the sessions of a damaged database that are whole",
}

FILES = {
    **dict.fromkeys(("answer", "resume", "unlock", "fork", "pause", "stop", "signal"), "control"),
    **dict.fromkeys(("verify", "backup", "repair"), "safekeeping"),
    "mcp": "serve",
    "schema": "new",
    "show": "sessions",
    "rounds": "sessions",
    "replay": "events",
    "estimate": "forecast",
    "simulate": "forecast",
    "export": "exchange",
    "import": "exchange",
}
"""The files of the verbs that do not have one of their own name."""

HELP = """\
Usage: rondel COMMAND [OPTIONS] ...

An engine for multi-agent workflows whose graphs contain loops.

Commands:
{verbs}

Options:
  --version      print the version
  --lang en|zh   the language; else RONDEL_LANG, LC_ALL, LC_MESSAGES, LANG say it
  --help         print this; `rondel COMMAND --help` tells more about one
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; never raises, but for a second Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    with guarded(), hushed(debug="--debug" in arguments):
        try:
            return _main(arguments)
        finally:
            speak(LANGUAGES[0])  # whoever called it from Python is none of its users


def _main(arguments: list[str]) -> int:
    try:
        _write_any_language()
        code = _dispatch(_in_language(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{words('error')}: {words('stopped')}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Nobody reads any more; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        return explain(error, debug="--debug" in arguments)
    return code


def _in_language(arguments: list[str]) -> list[str]:
    """Set the language of `--lang` or the environment; returns the arguments without `--lang`."""
    rest, chosen = without_option(arguments)
    speak(language_in(os.environ))
    if chosen is not None and chosen not in LANGUAGES:
        names = ", ".join(LANGUAGES)
        raise CallError(f"there is no language {chosen!r}; there are: {names}")
    if chosen is not None:
        speak(chosen)
    return rest


def _dispatch(arguments: list[str]) -> int:
    match arguments:
        case [] if "RONDEL_COMPLETE" in os.environ:
            from rondel.cli.completion import complete

            return complete(os.environ["RONDEL_COMPLETE"])
        case [] | ["--help" | "-h" | "help", *_]:
            width = max(map(len, VERBS))
            lines = (f"  {verb:{width}}  {words(what)}" for verb, what in VERBS.items())
            print(words(HELP, verbs="\n".join(lines)))
            return 0
        case ["--version" | "-V", *_]:
            from importlib.metadata import version

            print(f"rondel {version('rondel')}")
            return 0
        case [verb, *rest] if verb in VERBS:
            return _run_verb(verb, rest)
        case [wrong, *_]:
            raise CallError(_unknown(wrong))
    raise AssertionError(arguments)


def _run_verb(verb: str, arguments: list[str]) -> int:
    gc.disable()  # importing makes many objects and drops few
    try:
        command = command_of(verb)
    finally:
        gc.enable()
    code = command.main(arguments, prog_name=f"rondel {verb}", standalone_mode=False)
    return int(code or 0)


def command_of(verb: str) -> Any:
    """The parser of a verb's arguments, which then calls it."""
    import typer

    from rondel.cli.help import Command
    from rondel.cli.options import spread

    module = import_module(f"rondel.cli.{FILES.get(verb, verb)}")
    function = getattr(module, f"{verb}_" if iskeyword(verb) else verb)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    settings = {"help_option_names": ["--help", "-h"]}
    app.command(cls=Command, context_settings=settings)(spread(function))
    return typer.main.get_command(app)


def _unknown(word: str) -> str:
    from difflib import get_close_matches

    what = "option" if word.startswith("-") else "command"
    near = get_close_matches(word, VERBS, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(VERBS)}"
    return f"there is no {what} {word!r}; {hint}"


def _write_any_language() -> None:
    """Write what the terminal cannot show as `?` rather than fail on it."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
