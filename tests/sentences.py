"""The English sentences that the sources make, as templates: what a catalogue must know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rondel import errors as errors_module
from rondel.cli.app import HELP, VERBS, command_of
from rondel.cli.help import paragraphs
from rondel.sessions.templates import summary_of, templates

SOURCES = Path(__file__).parents[1] / "src" / "rondel"
SPEAKERS = ("words", "counted", "print_figure", "say", "_deliver")
"""Functions of the command line whose texts are put into the language that is spoken."""

ERRORS = {
    "Problem",
    "PydanticCustomError",
    "complain",
    *(name for name, value in vars(errors_module).items() if isinstance(value, type)),
}
FOR_PROGRAMS = ("server", "testing")
"""Packages whose texts are read over HTTP or by developers; only their errors are told."""

FOR_MODELS = (
    "models/prose.py",
    "nodes/compaction.py",
    "nodes/consensus.py",
    "nodes/debate_prompts.py",
    "nodes/fact_check_prompts.py",
    "nodes/agent_history.py",
    "nodes/vote_prompts.py",
)
"""What is said to models, or in their stead."""

DRAWN = ("certificate/drawing/", "forecast/plot.py", "cli/completion.py")
"""What is drawn, or read by shells."""

NO_SENTENCE = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|ALTER|WHERE|ORDER BY|ROLLBACK|TRANSACTION|"
    r"EXECUTION)\b"
    r"|SET synchronous|^ATTACH |<EOF>"
    r"|= \?|%\(|%[sg]|\(\?[:!=P]|\\[bdsw]|^\(?\?, |^[a-z]+, [a-z]+, [a-z]+,"
    r"|xmlns|^pip install|^spans could"
    r"|^rondel \w+ \{|^did you mean$|^turn \{|^incomplete \{|^round \{round\} (?:turn|judge)"
    r"|^(?:You|Here is a|The document of a|The reviewer said|<skill|module \{)"
)
"""SQL, patterns, what other parsers say, what goes into a log, names of parts of steps, what is
said to models.
"""

WORD = re.compile(r"[A-Za-z][A-Za-z']+")


def told() -> set[str]:
    """All that a user of the command line can be told, wherever it is made."""
    found = own() | help_texts() | {*VERBS.values(), HELP}
    for path in sorted(SOURCES.rglob("*.py")):
        found |= _of_file(path.relative_to(SOURCES).as_posix(), ast.parse(path.read_text("utf-8")))
    return found


def own() -> set[str]:
    """What the command line itself says: the texts that go through `words` and its like."""
    found = set()
    for path in sorted((SOURCES / "cli").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        spoken = [value for call in _calls(tree, SPEAKERS) for value in call.args]
        spoken += [call.args[0] for call in _calls(tree, ["print_table"])]
        for value in spoken:
            for named in _meant(value, tree):
                found |= {text for text in _templates(named) if WORD.search(shape(text))}
    return found


def _meant(value: ast.expr, tree: ast.Module) -> Iterator[ast.expr]:
    """The value, or all that is assigned to the name that stands for it."""
    name = value.value if isinstance(value, ast.Starred) else value
    if not isinstance(name, ast.Name):
        yield value
        return
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=assigned)], value=text) if assigned == name.id:
                yield text


def help_texts() -> set[str]:
    """What `rondel COMMAND --help` says of every command and every option."""
    found = set()
    for verb in VERBS:
        command = command_of(verb)
        found |= {*paragraphs(command)}
        found |= {param.help for param in command.params if param.help}
    return found | {summary_of(file.read_text("utf-8")) for file in templates().values()}


def _of_file(name: str, tree: ast.Module) -> set[str]:
    if name in FOR_MODELS or name.startswith(DRAWN):
        return set()
    if name.startswith(FOR_PROGRAMS):
        calls = _calls(tree, ERRORS)
        values = [v for call in calls for v in (*call.args, *(k.value for k in call.keywords))]
        return {text for value in values for text in _templates(value) if _is_sentence(text)}
    skipped = {id(node) for node in _documentation(tree)}
    whole = [node for node in ast.walk(tree) if id(node) not in skipped]
    return {text for node in whole for text in _own_text(node) if _is_sentence(text)}


def _own_text(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        yield _template(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def _is_sentence(text: str) -> bool:
    words = re.sub(r"\{\w+\}", "", text).split()
    return sum(bool(WORD.search(word)) for word in words) > 2 and not NO_SENTENCE.search(text)


def shape(template: str) -> str:
    """A template without the names of its values."""
    return re.sub(r"(?:\{\w+(?:![rs])?(?::[^{}]*)?\})+", "{}", template)


def _documentation(tree: ast.Module) -> Iterator[ast.AST]:
    """Docstrings, descriptions of fields, and the pieces of f-strings."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as text):
                yield text
            case ast.JoinedStr():
                yield from (each for part in node.values for each in ast.walk(part))
            case ast.Call() if _name(node.func) in ("Field", "Option", "Argument"):
                yield from (each for keyword in node.keywords for each in ast.walk(keyword))


def _calls(tree: ast.Module, names: Iterable[str]) -> list[ast.Call]:
    return [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) in names
    ]


def _name(function: ast.expr) -> str:
    return str(getattr(function, "id", "") or getattr(function, "attr", ""))


def _templates(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr():
            yield _template(value)
        case ast.IfExp():
            yield from _templates(value.body)
            yield from _templates(value.orelse)
        case ast.Dict() | ast.Tuple() | ast.List():
            items: Any = value.values if isinstance(value, ast.Dict) else value.elts
            for each in items:
                yield from _templates(each)


def _template(joined: ast.JoinedStr) -> str:
    """An f-string with plain names for its values."""
    text, seen = "", set()
    for part in joined.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
        elif isinstance(part, ast.FormattedValue):
            names = re.findall(r"[a-z_]+", ast.unparse(part.value).replace("__", "").lower())
            name = names[-1] if names else "value"
            while name in seen:
                name += "_"
            seen.add(name)
            text += "{" + name + "}"
    return text
