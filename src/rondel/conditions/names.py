"""Names that do not exist, and the ones that were probably meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from rondel.engine.registry import Registry


def nearest(name: str, known: Iterable[str]) -> str:
    """A question that names what was probably meant, or else all there is."""
    names = list(known)
    by_folded = {candidate.casefold(): candidate for candidate in names}
    close = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {by_folded[close[0]]!r}?"
    return f"known: {', '.join(names)}" if names else "none is known"


def registered(registry: Registry, kind: str) -> Callable[[str], str]:
    """A validator that lets only names pass that `registry` knows when it is asked."""

    def check(name: str) -> str:
        names = list(registry.names(kind))
        if name not in names:
            raise ValueError(f"there is no {kind} named {name!r}; {nearest(name, names)}")
        return name

    return check
