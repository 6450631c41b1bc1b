"""Who wants the program to end: somebody outside, or the code of a node, which may not.

`sys.exit()` and a `KeyboardInterrupt` that a node's code raises are failures of that node. Only
what a signal raises (Ctrl-C, or a handler of the program's own) and what the end of a program
throws into its coroutines goes through.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from opcode import opmap
from types import CodeType, TracebackType
from typing import Any

from rondel.engine.shell.budget_gate import OverBudget
from rondel.errors import Exited


class Halted(BaseException):
    """The session was locked: the step ends here without a trace and is done again later.

    No node is to catch this, so it is no Exception.
    """


_RAISE = opmap["RAISE_VARARGS"]
_THE_ENGINES = (Exception, OverBudget, Halted, asyncio.CancelledError, BaseExceptionGroup)
"""What the engine has its own rules for."""


def confined(error: BaseException) -> BaseException:
    """The error itself; as a failure, if it is code of a node that tries to end the program."""
    if isinstance(error, _THE_ENGINES) or _comes_from_outside(error):
        return error
    return Exited(
        f"{type(error).__name__}: {error}".removesuffix(": ")
        + "; code in a graph cannot end the program: return, or raise an error"
    )


def _comes_from_outside(error: BaseException) -> bool:
    if isinstance(error, SystemExit | KeyboardInterrupt) and _raised_by_handler(error):
        return True
    is_thrown = isinstance(error, KeyboardInterrupt | GeneratorExit)
    return is_thrown and not _raised_by_statement(error)


def _raised_by_handler(error: BaseException) -> bool:
    """Whether a handler of a signal raised it, in the middle of whatever was running."""
    handlers = {code for number in signal.valid_signals() if (code := _code_of(number))}
    return any(frame.tb_frame.f_code in handlers for frame in _frames(error))


def _raised_by_statement(error: BaseException) -> bool:
    """Whether a `raise` began it; Ctrl-C interrupts any other instruction."""
    frames = list(_frames(error))
    if not frames:
        return False
    innermost = frames[-1]
    code, at = innermost.tb_frame.f_code.co_code, innermost.tb_lasti
    return 0 <= at < len(code) - 1 and code[at] == _RAISE and code[at + 1] > 0


def _frames(error: BaseException) -> Iterator[TracebackType]:
    frame = error.__traceback__
    while frame is not None:
        yield frame
        frame = frame.tb_next


def _code_of(number: int) -> CodeType | None:
    """The code of the program's own handler of a signal, if it has one."""
    handler: Any = signal.getsignal(number)
    while hasattr(handler, "func"):  # a partial
        handler = handler.func
    return getattr(getattr(handler, "__func__", handler), "__code__", None)
