"""A failed call to a model."""

from __future__ import annotations

from typing import Literal

from rondel.engine.protocols import Usage

Reached = Literal["nobody", "refused", "worked"]
"""How far a call came: not sent, refused at the provider, or begun to answer."""


class Failure(Exception):
    """What went wrong and what to do; a `lasting` one would go wrong again.

    `retry_after` are the seconds that the provider asks to be left alone. With `later` it only
    says that it has too much to do now. `usage` is what the call took, as far as that is known.
    """

    def __init__(
        self,
        what: str,
        remedy: str,
        *,
        lasting: bool = False,
        retry_after: float | None = None,
        later: bool = False,
        reached: Reached = "refused",
        usage: Usage | None = None,
    ) -> None:
        self.what = what
        self.remedy = remedy
        self.lasting = lasting
        self.retry_after = retry_after
        self.later = later
        self.reached = reached
        self.usage = usage
        super().__init__(what)
