"""The dispatchers by name."""

from __future__ import annotations

from rondel.dispatch.dispatcher import Dispatcher
from rondel.errors import CallError

PROCRASTINATE = "procrastinate"
TEMPORAL = "temporal"
NAMES = (PROCRASTINATE, TEMPORAL)
_EXTRAS = {PROCRASTINATE: "postgres", TEMPORAL: "temporal"}


def dispatcher(name: str, url: str) -> Dispatcher:
    """The dispatcher of that name for the sessions of a database; it is to be opened.

    Where Temporal is, its own variables say: `TEMPORAL_ADDRESS` and others.
    """
    if name not in NAMES:
        raise CallError(f"there is no dispatcher {name!r}; there is {', '.join(NAMES)}")
    try:
        if name == TEMPORAL:
            from rondel.dispatch.temporal import TemporalDispatcher

            return TemporalDispatcher()
        from rondel.dispatch.procrastinate import ProcrastinateDispatcher
    except ImportError as missing:
        raise CallError(
            f"the dispatcher {name} needs its library, which is missing ({missing}); "
            f"pip install 'rondel[{_EXTRAS[name]}]'"
        ) from missing
    return ProcrastinateDispatcher(url)
