"""The node type `python`: what code gets and gives, and every limit that it may try to break."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, Message
from rondel.errors import CallError, StepFailed, StepTimeout
from tests.unit.nodes.context import FakeContext, of_data, of_text
from tests.unit.nodes.running import built, emitted, problems
from tests.unit.sessions.playing import limited, play, until

MARK = "rondel-test-"


def ran(code: str, ctx: FakeContext | None = None, **config: Any) -> Message:
    """What one execution of the code emits."""
    return emitted(built("python", code=code, **config), ctx or of_text("hello"))


def refused(code: str, kind: type[Exception] = StepFailed, **config: Any) -> str:
    """How an execution of the code fails; always in one line."""
    with pytest.raises(kind) as caught:
        ran(code, **config)
    said = str(caught.value)
    assert "\n" not in said
    return said


def alive(mark: str) -> list[int]:
    """The processes that have the mark in their command or their name."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                known = (place / "cmdline").read_bytes() + (place / "comm").read_bytes()
                if mark.encode() in known and (place / "stat").read_text().split()[2] != "Z":
                    found.append(int(place.name))
    return found


def working_in(folder: Path) -> list[int]:
    """The processes that work in the folder or in one below it."""
    found = []
    for place in Path("/proc").iterdir():
        with suppress(OSError):
            if place.name.isdigit() and os.readlink(place / "cwd").startswith(f"{folder}/"):
                found.append(int(place.name))
    return found


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs have a folder of temporary files that no other test uses at the same time."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    deadline = time.monotonic() + 60
    while (left := working_in(folder)) or any(folder.iterdir()):
        assert time.monotonic() < deadline, (left, list(folder.iterdir()))
        time.sleep(0.01)


# What goes in and comes out


def test_what_it_prints_is_the_content_and_its_result_the_data() -> None:
    said = ran("print('a'); print('写')\nresult = {'score': 7, 'list': [1, None]}")
    assert (said.content, said.data) == ("a\n写", {"score": 7, "list": [1, None]})


def test_it_gets_text_data_and_messages() -> None:
    ctx = of_data({"score": 5, "name": "诗"})
    said = ran("result = inputs\nprint(inputs['text'], inputs['data']['score'] + 1)", ctx)
    assert said.content == "text 6"
    message = {"source": "from", "role": "user", "content": "text", "data": ctx.data}
    assert said.data == {"text": "text", "data": ctx.data, "messages": [message], "files": []}


def test_code_without_a_word_is_an_empty_message() -> None:
    assert ran("x = 1") == Message("")


def test_code_that_ends_itself_well_has_ended_well() -> None:
    said = ran("import sys\nresult = {'a': 1}\nprint('x')\nsys.exit(0)\nprint('never')")
    assert (said.content, said.data) == ("x", {"a": 1})


def test_it_can_use_classes_threads_and_processes() -> None:
    code = """
import subprocess, sys, threading
from dataclasses import dataclass

@dataclass
class Sum:
    value: int = 0

    def add(self, n):
        self.value += n

sum = Sum()
threads = [threading.Thread(target=sum.add, args=(n,)) for n in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
made = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True)
if __name__ == "__main__":
    print(sum.value, made.stdout.strip())
"""
    assert ran(code).content == "10 42"


def test_what_is_no_text_is_shown_as_well_as_it_can_be() -> None:
    code = "import sys\nsys.stdout.buffer.write(b'a\\xff')"
    assert ran(code).content == "a�"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\n1 / 0", "the code failed: line 2: ZeroDivisionError: division by zero"),
        ("raise ValueError('a\\nb')", "the code failed: line 1: ValueError: a b"),
        ("import sys\nsys.exit('no luck')", "the code failed: no luck"),
        ("import sys\nsys.exit(3)", "the code failed: it ended with exit code 3"),
        ("import os\nos._exit(4)", "the code failed: it ended with exit code 4"),
        ("import os\nos.write(2, b'a\\nlast\\n')\nos._exit(4)", "the code failed: last"),
        ("import os, signal\nos.kill(os.getpid(), 11)", "the code failed: it was ended by SIGSEGV"),
        ("result = 'text'", "the code failed: TypeError: result is str and must be a dict"),
        ("result = {'a': {1, 2}}", "the code failed: TypeError: result is not plain JSON"),
        ("result = {'a': float('nan')}", "the code failed: TypeError: result is not plain JSON"),
        ("import numpy", "the code failed: line 1: ModuleNotFoundError"),
        ("import rondel", "the code failed: line 1: ModuleNotFoundError"),
        ("input()", "the code failed: line 1: EOFError"),
    ],
)
def test_code_that_fails_says_why_in_one_line(code: str, said: str) -> None:
    assert refused(code).startswith(said)


def test_installed_packages_can_be_allowed() -> None:
    assert ran("import msgspec\nprint(msgspec.json.encode(1))", packages=True).content == "b'1'"


# Limits


def test_code_that_takes_too_long_is_ended() -> None:
    said = refused("import time\ntime.sleep(60)", StepTimeout, timeout=0.3)
    assert said == "the code ran longer than 0.3 s; raise timeout"
    assert "longer than" in refused("while True: pass", StepTimeout, timeout="300ms")


def test_code_that_ignores_signals_is_ended_too() -> None:
    code = """
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
time.sleep(60)
"""
    refused(code, StepTimeout, timeout=0.3)


@pytest.mark.parametrize(
    "code",
    [
        "x = 'x' * 10**9",
        "x = []\nwhile True: x.append('x' * 10**6)",
        "import mmap\nx = mmap.mmap(-1, 10**9)",
    ],
)
def test_code_gets_no_more_memory_than_it_may_have(code: str) -> None:
    said = refused(code, memory="100MB")
    assert any(word in said for word in ("memory", "allocate")), said


def test_several_processes_share_the_memory() -> None:
    code = """
import os, time
for n in range(6):
    if os.fork() == 0:
        held = bytearray(os.urandom(60_000_000))
        time.sleep(60)
time.sleep(60)
"""
    said = refused(code, memory="150MB", timeout=20)
    assert said == "the code needs more memory than 150 MB; raise memory"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_code_that_never_stops_printing_is_ended(stream: str) -> None:
    said = refused(f"import sys\nwhile True: print('x' * 1000, file=sys.{stream})")
    assert said == "the code printed more than 100 kB; print less or raise max_output"


def test_exactly_as_much_as_it_may_print_it_may_print() -> None:
    assert len(ran("print('x' * 99, end='')", max_output=99).text) == 99
    refused("print('x' * 99)", max_output=99)
    assert "may have 99" in refused("result = {'x': 'x' * 99}", max_output=99)


def test_a_file_cannot_grow_past_the_limit() -> None:
    code = "with open('f', 'wb') as f:\n    while True: f.write(bytes(10**6))"
    assert "File too large" in refused(code, files="5MB")


def test_many_files_cannot_be_larger_than_the_limit_together() -> None:
    code = """
import time
for n in range(20):
    with open(f"f{n}", "wb") as f: f.write(bytes(10**6))
time.sleep(60)
"""
    assert "wrote more files than 5 MB" in refused(code, files="5MB")


def test_no_file_outlives_the_run() -> None:
    code = """
import os, tempfile, pathlib
handle, name = tempfile.mkstemp()
os.makedirs("a/b")
pathlib.Path("a/b/c").write_text("x")
pathlib.Path.home().joinpath("d").write_text("y")
os.chmod("a/b", 0o000)
os.chmod("a", 0o000)
print(name, os.getcwd())
"""
    name, work = ran(code).text.split()
    assert not Path(name).exists()
    assert not Path(work).exists()


def test_a_fork_bomb_is_held() -> None:
    code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    said = refused(code, timeout=20)
    assert said == "the code started more than 16 processes; raise processes"


def test_a_child_that_detaches_itself_does_not_outlive_the_run() -> None:
    mark = f"{MARK}{os.getpid()}"
    code = f"""
import os, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", "{mark}"])
    os._exit(0)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "{mark}"],
                 start_new_session=True)
time.sleep(0.5)
print("done")
"""
    assert ran(code).content == "done"
    assert not alive(mark)


def test_it_has_no_more_open_files_than_it_may_have() -> None:
    assert "Too many open files" in refused("x = [open('/dev/null') for n in range(1000)]")


def test_it_leaves_no_core() -> None:
    code = "import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE))"
    assert ran(code).content == "(0, 0)"


def test_it_inherits_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RONDEL_PLANTED", "sk-planted-0123456789")
    monkeypatch.setenv("PYTHONPATH", "/planted")
    code = """
import os, sys
texts = [repr(dict(os.environ)), repr(sys.path)]
for pid in ("self", os.getppid()):
    texts.append(repr(open(f"/proc/{pid}/environ", "rb").read()))
print("\\n".join(texts))
result = {"names": sorted(os.environ)}
"""
    said = ran(code)
    assert "planted" not in said.text
    assert said.data["names"] == ["HOME", "LANG", "PATH", "TMPDIR"]


def test_a_limit_cannot_be_raised_by_code_without_rights() -> None:
    code = """
import os, resource
if os.fork() == 0:
    if os.getuid() == 0:
        os.setuid(65534)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (10**12, 10**12))
    except ValueError:
        os.write(1, b"no")
    os._exit(0)
os.wait()
"""
    assert ran(code).content == "no"


# Configs


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({}, ""),
        ({"code": ""}, ""),
        ({"code": "def"}, "code"),
        ({"code": "a\0"}, "code"),
        ({"code": "1", "timeout": 0}, "timeout"),
        ({"code": "1", "memory": "lots"}, "memory"),
        ({"code": "1", "memory": "1MB"}, "memory"),
        ({"code": "1", "max_output": -1}, "max_output"),
        ({"code": "1", "files": True}, "files"),
        ({"code": "1", "processes": 0}, "processes"),
    ],
)
def test_a_wrong_config_is_told_where(config: dict[str, Any], place: str) -> None:
    assert [problem.partition(":")[0] for problem in problems("python", config)] == [place]


def test_sizes_are_bytes_or_have_a_unit() -> None:
    for size in (64_000_000, "64000000", "64MB", "64000kB"):
        assert built("python", code="1", memory=size)._config.memory == 64_000_000


# In a session


def graph(code: str = "print('ran')", **fields: Any) -> Graph:
    made = Graph("g")
    made.add("Count it", "python", {"code": code}, **fields)
    return made


async def test_it_is_off_unless_the_engine_allows_it() -> None:
    async with Engine(db=None) as engine:
        with pytest.raises(CallError) as caught:
            await engine.start(graph(), "x")
        assert not engine.sessions().rows
        assert "'Count it'" in str(caught.value)
        assert "--allow-python" in str(caught.value)
    async with Engine(db=None, allow_python=True) as engine:
        assert (await engine.run(graph(), "x")).output == "ran"


def test_a_python_node_inside_a_subgraph_is_off_too() -> None:
    text = """
graph:
  id: outer
  nodes:
    - id: Inner
      type: subgraph
      config: {graph: {id: i, nodes: [{id: Code, type: python, config: {code: print(1)}}]}}
"""
    with pytest.raises(CallError, match="'Inner/Code'"):
        play(Graph.loads(text))
    assert play(Graph.loads(text), allow_python=True).result.output == "1"


def test_a_failure_ends_the_run_or_is_tried_again_as_the_node_says() -> None:
    played = play(graph("1 / 0"), allow_python=True)
    assert played.result.status == "failed"
    assert "ZeroDivisionError" in played.result.message
    code = "import time\nassert inputs['data'].get('ok')"
    again = play(graph(code, retry={"max_attempts": 2, "min_wait": 0}), allow_python=True)
    assert "AssertionError" in again.result.message


@pytest.mark.parametrize("end", ["stop", "close", "timeout"])
def test_no_process_is_left_when_the_session_goes(end: str) -> None:
    mark = f"{MARK}{end}-{os.getpid()}"
    code = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{mark}"],
                 start_new_session=True)
while True: print("x" * 10, flush=True); time.sleep(0.01)
"""

    async def main(seconds: int) -> bool:
        """Whether the code came as far as to start a process."""
        seen: set[int] = set()
        engine = Engine(db=None, allow_python=True)
        fields = {"timeout": seconds} if end == "timeout" else {}
        session = await engine.start(graph(code, **fields), "x")
        await until(lambda: bool(seen.update(alive(mark)) or seen) or session.status == "failed")
        if end == "stop":
            await session.stop()
            await session.settled()
            assert session.status == "cancelled"
        elif end == "timeout":
            assert (await session.settled()).status == "failed"
        await engine.close()
        await until(lambda: not alive(mark))
        return bool(seen)

    assert any(limited(main(seconds)) for seconds in (1, 5, 25))


async def test_no_process_is_left_when_rondel_is_killed() -> None:
    mark = f"{MARK}killed-{os.getpid()}"
    sleeper = f"[sys.executable, '-c', 'import time; time.sleep(600)', '{mark}']"
    code = f"import subprocess, sys\nsubprocess.run({sleeper})"
    script = f"""
import asyncio
from rondel import Engine, Graph
g = Graph("g")
g.add("a", "python", {{"code": {code!r}}})
async def main():
    await Engine(db=None, allow_python=True).run(g, "x")
asyncio.run(main())
"""

    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    await until(lambda: bool(alive(mark)))
    process.kill()
    await process.wait()
    await until(lambda: not alive(mark))
