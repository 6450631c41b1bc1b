"""Which dispatchers there are, by name."""

from __future__ import annotations

from rondel.dispatch.dispatcher import Dispatcher
from rondel.errors import CallError

PROCRASTINATE = "procrastinate"
NAMES = (PROCRASTINATE,)


def dispatcher(name: str, url: str) -> Dispatcher:
    """The dispatcher of that name for the sessions of a database; it is to be opened."""
    if name not in NAMES:
        raise CallError(f"there is no dispatcher {name!r}; there is {', '.join(NAMES)}")
    try:
        from rondel.dispatch.procrastinate import ProcrastinateDispatcher
    except ImportError as missing:
        raise CallError(
            f"a dispatcher needs its library, which is missing ({missing}); "
            "pip install 'rondel[postgres]'"
        ) from missing
    return ProcrastinateDispatcher(url)
