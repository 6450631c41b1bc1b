"""How long fresh processes take to import Rondel, and to say what its command can do."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.probe import Figures, answer, best_of_processes

PYTHON = sys.executable
RONDEL = str(Path(sys.executable).with_name("rondel"))
COMMANDS = {
    "import pydantic": (PYTHON, "-c", "import pydantic"),
    "import rondel": (PYTHON, "-c", "import rondel"),
    "import Engine and Graph": (PYTHON, "-c", "from rondel import Engine, Graph"),
    "rondel --help": (RONDEL, "--help"),
}


def figures(passes: int) -> Figures:
    """CPU seconds for each, the best of so many processes."""
    calls = {name: partial(_run, words) for name, words in COMMANDS.items()}
    return best_of_processes(calls, passes)


def _run(command: tuple[str, ...]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    answer(figures, 15)
