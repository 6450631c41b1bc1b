"""The engine, compiled with mypyc: beside its sources, or into a folder.

    python compile_engine.py            beside the sources, if something has changed
    python compile_engine.py FOLDER     into a folder, as the wheel needs it

The sources stay plain Python and run as they are. What is compiled stands in pyproject.toml,
`[tool.rondel] compiled`. Without a compiler, or with RONDEL_COMPILE=0, nothing is compiled.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
SOURCE = ROOT / "src"
GROUP = "rondel"
RECORD = SOURCE / f"{GROUP}__mypyc.digest"
"""What the compiled modules were made of; as old as they are."""

SUFFIX: str = sysconfig.get_config_var("EXT_SUFFIX")
OPTIMIZATION = "3"
PRIVATE = ["-fvisibility=hidden"] if os.name == "posix" else []
"""Compiled functions call each other directly, not as something that might be replaced."""

PRICE = "the engine runs as plain Python, at about six times the cost a step"
DEBIAN = ("gcc", "libc6-dev", "python3-dev")


class NotCompiled(Exception):
    """Why the engine stays plain Python, in a few words; `output` is what the compiler said."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.output = output


def main(arguments: list[str]) -> int:
    """Compile into the folder that is named, or beside the sources."""
    if not arguments:
        return beside_sources()
    try:
        compile_into(Path(arguments[0]))
    except NotCompiled as error:
        print(error.output, file=sys.stderr)
        print(error, file=sys.stderr)
        return 1
    return 0


def beside_sources() -> int:
    """Bring the compiled modules up to date with the sources."""
    began = time.time()
    if os.environ.get("RONDEL_COMPILE") == "0":
        return _stay_plain("RONDEL_COMPILE is 0")
    digest = _digest()
    try:
        if not _is_made_of(digest):
            _demand_compiler()
            print("Compiling the engine (once, about a minute) ...", flush=True)
            _replace_compiled()
    except NotCompiled as error:
        return _stay_plain(str(error), error.output)
    RECORD.write_text(digest, "utf-8")
    for file in (RECORD, *compiled_files()):
        os.utime(file, (began, began))  # an edit since then is newer
    return 0


def compile_into(folder: Path) -> None:
    """Put the compiled modules, and the library that they share, into a folder."""
    if reason := obstacle():
        raise NotCompiled(reason)
    from mypyc.build import mypycify
    from setuptools import Distribution

    os.chdir(ROOT)  # the paths in tracebacks, and where mypy looks for its settings
    with tempfile.TemporaryDirectory(prefix="rondel-") as work:
        try:
            extensions = mypycify(
                [
                    "--follow-imports=silent",
                    "--ignore-missing-imports",
                    f"--cache-dir={work}/mypy",
                    *(str(path_of(module).relative_to(ROOT)) for module in compiled_modules()),
                ],
                opt_level=OPTIMIZATION,
                debug_level="0",
                multi_file=True,
                target_dir=f"{work}/c",
                group_name=GROUP,
            )
            for extension in extensions:
                extension.extra_compile_args += PRIVATE
            command: Any = Distribution({"ext_modules": extensions}).get_command_obj("build_ext")
            command.build_lib, command.build_temp = str(folder), f"{work}/objects"
            command.ensure_finalized()
            _compile_in_parallel(command)
            command.run()
        except (Exception, SystemExit) as error:  # mypy has said why, and exits
            raise NotCompiled("mypyc or the C compiler failed", str(error)) from error


def obstacle() -> str | None:
    """What this machine lacks to compile an extension of Python."""
    if os.name != "posix":
        return None
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if not shutil.which(compiler):
        return f"there is no C compiler ({compiler})"
    probe = [compiler, "-fsyntax-only", f"-I{sysconfig.get_path('include')}", "-xc", "-"]
    tried = subprocess.run(
        probe, input="#include <Python.h>", capture_output=True, text=True, check=False
    )
    return "Python.h is missing or does not compile" if tried.returncode else None


def compiled_modules() -> list[str]:
    """The modules that are compiled."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    modules: list[str] = settings["tool"]["rondel"]["compiled"]
    return modules


def compiled_files() -> list[Path]:
    """What is compiled beside the sources at this moment, for any Python."""
    return sorted(path for ending in ("so", "pyd") for path in SOURCE.rglob(f"*.{ending}"))


def path_of(module: str) -> Path:
    """The source of a module."""
    path = SOURCE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _compile_in_parallel(command: Any) -> None:
    """One library of many C files: setuptools would take one after the other."""
    build_extensions = command.build_extensions

    def build() -> None:
        compile_some = command.compiler.compile

        def compile_all(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = pool.map(lambda source: compile_some([source], **options), sources)
                return [path for paths in objects for path in paths]

        command.compiler.compile = compile_all
        build_extensions()

    command.build_extensions = build


def _replace_compiled() -> None:
    """Compile in a process of its own, and put what came of it in the place of what was there."""
    with tempfile.TemporaryDirectory(prefix="rondel-") as folder:
        done = subprocess.run(
            [sys.executable, __file__, folder], capture_output=True, text=True, check=False
        )
        if done.returncode:
            *output, reason = (done.stdout + done.stderr).rstrip().splitlines()
            raise NotCompiled(reason, "\n".join(output))
        made = {
            SOURCE / path.relative_to(folder): path for path in Path(folder).rglob(f"*{SUFFIX}")
        }
        _remove(path for path in compiled_files() if path not in made)
        for place, path in made.items():
            beside = place.with_name(f"{place.name}.new")
            shutil.copy(path, beside)
            beside.replace(place)  # whoever has the old one open keeps it


def _stay_plain(reason: str, output: str = "") -> int:
    """Without compiled modules rather than with old ones; where that must not be, fail."""
    _remove([*compiled_files(), RECORD])
    if output.strip():
        print(output.strip(), file=sys.stderr)
    print(f"Not compiled: {reason}; {PRICE}.", file=sys.stderr)
    return int(os.environ.get("CI") == "true" and os.environ.get("RONDEL_COMPILE") != "0")


def _remove(paths: Iterator[Path] | list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _demand_compiler() -> None:
    """What is missing is installed where it can be had without asking: as root on Debian."""
    if obstacle() and not os.environ.get("CC") and os.geteuid() == 0 and shutil.which("apt-get"):
        for arguments in (["update"], ["install", "-y", *DEBIAN]):
            subprocess.run(["apt-get", "-qq", *arguments], stdout=sys.stderr, check=False)
    if reason := obstacle():
        raise NotCompiled(reason)


def _is_made_of(digest: str) -> bool:
    if not RECORD.exists() or RECORD.read_text("utf-8") != digest:
        return False
    expected = {path_of(module).with_suffix(SUFFIX) for module in compiled_modules()}
    return {*compiled_files()} == expected | {SOURCE / f"{GROUP}__mypyc{SUFFIX}"}


def _digest() -> str:
    """Of all that a compiled module may depend on: also of what it imports, for the types."""
    digest = hashlib.sha256(f"{SUFFIX} {version('mypy')} {compiled_modules()}".encode())
    for path in (Path(__file__), *(path_of(module) for module in sorted(_with_imports()))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _with_imports() -> set[str]:
    known: set[str] = set()
    new = set(compiled_modules())
    while new:
        known |= new
        new = {name for module in new for name in _imports(module)} - known
    return known


def _imports(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path_of(module).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            if name.split(".")[0] == GROUP and path_of(name).exists():
                yield name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
