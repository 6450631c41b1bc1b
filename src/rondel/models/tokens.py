"""Text measured as a tokenizer would."""

from __future__ import annotations

import re

from rondel.models.model import Request

CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
CHARACTERS_PER_TOKEN = 4


def count_tokens(text: str) -> int:
    """About one token per CJK character and one per four others."""
    wide = len(CJK.findall(text))
    return wide + -(-(len(text) - wide) // CHARACTERS_PER_TOKEN)


def count_input(request: Request) -> int:
    """The tokens of all that the model is told."""
    return count_tokens(request.system) + sum(
        count_tokens(message.readable) for message in request.messages
    )
