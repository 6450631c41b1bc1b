"""A terminal that programs run in: what they send is shown on a screen that tests can read."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Sequence

import pyte

from tests.e2e.command import environment

PATIENCE = 20.0


class Terminal:
    """A window of so many columns and rows, with a program in it.

    Like xterm, it does not break lines anew when its window changes.
    """

    def __init__(self, command: Sequence[str], columns: int, rows: int, **more: str) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=1)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._master, slave = pty.openpty()
        self._set_size(columns, rows)
        env = environment(TERM="xterm-256color", XTERM_VERSION="XTerm", LANG="C.UTF-8", **more)
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)
        os.close(self._master)

    @property
    def shown(self) -> str:
        """What the window shows, without what is empty."""
        with self._lock:
            return "\n".join(line.rstrip() for line in self._screen.display if line.strip())

    @property
    def all(self) -> str:
        """The same with what has left it at the top."""
        with self._lock:
            columns = self._screen.columns
            past = [
                "".join(line[x].data for x in range(columns)).rstrip()
                for line in self._screen.history.top
            ]
        return "\n".join([*past, self.shown])

    def resize(self, columns: int, rows: int) -> None:
        """Pull at the corner of the window."""
        with self._lock:
            self._screen.resize(rows, columns)
            self._set_size(columns, rows)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def until(self, test: Callable[[str], bool] | str) -> str:
        """What the window shows as soon as it passes a test or contains a text."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            shown = self.shown
            if test in shown if isinstance(test, str) else test(shown):
                return shown
            time.sleep(0.02)
        raise AssertionError(f"it never came to that:\n{self.all}")

    def end(self) -> str:
        """All that was shown when the program is over."""
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return self.all

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._master, 65536)
            except OSError:
                return
            if not chunk:
                return
            with self._lock:
                self._stream.feed(chunk)

    def _set_size(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)


def _take_terminal() -> None:
    """Let the keys of the terminal go to the new process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
