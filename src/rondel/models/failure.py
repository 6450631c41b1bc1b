"""A call to a model that came to nothing."""

from __future__ import annotations


class Failure(Exception):
    """What went wrong and what to do; a `lasting` one would go wrong again.

    `retry_after` are the seconds that the provider asks to be left alone.
    """

    def __init__(
        self,
        what: str,
        remedy: str,
        *,
        lasting: bool = False,
        retry_after: float | None = None,
    ) -> None:
        self.what = what
        self.remedy = remedy
        self.lasting = lasting
        self.retry_after = retry_after
        super().__init__(what)
