"""Looks into a built wheel: all of the package is in it, the pages too, and nothing else.

python check_wheel.py dist/rondel-*.whl
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from zipfile import ZipFile

from compile_engine import GROUP, ROOT, SOURCE, compiled_modules, path_of

PAGES = "rondel/server/pages"
NOT_SOURCE = (".so", ".pyd", ".pyc", ".digest")


def main(arguments: list[str]) -> int:
    """Check each wheel; the exit code says whether all are as they should be."""
    code = 0
    for name in arguments:
        with ZipFile(name) as wheel:
            wrong = [*problems(wheel)]
            size = sum(item.compress_size for item in wheel.infolist())
            kind = "compiled" if is_compiled(wheel) else "plain Python"
            print(f"{name}: {len(wheel.namelist())} files, {size / 1e6:.1f} MB, {kind}")
        for problem in wrong:
            print(f"error: {problem}", file=sys.stderr)
        code = code or int(bool(wrong))
    return code


def problems(wheel: ZipFile) -> Iterator[str]:
    """All that is wrong with what a wheel contains."""
    names = set(wheel.namelist())
    for name in sorted(sources() - names):
        yield f"{name} is missing"
    yield from _pages(wheel, names)
    yield from _compiled(names)
    yield from _metadata(wheel, names)
    folders = {name.split("/")[0] for name in names}
    for folder in sorted(folders):
        if folder != "rondel" and not re.match(r"rondel(__mypyc\.|-[\d.a-z]+\.dist-info)", folder):
            yield f"{folder} is not of the package"
    for name in sorted(names):
        if str(ROOT).encode() in wheel.read(name):
            yield f"{name} has the path of this machine in it"


def sources() -> set[str]:
    """The files of the package, as a wheel names them; the pages come on top."""
    files = (path for path in (SOURCE / "rondel").rglob("*") if path.is_file())
    kept = (path for path in files if path.suffix not in NOT_SOURCE)
    names = {path.relative_to(SOURCE).as_posix() for path in kept}
    return {name for name in names if not name.startswith(PAGES)}


def is_compiled(wheel: ZipFile) -> bool:
    """Whether the engine in it is compiled."""
    return any(name.endswith((".so", ".pyd")) for name in wheel.namelist())


def _pages(wheel: ZipFile, names: set[str]) -> Iterator[str]:
    """The pages, and whatever the first of them names."""
    index = f"{PAGES}/index.html"
    if index not in names:
        yield "the web pages are missing; run `make web`, then build again"
        return
    text = wheel.read(index).decode()
    for asset in re.findall(r'(?:src|href)="[./]*(assets/[^"]+)"', text):
        if f"{PAGES}/{asset}" not in names:
            yield f"{PAGES}/{asset}, which index.html names, is missing"


def _compiled(names: set[str]) -> Iterator[str]:
    """Either all that is to be compiled is, or nothing."""
    libraries = {name.split(".")[0] for name in names if name.endswith((".so", ".pyd"))}
    if not libraries:
        return
    modules = (path_of(module).relative_to(SOURCE) for module in compiled_modules())
    wanted = {path.with_suffix("").as_posix() for path in modules} | {f"{GROUP}__mypyc"}
    for name in sorted(wanted ^ libraries):
        yield f"{name} is {'not compiled' if name in wanted else 'compiled, but not of the list'}"


def _metadata(wheel: ZipFile, names: set[str]) -> Iterator[str]:
    entries = [name for name in names if name.endswith(".dist-info/entry_points.txt")]
    if not entries or b"rondel = rondel.cli:main" not in wheel.read(entries[0]):
        yield "the command `rondel` is missing"
    if not any(name.endswith("licenses/LICENSE") for name in names):
        yield "the licence is missing"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
