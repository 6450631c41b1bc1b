"""Lines from standard input, wherever it comes from."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rondel.cli.keyboard import Keyboard

Pipe = tuple[Keyboard, Callable[[bytes], Any], Callable[[], None]]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    """A keyboard that reads a pipe, how to write to it, and how to end it."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream, os.fdopen(writing, "wb", buffering=0) as target:
        monkeypatch.setattr("sys.stdin", stream)
        yield Keyboard(), target.write, target.close


def silent() -> None:
    """No prompt."""


def test_a_pipe_is_read_line_by_line(pipe: Pipe) -> None:
    keyboard, write, close = pipe

    async def read() -> list[str | None]:
        write("一\n\n  two \nthr".encode())
        lines = [await keyboard.line(silent), await keyboard.line(silent)]
        asyncio.get_running_loop().call_later(0.01, write, b"ee")
        asyncio.get_running_loop().call_later(0.02, close)
        return [*lines, await keyboard.line(silent), await keyboard.line(silent)]

    assert asyncio.run(read()) == ["一", "two", "three", None]


def test_waiting_for_a_line_holds_nobody_up_and_can_be_ended(pipe: Pipe) -> None:
    keyboard, _, _ = pipe

    async def read() -> str | None:
        asyncio.get_running_loop().call_later(0.01, keyboard.close)
        return await asyncio.wait_for(keyboard.line(silent), 60)

    assert asyncio.run(read()) is None


@pytest.mark.parametrize("stream", [io.StringIO("\none\n"), None])
def test_other_streams_are_read_in_place(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", stream)
    keyboard = Keyboard()

    async def read() -> list[str | None]:
        return [await keyboard.line(silent), await keyboard.line(silent)]

    assert asyncio.run(read()) == (["one", None] if stream else [None, None])
    assert not keyboard.is_terminal


def test_the_prompt_comes_again_after_a_blank_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\nyes\n"))
    prompts: list[None] = []
    assert asyncio.run(Keyboard().line(lambda: prompts.append(None))) == "yes"
    assert len(prompts) == 3
