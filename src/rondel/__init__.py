"""Rondel: an engine for multi-agent workflows whose graphs contain loops."""

from rondel.engine.message import Message
from rondel.engine.protocols import (
    Context,
    Emit,
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
from rondel.nodes.function import NOTHING
from rondel.sessions.engine import Engine, run
from rondel.sessions.events import Event
from rondel.sessions.graph import Graph
from rondel.sessions.records import Result
from rondel.sessions.session import Session

__all__ = [
    "NOTHING",
    "Context",
    "Emit",
    "Engine",
    "Event",
    "Graph",
    "GraphError",
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
    "run",
]
