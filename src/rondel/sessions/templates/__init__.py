"""Commented graph files to start from."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable


def templates() -> dict[str, Traversable]:
    """The templates by name."""
    found = sorted(files(__name__).iterdir(), key=lambda file: file.name)
    return {file.name.removesuffix(".yaml"): file for file in found if file.name.endswith(".yaml")}


def summary_of(text: str) -> str:
    """The comment that a template begins with, up to its first full stop or colon."""
    comment = " ".join(
        line.removeprefix("#").strip() for line in text.partition("\nversion")[0].splitlines()
    )
    return comment.split(":")[0].split(";")[0].rstrip(".")
