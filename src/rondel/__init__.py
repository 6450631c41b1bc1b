"""Rondel: an engine for multi-agent workflows whose graphs contain loops.

The names below are imported when they are first used, so that `rondel --help` and
`import rondel` stay fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rondel.engine.message import Message
    from rondel.engine.protocols import (
        Context,
        Emit,
        Handler,
        Lock,
        Middleware,
        Nothing,
        Outcome,
        Processor,
        Question,
        Router,
        Suspend,
        Usage,
        Verdict,
    )
    from rondel.engine.registry import Registry
    from rondel.errors import GraphError, RondelError
    from rondel.nodes.calling import NOTHING
    from rondel.sessions.engine import Engine, run
    from rondel.sessions.event import Event
    from rondel.sessions.graph import Graph
    from rondel.sessions.records import Result
    from rondel.sessions.registry import builtin_registry
    from rondel.sessions.session import Session

__all__ = [
    "NOTHING",
    "Context",
    "Emit",
    "Engine",
    "Event",
    "Graph",
    "GraphError",
    "Handler",
    "Lock",
    "Message",
    "Middleware",
    "Nothing",
    "Outcome",
    "Processor",
    "Question",
    "Registry",
    "Result",
    "RondelError",
    "Router",
    "Session",
    "Suspend",
    "Usage",
    "Verdict",
    "builtin_registry",
    "run",
]

_HOMES = {
    "engine.message": ("Message",),
    "engine.protocols": (
        *("Context", "Emit", "Handler", "Lock", "Middleware", "Nothing", "Outcome"),
        *("Processor", "Question", "Router", "Suspend", "Usage", "Verdict"),
    ),
    "engine.registry": ("Registry",),
    "errors": ("GraphError", "RondelError"),
    "nodes.calling": ("NOTHING",),
    "sessions.engine": ("Engine", "run"),
    "sessions.event": ("Event",),
    "sessions.graph": ("Graph",),
    "sessions.records": ("Result",),
    "sessions.registry": ("builtin_registry",),
    "sessions.session": ("Session",),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
