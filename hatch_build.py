"""The wheel's hook: the compiled engine in it where there is a compiler, and the built pages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """Compiles unless RONDEL_COMPILE is 0; with RONDEL_COMPILE=1 failing is an error."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the compiled modules to the wheel; an editable install is compiled by make."""
        if version == "editable":
            return
        self._build_pages()
        wish = os.environ.get("RONDEL_COMPILE")
        if wish == "0":
            self._stay_plain("RONDEL_COMPILE is 0")
            return
        self._folder = TemporaryDirectory(prefix="rondel-wheel-")  # removes itself
        done = subprocess.run(
            [sys.executable, str(Path(self.root, "compile_engine.py")), self._folder.name],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            self._include(Path(self._folder.name), build_data)
        elif wish == "1":
            raise RuntimeError(f"RONDEL_COMPILE is 1, and:\n{done.stdout}{done.stderr}")
        else:
            self._stay_plain((done.stderr.rstrip().splitlines() or ["it failed"])[-1])

    def _build_pages(self) -> None:
        """The pages are part of the wheel: built already, or now."""
        root = Path(self.root)
        index = root / "src" / "rondel" / "server" / "pages" / "index.html"
        if not index.exists() and (root / "web" / "package-lock.json").exists():
            command = [sys.executable, str(root / "build_pages.py")]
            subprocess.run(command, check=False)
        if not index.exists():
            self.app.display_warning(
                "Without web pages: they need Node; run `make web`, then build the wheel again."
            )

    def _include(self, folder: Path, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for file in folder.rglob("*.*"):
            if file.is_file():
                build_data["force_include"][str(file)] = str(file.relative_to(folder))

    def _stay_plain(self, reason: str) -> None:
        self.app.display_warning(
            f"Not compiled: {reason}; the engine runs as plain Python, "
            "at about six times the cost a step."
        )
