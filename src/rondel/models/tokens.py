"""Text measured as a tokenizer would."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rondel.models.model import Request

CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
CHARACTERS_PER_TOKEN = 4


def count_tokens(text: str) -> int:
    """About one token per CJK character and one per four others."""
    wide = len(CJK.findall(text))
    return wide + -(-(len(text) - wide) // CHARACTERS_PER_TOKEN)


def count_input(request: Request) -> int:
    """The tokens of all that the model is told."""
    said = (message.readable for message in request.messages)
    return count_tokens(request.system) + sum(
        count_tokens(text) for text in (*said, *_in_turns(request))
    )


def _in_turns(request: Request) -> Iterator[str]:
    for turn in request.turns:
        yield turn.content
        yield from (result.content for result in turn.results)
        yield turn.reply
