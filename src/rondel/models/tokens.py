"""Counts tokens as a tokenizer would, and finds the words of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from json import dumps
from unicodedata import normalize

from rondel.engine.message import Message, Part
from rondel.models.model import Request

CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
WIDE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
RUN = re.compile(rf"[{WIDE}]+|[^\W_{WIDE}]+")

CHARACTERS_PER_TOKEN = 4
ADDED_TOKENS = 16
"""Tokens that a provider may add to a text: its role, its beginning and end."""
FIXED_TOKENS = 32
"""Tokens that a provider may add to a request."""


def count_tokens(text: str) -> int:
    """About one token per CJK character and one per four others."""
    wide = len(CJK.findall(text))
    return wide + -(-(len(text) - wide) // CHARACTERS_PER_TOKEN)


def count_input(request: Request) -> int:
    """The tokens of the whole input of a request."""
    said = (message.readable for message in request.messages)
    return count_tokens(request.system) + sum(
        count_tokens(text) for text in (*said, *_in_turns(request))
    )


def most_input(request: Request) -> int | None:
    """An upper bound of the input's tokens; None if it contains a file.

    A tokenizer makes no more than one token of a byte; what it adds of its own is allowed for.
    """
    if next(attached_to(request), None) is not None:
        return None
    told = [request.system, *(message.readable for message in request.messages)]
    told += _in_turns(request)
    for turn in request.turns:
        told += (f"{call.name}{call.arguments}{call.malformed}" for call in turn.calls)
    told += (f"{tool.name}{tool.description}{dumps(tool.parameters)}" for tool in request.tools)
    if request.schema is not None:
        told.append(dumps(request.schema))
    return FIXED_TOKENS + sum(len(text.encode(errors="replace")) + ADDED_TOKENS for text in told)


def attached_to(request: Request) -> Iterator[Part]:
    """The files in the input: those of messages and of tool results."""
    yield from attached_in_messages(request.messages)
    for turn in request.turns:
        for result in turn.results:
            yield from result.files


def attached_in_messages(messages: Iterable[Message]) -> Iterator[Part]:
    """The files in messages, in order."""
    for message in messages:
        if not isinstance(message.content, str):
            yield from (part for part in message.content if part.attachment)


def _in_turns(request: Request) -> Iterator[str]:
    for turn in request.turns:
        yield turn.content
        yield from (result.content for result in turn.results)
        yield turn.reply


def words_in(text: str) -> list[str]:
    """The words of a text in order, case folded; Chinese and Japanese give pairs of characters."""
    found: list[str] = []
    for run in RUN.findall(normalize("NFKC", text).casefold()):
        if "\u3040" <= run[0] <= "\u9fff" and len(run) > 1:
            found += (run[at : at + 2] for at in range(len(run) - 1))
        else:
            found.append(run)
    return found
