"""The virtual environments of the peers, one for each, below `.peers/`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.contender import HOME, Contender

FOLDER = Path(__file__).parent / ".peers"
INSTALL_LIMIT = 900


class InstallFailed(Exception):
    """A peer could not be installed; the message is the installer's last line."""


def python_of(contender: Contender) -> Path:
    """The interpreter that a contender runs on."""
    if contender.environment == HOME:
        return Path(sys.executable)
    return FOLDER / contender.environment / "bin" / "python"


def make(contender: Contender) -> None:
    """Install what a contender needs, once."""
    if contender.environment == HOME:
        return
    folder = FOLDER / contender.environment
    ready = folder / ".ready"
    wanted = "\n".join(contender.requirements)
    if ready.exists() and ready.read_text() == wanted:
        return
    _run([sys.executable, "-m", "venv", str(folder)])
    installer = [str(python_of(contender)), "-m", "pip", "install", "--quiet", "--no-compile"]
    _run([*installer, "--disable-pip-version-check", "--upgrade", *contender.requirements])
    ready.write_text(wanted)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_LIMIT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"not installed after {INSTALL_LIMIT} s") from error
    if done.returncode:
        raise InstallFailed((done.stderr.strip().splitlines() or ["no reason given"])[-1])
