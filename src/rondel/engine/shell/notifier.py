"""What those wait for who watch a session."""

from __future__ import annotations

from asyncio import Future, get_running_loop
from collections.abc import Callable

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Notifier:
    """Wakes everyone who waits for news of a session."""

    __slots__ = ("callbacks", "waiting")

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] | None = None
        """Called at every ring; they return at once."""
        self.waiting: list[Future[None]] | None = None
        """Those who wait, if anybody does."""

    def wait(self) -> Future[None]:
        """Await it to go on at the next ring."""
        future: Future[None] = get_running_loop().create_future()
        if self.waiting is None:
            self.waiting = [future]
        else:
            self.waiting.append(future)
        return future


def ring(notifier: Notifier) -> None:
    """Tell all who wait that there is news."""
    if notifier.callbacks is not None:
        for callback in notifier.callbacks:
            callback()
    if notifier.waiting is not None:
        waiting, notifier.waiting = notifier.waiting, None
        wake(waiting)


def wake(waiting: list[Future[None]]) -> None:
    """Let all these go on."""
    for future in waiting:
        if not future.done():
            future.set_result(None)
