"""The reference of the command line, made from the parsers of its commands.

What the examples print is kept from the page as it is; tests/e2e/test_readme.py runs them.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from rondel.cli.app import VERBS, command_of

CONSOLE = re.compile(r"```console\n(\$ .*?\n)(.*?)```", re.DOTALL)

TEA = """\
graph:
  id: tea
  start: Writer
  loops: {Writer: {max_rounds: 3, exit_on_score: 90}}
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [Tea., Tea on time.]}}
    - {id: Critic, type: agent, config: {provider: scripted, answers: ['Score: 60', 'Score: 95']}}
    - {id: Final, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Writer}
    - {from: Writer, to: Final, condition: false}
"""
ASK = """\
graph:
  id: ask
  nodes:
    - {id: Draft, type: literal, config: {content: Tea.}}
    - {id: Editor, type: human, config: {description: Is it good?}}
  edges:
    - {from: Draft, to: Editor}
"""
STUCK = """\
graph:
  id: stuck
  start: Fixer
  end: Done
  breaker: {repeats: 3}
  nodes:
    - {id: Fixer, type: agent, config: {provider: scripted, answers: [Again., Again., Again., It passed.]}}
    - {id: Tests, type: passthrough}
    - {id: Done, type: passthrough}
  edges:
    - {from: Fixer, to: Tests}
    - {from: Tests, to: Fixer}
    - {from: Tests, to: Done, condition: {type: keyword, config: {any: [passed]}}}
"""
FILES = {"tea.yaml": TEA, "ask.yaml": ASK, "stuck.yaml": STUCK}

RUN, WAITING, CRASHED, LOCKED = (f"{digit}" * 4 + "1e9a7b3d2846" for digit in "abcd")
"""The ids of the sessions on the page."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": ('rondel run tea.yaml -i "A slogan for tea" | sed -n "1p;/^status/,$ p"',),
    "check": ("rondel check tea.yaml",),
    "estimate": ("rondel estimate tea.yaml",),
    "simulate": ("rondel simulate tea.yaml -n 20",),
    "new": ("rondel new review -o mine.yaml",),
    "schema": ("rondel schema | head -3",),
    "sessions": ("rondel sessions",),
    "show": (f"rondel show {RUN} --steps",),
    "watch": (f"rondel watch {RUN} | tail -3",),
    "rounds": (f"rondel rounds {RUN}",),
    "events": (f"rondel events {RUN} | tail -2",),
    "replay": (f'rondel replay {RUN} --to "Writer[2]" --state',),
    "fork": (f'rondel fork {RUN} --at "Writer[2]" --set loops.Writer.exit_on_score=99 | tail -5',),
    "answer": (
        "rondel run ask.yaml --no-input 2>&1 | sed -n 1p",
        f'rondel answer {WAITING} "Yes."',
    ),
    "resume": (
        "RONDEL_CRASH_AT=after_commit:4 rondel run tea.yaml -i tea",
        f"rondel resume {CRASHED} | tail -3",
    ),
    "unlock": (
        "rondel run stuck.yaml -i go 2>&1 | sed -n '1p;/^status/p'",
        f'rondel unlock {LOCKED} --because "the server is up again" | tail -3',
    ),
    "pause": (
        "rondel run ask.yaml --no-input 2>&1 | sed -n 1p | sed 's/.*session //' > id",
        "rondel pause $(cat id)",
    ),
    "signal": ('rondel signal $(cat id) deadline \'{"day": "Friday"}\'',),
    "stop": ("rondel stop $(cat id)",),
    "memory": ("rondel memory list",),
    "export": (f"rondel export {RUN} -o session.jsonl",),
    "import": ("rondel import session.jsonl --db other.db",),
    "verify": ("rondel verify other.db",),
    "backup": ("rondel backup other.db copy.db",),
    "repair": ("rondel repair other.db saved.db | cut -d ' ' -f 1-5",),
    "gc": ("rondel gc --older-than 30d",),
    "tokens": ("rondel tokens list --db other.db",),
}
LONG = {
    "serve": "rondel serve --graphs examples --open",
    "mcp": "rondel mcp --graphs examples",
    "worker": "rondel worker --db postgresql://me@db.example/rondel --concurrency 100",
    "doctor": "rondel doctor",
    "bench": "rondel bench --db postgresql://me@db.example/rondel",
}
"""Examples that run until they are stopped, or print what differs from machine to machine."""


def page(now: str) -> str:
    """docs/reference/commands.md; what the examples print is taken from the page as it is now."""
    printed = dict(CONSOLE.findall(now))
    parts = [
        "# Commands\n\nEvery command with its options, made from their parsers "
        "(`python -m build_docs`), and an example of each that a test runs. `rondel COMMAND --help` "
        "says the same in the terminal. Exit codes of `run`, `resume`, `answer`, `unlock` and "
        "`fork`: 0 completed, 1 failed, 2 the graph or the call is wrong, 3 bounded, 4 waiting for a "
        "human, 5 locked, 130 stopped or paused.\n\nThe files of the examples:\n"
    ]
    for name, text in FILES.items():
        parts.append(f"\n<!-- file: {name} -->\n```yaml\n{text}```\n")
    order = sorted(VERBS, key=[*EXAMPLES, *LONG, *VERBS].index)
    for verb in order:
        parts.append(_verb(verb, printed))
    return "".join(parts)


def _verb(verb: str, printed: dict[str, str]) -> str:
    command = command_of(verb)
    told = inspect.cleandoc(command.help or "")
    text = f"\n## `rondel {verb}`\n\n{told}\n"
    rows = [
        _row(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)
    ]
    rows = [row for row in rows if row]
    if rows:
        text += "\n| | default | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    if verb in LONG:
        return text + f"\n    {LONG[verb]}\n"
    for example in EXAMPLES.get(verb, ()):
        line = f"$ {example}\n"
        text += f"\n```console\n{line}{printed.get(line, '')}```\n"
    return text


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        shown = (parameter.metavar or parameter.name).upper().strip("{}[]")
        return _cells(f"`{shown}`", "required" if parameter.required else "", parameter.help)
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if "--help" in names:
        return ""
    if not parameter.is_flag:
        names += f" `{parameter.metavar or parameter.name.upper()}`"
    default = parameter.default
    told = "" if default in (None, False, ()) or callable(default) else f"`{default}`"
    return _cells(names, told, parameter.help)


def _cells(*cells: str | None) -> str:
    return "| " + " | ".join((cell or "").replace("|", "\\|") for cell in cells) + " |"
