"""The program that a `python` node starts: it runs the code in a child process, within limits.

It stands alone: run by path in an isolated interpreter, it imports nothing of Rondel. One line of
JSON on its standard input says what to run; when that input ends, nobody wants the code any more
and all of it is killed. What became of it is left in two files of the folder it was given:
`report.json` is written by the child, `outcome.json` by this process, which watches it.

On Linux orphans become children of the watcher, so that a process which the code detached is found
too. Nothing is left behind.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

LOOK = 0.05
"""Seconds between looks at what the code uses."""

MANY_FILES = 10_000
OPEN_FILES = 256
PAGE = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """Run what standard input says; the exit code matters to nobody."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return 1
    order: dict[str, Any] = json.loads(line)
    folder = Path(order["folder"])
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    worker = os.fork()
    if worker == 0:
        os.setpgid(0, 0)
        return _work(order, folder)
    with suppress(OSError):  # whichever of the two comes first
        os.setpgid(worker, worker)
    (folder / "group").write_text(str(worker))
    outcome = _watch(worker, order, folder, woken)
    _end_all(worker if outcome is None or "exit" not in outcome else None)
    if outcome is None:
        shutil.rmtree(folder, ignore_errors=True)
        return 1
    shutil.rmtree(folder / "work", ignore_errors=True)
    (folder / "outcome.json").write_text(json.dumps(outcome))
    return 0


# The child: the node's code


def _work(order: dict[str, Any], folder: Path) -> int:
    """Run the code; what it leaves as `result`, or why it failed, is the report."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.closerange(3, OPEN_FILES)
    os.chdir(folder / "work")
    os.environ.update(HOME=os.getcwd(), TMPDIR=os.getcwd())
    _limit(order)
    if "script" in order:
        return _become_script(order)
    module = ModuleType("__main__")
    vars(module)["inputs"] = order["inputs"]
    sys.modules["__main__"] = module
    sys.argv = ["code"]
    code, report = _executed(order["code"], vars(module), order["max_output"])
    (folder / "report.json").write_text(json.dumps(report))
    return code


def _become_script(order: dict[str, Any]) -> int:
    """Give this process to the interpreter and the script; what it prints goes where it went."""
    *words, name = order["script"]
    arguments = [sys.executable, "-X", "utf8", "-B", *words, os.path.join(os.getcwd(), name)]
    environment = {**os.environ, **order["environment"]}
    try:
        os.execve(sys.executable, arguments, environment)  # noqa: S606
    except OSError as error:
        print(f"the interpreter does not start: {error}", file=sys.stderr)
        return 1


def _executed(code: str, names: dict[str, Any], largest: int) -> tuple[int, dict[str, Any]]:
    try:
        try:
            exec(compile(code, "<code>", "exec"), names)  # noqa: S102
        except SystemExit as asked:
            if asked.code not in (None, 0):
                said = "" if isinstance(asked.code, int) else str(asked.code)
                return asked.code if isinstance(asked.code, int) else 1, {"error": said}
        return 0, {"result": _result(names.get("result"), largest)}
    except BaseException as error:
        names.clear()
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        return 1, {"error": said, "line": _line(error)}


def _result(value: Any, largest: int) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        name = type(value).__name__
        raise TypeError(f"result is {name} and must be a dict, the node's data; print text")
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"result is not plain JSON: {error}") from None
    if len(text) > largest:
        raise ValueError(f"result has {len(text):,} bytes and may have {largest:,}")
    known: dict[str, Any] = json.loads(text)
    return known


def _line(error: BaseException) -> int | None:
    """The line of the code that the error came through last."""
    if isinstance(error, SyntaxError) and error.filename == "<code>":
        return error.lineno
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == "<code>"]
    return lines[-1] if lines else None


def _limit(order: dict[str, Any]) -> None:
    """Set the limits that the kernel enforces, for the code and each process that it starts."""
    processors = os.cpu_count() or 1
    limits = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(order["seconds"] + 1) * processors + 1,
        "RLIMIT_AS": order["memory"],
        "RLIMIT_DATA": order["memory"],
        "RLIMIT_FSIZE": order["files"],
        "RLIMIT_NOFILE": OPEN_FILES,
    }
    for name, most in limits.items():
        kind = getattr(resource, name, None)
        if kind is not None:
            _, hard = resource.getrlimit(kind)
            held = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (held, held))


# The watcher


def _watch(worker: int, order: dict[str, Any], folder: Path, woken: int) -> dict[str, Any] | None:
    """Wait until the code ends or exceeds a limit; None if nobody wants its result any more."""
    deadline = time.monotonic() + order["seconds"]
    looks = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return {"limit": "timeout"}
        ready, _, _ = select.select([0, woken], [], [], min(left, LOOK))
        if 0 in ready:
            return None
        if woken in ready:
            os.read(woken, 4096)
        status = _reap(worker)
        if status is not None:
            return {"exit": os.waitstatus_to_exitcode(status)}
        looks += 1
        limit = _exceeded(order) or (
            "files" if looks % 5 == 0 and _is_full(folder / "work", order["files"]) else ""
        )
        if limit:
            return {"limit": limit}


def _reap(worker: int) -> int | None:
    """Collect the processes that have ended; the worker's status if it is one of them."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == worker:
                return status
            if not pid:
                return None
    except ChildProcessError:
        return None


def _exceeded(order: dict[str, Any]) -> str:
    """Which limit all processes of the code are over together, if they are."""
    alive = _descendants(os.getpid(), order["processes"])
    if len(alive) > order["processes"]:
        return "processes"
    if len(alive) < 2 or sum(map(_resident, alive)) <= order["memory"]:
        return ""
    return "memory" if sum(map(_own_share, alive)) > order["memory"] else ""


def _is_full(work: Path, most: int) -> bool:
    size = count = 0
    for place, _, names in os.walk(work):
        for name in names:
            try:
                size += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
            count += 1
            if size > most or count > MANY_FILES:
                return True
    return False


def _end_all(worker: int | None) -> None:
    """Kill all processes that descend from this one, in whatever group or session they are.

    A group is killed at once, so that nobody in it can fork meanwhile.
    """
    groups = {worker} if worker else set()
    while True:
        for group in groups:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        time.sleep(0.001)
        groups = {group for pid in _descendants(os.getpid()) if (group := _group(pid))}


def _group(pid: int) -> int:
    """The process's group; 0 if it is the watcher's own, or if the process is gone."""
    try:
        group = os.getpgid(pid)
    except ProcessLookupError:
        return 0
    return 0 if group == os.getpgid(0) else group


def _descendants(root: int, most: int = 1000) -> set[int]:
    """The processes that descend from `root`; empty without /proc.

    It stops soon after `most`: they may multiply faster than they can be counted.
    """
    found: set[int] = set()
    left = [root]
    while left and len(found) <= most:
        parent = left.pop()
        try:
            threads = list((PROC / str(parent) / "task").iterdir())
            texts = [(thread / "children").read_text() for thread in threads]
        except OSError:
            continue
        fresh = {int(child) for text in texts for child in text.split()} - found
        found |= fresh
        left += fresh
    return found


def _resident(pid: int) -> int:
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def _own_share(pid: int) -> int:
    """Memory with what several processes share divided among them."""
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return 0
    lines = (line.split() for line in text.splitlines())
    return sum(int(line[1]) * 1024 for line in lines if line[0] == "Pss:")


def _prctl(option: int, value: int) -> None:
    """Ask the kernel for something that only Linux has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
