"""What is compiled can be: mypyc does a few things unlike Python, and these are kept out."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import compile_engine

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
MODULES = compile_engine.compiled_modules()
WAITING = (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Yield, ast.YieldFrom)


def tree(module: str) -> ast.Module:
    return ast.parse(compile_engine.path_of(module).read_text("utf-8"))


def handlers(module: str) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Try | ast.TryStar):
            yield node.finalbody
            yield from (handler.body for handler in node.handlers)


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_awaited_while_an_error_is_handled(module: str) -> None:
    """mypyc forgets or mistakes the error over it: keep it, leave the handler, then await."""
    found = {
        f"{module}:{node.lineno}"
        for body in handlers(module)
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, WAITING)
    }
    assert not found


@pytest.mark.parametrize("module", MODULES)
def test_what_is_compiled_never_waits(module: str) -> None:
    """Tasks, cancellation and clean-up are the runner's, in plain Python.

    What mypyc makes of a coroutine warns in Python 3.12 and newer when it is cancelled.
    """
    assert not [node for node in ast.walk(tree(module)) if isinstance(node, ast.AsyncFunctionDef)]


@pytest.mark.parametrize("module", MODULES)
def test_nothing_that_is_decoded_is_defined_there(module: str) -> None:
    """mypyc keeps only the outline of annotations, and msgspec decodes by them."""
    classes = [node for node in ast.walk(tree(module)) if isinstance(node, ast.ClassDef)]
    bases = {ast.unparse(base).split(".")[-1] for node in classes for base in node.bases}
    assert not bases & {"Struct", "NamedTuple", "TypedDict"}


def test_the_engine_is_compiled_by_the_mypy_that_checks_it() -> None:
    def mypy(requirements: list[str]) -> list[str]:
        return [requirement for requirement in requirements if requirement.startswith("mypy")]

    assert mypy(PROJECT["build-system"]["requires"]) == mypy(PROJECT["dependency-groups"]["dev"])
