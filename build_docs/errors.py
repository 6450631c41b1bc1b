"""The reference of the errors: a section for each, under the code that messages and HTTP name."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path

import yaml

from rondel import errors
from rondel.server.replies import STATUSES

TEXTS = Path(__file__).with_name("error_texts.yaml")
SERVER = Path(__file__).parents[1] / "src" / "rondel" / "server"
REFUSAL = re.compile(r"Refusal\(\s*\d+,\s*\"(\w+)\"")
PROBLEM = re.compile(r"problem\(\s*[\w.]+,\s*\"(\w+)\"")


@cache
def texts() -> dict[str, dict[str, str]]:
    """What is said of each error."""
    found: dict[str, dict[str, str]] = yaml.safe_load(TEXTS.read_text("utf-8"))
    return found


def classes() -> dict[str, type[errors.RondelError]]:
    """Every class of the tree, by its code."""
    found = inspect.getmembers(errors, inspect.isclass)
    own = [each for _, each in found if issubclass(each, errors.RondelError)]
    return {errors.code_of(each): each for each in own}


def kinds() -> set[str]:
    """What the server refuses requests as, besides these."""
    found: set[str] = set()
    for file in SERVER.glob("*.py"):
        source = file.read_text("utf-8")
        found.update(REFUSAL.findall(source), PROBLEM.findall(source))
    return found - classes().keys()


def page() -> str:
    """docs/reference/errors.md."""
    parts = [
        "# Errors\n\nEvery error that Rondel raises on purpose has a code and a section here. Over "
        "HTTP the code is the end of a problem's `type`, and `help` leads here; on the command line "
        "`--debug` prints where; in Python it is the class.\n\n"
        "On the command line, errors of the graph, the call, the session or the journal end with exit "
        "code 2, failed steps and models with 1.\n"
    ]
    known = classes()
    for code in [*known, *sorted(kinds())]:
        said = texts().get(code)
        if said is None:
            raise SystemExit(f"say what {code} means and what to do, in {TEXTS.name}")
        names = [f"`rondel.errors.{known[code].__name__}`"] if code in known else []
        status = _status(known[code]) if code in known else None
        names += [f"HTTP {status}"] if status else []
        origin = f"{', '.join(names)}. " if names else "Over HTTP. "
        parts.append(f"\n## {code} {{ #{code} }}\n\n{origin}{said['means']}\n\n{said['do']}\n")
    return "".join(parts)


def _status(kind: type[errors.RondelError]) -> int | None:
    return next((status for each, status in STATUSES if issubclass(kind, each)), None)
