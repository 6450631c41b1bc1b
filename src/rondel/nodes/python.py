"""The node type `python`: runs code in a process of its own, within limits.

The limits hold mistakes, not malice: the code has the rights of the user who runs it. So it is off
unless whoever runs the graph allows it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rondel.engine.message import Message, Part
from rondel.engine.protocols import Context, Emit
from rondel.engine.registry import Registry
from rondel.errors import CallError, StepFailed, StepTimeout
from rondel.graph.guarantees import Calls, Guarantee
from rondel.graph.quantities import Duration, Size, size_text
from rondel.graph.surrogates import wholly
from rondel.models.model import Files
from rondel.models.tokens import attached_in_messages

PYTHON = "python"
RUNNER = Path(__file__).with_name("python_runner.py")

PATIENCE = 5.0
"""Seconds that the runner has to clear up when the step is over or cancelled."""

GRACE = 5.0
"""Seconds past its time limit after which the runner itself is taken to hang."""

LONGEST_LINE = 300

FAILED = "==CODE EXECUTION FAILED=="
"""With this begins what is said of a script that failed: graphs of ChatDev look for it."""

CODE_BLOCK = re.compile(r"```[a-zA-Z0-9_+-]*\s*\n(.*?)```", re.DOTALL)
UNSAFE = re.compile(r"[^0-9A-Za-z_-]")


class PythonConfig(BaseModel):
    """The code, and what one run of it may take."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    other_names: ClassVar[Collection[str]] = ("code", "script")
    runs_python: ClassVar[bool] = True
    """Marks a node that needs permission to run Python."""

    runs: Literal["code", "message"] = Field(
        "code",
        description="message: the code in the newest message runs as a script of its own, and "
        "what goes wrong with it is what the node says.",
    )
    code: str = Field("", description="The code; needed unless `runs` is message.")
    args: list[str] = Field([], description="Words between the interpreter and the script.")
    env: dict[str, str] = Field({}, description="More of an environment for the script.")
    timeout: Duration = 30.0
    memory: Annotated[Size, Field(ge=32_000_000)] = 256_000_000
    max_output: Size = 100_000
    files: Size = 50_000_000
    processes: Annotated[int, Field(strict=True, ge=1)] = 16
    packages: bool = Field(default=False, strict=True)

    @field_validator("code")
    @classmethod
    def _is_python(cls, code: str, info: ValidationInfo) -> str:
        if info.data.get("runs") == "message" and code:
            raise ValueError("is not run where `runs` is message; drop one of the two")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(code, "<code>", "exec")
        except SyntaxError as error:
            raise ValueError(f"is not Python: {error.msg} (line {error.lineno})") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise ValueError(f"is not Python: {error}") from None
        return code

    @model_validator(mode="after")
    def _has_code(self) -> Self:
        if self.runs == "code" and not self.code:
            hint = {"hint": "write the Python to run, or set runs: message"}
            raise PydanticCustomError("code", "the key 'code' is missing", hint)
        return self

    def guarantee(self) -> Guarantee:
        """It may emit anything, along all its edges, and calls no model."""
        return Guarantee(routes=False, emits=True, passes=False, calls=Calls())


@dataclass(slots=True)
class _Stream:
    """The output of a process, up to a limit; the rest is read and dropped."""

    limit: int
    content: bytearray = field(default_factory=bytearray)
    over: bool = False

    async def read(self, reader: asyncio.StreamReader, stop: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            if self.over:
                continue
            self.content += chunk
            if len(self.content) > self.limit:
                self.over = True
                stop.close()

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Script:
    """The code in a message, as a file that is run."""

    node: str
    source: str

    @classmethod
    def of(cls, ctx: Context) -> Script:
        """The code of the newest message: its first block of code, else all of it."""
        text = ctx.messages[-1].text if ctx.messages else ""
        block = CODE_BLOCK.search(text)
        return cls(ctx.node_id, textwrap.dedent(block[1] if block else text).strip())

    @property
    def name(self) -> str:
        """The file's name."""
        return f"{UNSAFE.sub('_', self.node) or 'script'}.py"

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of the script."""
        return {"MAC_CODE_WORKSPACE": ".", "MAC_CODE_SCRIPT": self.name, "MAC_NODE_ID": self.node}

    def write(self, folder: Path) -> None:
        """Write the file into a folder."""
        (folder / self.name).write_text(f"{self.source}\n", "utf-8", "replace")

    def failed(self, error: str, code: int | None = None, stderr: str = "") -> Message:
        """The output when the script fails or cannot run."""
        lines = [FAILED, error]
        if code is not None:
            lines.append(f"exit_code={code}")
        if stderr:
            lines.append(f"stderr:\n{stderr}")
        return Message("\n".join(lines))


class PythonProcessor:
    """Runs its code once a step: what it prints is the content, its `result` the data."""

    def __init__(self, config: PythonConfig, registry: Registry) -> None:
        self._config = config
        self._registry = registry

    async def process(self, ctx: Context) -> Emit:
        folder = Path(tempfile.mkdtemp(prefix="rondel-python-"))
        script: Script | None = None
        try:
            names, size = await self._lay_out(ctx.messages, folder)
            if self._config.runs == "message":
                script = Script.of(ctx)
                if not script.source:
                    return Emit((script.failed("No executable code segment found"),))
                await asyncio.to_thread(script.write, folder / "work")
            order = self._order(ctx, folder, names, size, script)
            out, err = await self._run(order, folder)
            if script is not None:
                return Emit((self._said(script, folder, out, err),))
            return Emit((self._message(folder, out, err),))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    # What goes in

    async def _lay_out(self, messages: Sequence[Message], folder: Path) -> tuple[list[str], int]:
        """Put the attachments into the code's folder; returns their names and total size."""
        work = folder / "work"
        work.mkdir()
        names: dict[str, str] = {}
        size = 0
        for part in attached_in_messages(messages):
            if part.attachment in names:
                continue
            files: Files = self._registry.service("attachments")
            content = await files.load(part)
            name = names[part.attachment] = _free_name(part, names.values())
            size += len(content)
            await asyncio.to_thread((work / name).write_bytes, content)
        return list(names.values()), size

    def _order(
        self, ctx: Context, folder: Path, names: list[str], size: int, script: Script | None
    ) -> bytes:
        config = self._config
        messages = [
            {"source": m.source, "role": m.role, "content": m.content, "data": m.data}
            for m in ctx.messages
        ]
        inputs = {"text": ctx.text, "data": ctx.data, "messages": messages, "files": names}
        order = {
            "folder": str(folder),
            "code": config.code,
            "inputs": inputs,
            "seconds": config.timeout,
            "memory": config.memory,
            "max_output": config.max_output,
            "files": config.files + size,
            "processes": config.processes,
        }
        if script is not None:
            order["script"] = [*config.args, script.name]
            order["environment"] = {**config.env, **script.environment}
        return msgspec.json.encode(order) + b"\n"

    # The process

    async def _run(self, order: bytes, folder: Path) -> tuple[_Stream, _Stream]:
        packages = () if self._config.packages else ("-S",)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-B", "-X", "utf8", *packages, str(RUNNER)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"},
            cwd=folder,
            start_new_session=True,
        )
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        if stdin is None or stdout is None or stderr is None:
            raise StepFailed("the code's process has no pipes")
        out, err = _Stream(self._config.max_output), _Stream(self._config.max_output)
        try:
            with suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(self._config.timeout + GRACE):
                    stdin.write(order)
                    await stdin.drain()
                    await asyncio.gather(out.read(stdout, stdin), err.read(stderr, stdin))
        finally:
            await _end(process, folder, stdin, stdout, stderr)
        return out, err

    # What comes out

    def _message(self, folder: Path, out: _Stream, err: _Stream) -> Message:
        if out.over or err.over:
            most = size_text(self._config.max_output)
            raise StepFailed(f"the code printed more than {most}; print less or raise max_output")
        outcome, report = _read(folder / "outcome.json"), _read(folder / "report.json")
        if outcome.get("exit") == 0 and "result" in report:
            result = report.get("result")
            data = result if isinstance(result, dict) else {}
            return Message(out.text.removesuffix("\n"), data)
        raise self._failure(outcome, report, err)

    def _said(self, script: Script, folder: Path, out: _Stream, err: _Stream) -> Message:
        """The message of a script: what it printed, or what went wrong."""
        config, outcome = self._config, _read(folder / "outcome.json")
        limit, code = outcome.get("limit"), outcome.get("exit")
        if out.over or err.over:
            return script.failed(f"Script printed more than {size_text(config.max_output)}")
        if limit == "timeout" or code == -signal.SIGXCPU:
            error = f"Script did not finish within {config.timeout:g}s"
            return script.failed(error, stderr=out.text)
        if limit is not None or code is None:
            why = f"is over its limit of {limit}" if limit else "was killed from outside"
            return script.failed(f"Script {why}", stderr=err.text)
        if code == 0:
            return Message(out.text)
        return script.failed("Script execution failed", code, err.text)

    def _failure(self, outcome: dict[str, Any], report: dict[str, Any], err: _Stream) -> StepFailed:
        config = self._config
        said = str(report.get("error") or "")
        lines = err.text.split("\n") if not said else ()
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        said = said or last
        limit, code = outcome.get("limit"), outcome.get("exit")
        if limit == "memory" or said.startswith("MemoryError"):
            most = size_text(config.memory)
            return StepFailed(f"the code needs more memory than {most}; raise memory")
        if limit == "timeout" or code == -signal.SIGXCPU:
            return StepTimeout(f"the code ran longer than {config.timeout:g} s; raise timeout")
        if limit == "files":
            most = size_text(config.files)
            return StepFailed(f"the code wrote more files than {most} or 10,000; raise files")
        if limit == "processes":
            most = f"{config.processes} processes"
            return StepFailed(f"the code started more than {most}; raise processes")
        where = f"line {report['line']}: " if report.get("line") else ""
        return StepFailed(f"the code failed: {where}{_shortened(said) or _ended(code)}")


async def _end(
    process: asyncio.subprocess.Process,
    folder: Path,
    stdin: asyncio.StreamWriter,
    stdout: asyncio.StreamReader,
    stderr: asyncio.StreamReader,
) -> None:
    """End the runner and all it started: it clears up when its input ends, else it is killed."""
    stdin.close()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(_drop(stdout), _drop(stderr), process.wait())
    finally:
        if process.returncode != 0:
            _kill_groups(process, folder)
    if process.returncode is None:
        await process.wait()


def _kill_groups(process: asyncio.subprocess.Process, folder: Path) -> None:
    """Kill the runner and the process groups that it left."""
    groups = [process.pid] if process.returncode is None else []
    with suppress(OSError, ValueError):
        groups.append(int((folder / "group").read_text()))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


async def _drop(reader: asyncio.StreamReader) -> None:
    while await reader.read(65536):
        continue


def _read(file: Path) -> dict[str, Any]:
    try:
        found = wholly(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _ended(code: int | None) -> str:
    if code is None:
        return "its process was killed from outside"
    if code == 0:
        return "it ended its process before its last line (os._exit); use sys.exit()"
    if code > 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def _free_name(part: Part, taken: Any) -> str:
    """The attachment's own name, without folders; one that is taken gets a number."""
    name = part.name.replace("\\", "/").rpartition("/")[2].replace("\0", "").strip(". ")
    name = name[-100:] or part.attachment[:12]
    stem, dot, ending = name.rpartition(".")
    number = 1
    found = name
    while found in taken:
        number += 1
        found = f"{stem} {number}.{ending}" if dot else f"{name} {number}"
    return found


def _build(config: PythonConfig, registry: Registry) -> PythonProcessor:
    if os.name != "posix":
        raise CallError("the node type 'python' needs Linux or another POSIX system")
    return PythonProcessor(config, registry)


def register(registry: Registry) -> None:
    """Add `python`."""
    registry.node(PYTHON, PythonConfig, _build)
