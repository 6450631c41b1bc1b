"""`rondel` as its users start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON objects it printed, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def document(self) -> Any:
        """The one JSON document it printed."""
        return json.loads(self.out)

    @property
    def result(self) -> dict[str, Any]:
        """The last of them: what became of the run."""
        return self.lines[-1]


def environment(**more: str) -> dict[str, str]:
    """The environment of this process with the commands of its Python in reach."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8", **more}


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """The real command, in a process of its own."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [str(BIN / "rondel"), *arguments],
        **{**pipes, "text": True, "encoding": "utf-8", "env": environment(), **options},
    )


def rondel(*arguments: str, stdin: str = "", **options: Any) -> Ran:
    """The real command from start to end."""
    process = start(*arguments, **options)
    out, err = process.communicate(stdin)
    return Ran(process.returncode, out, err)
