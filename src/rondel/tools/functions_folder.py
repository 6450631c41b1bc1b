"""A folder of Python files whose functions graphs may name, as ChatDev keeps them.

`function_calling/` holds what agents may call, `edge/` conditions, `edge_processor/` what changes
messages; without these folders every file serves for all three. Files are read for the names of
their functions, and imported when one of them is first needed.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import Field, PydanticUserError, TypeAdapter

from rondel.conditions.function import CONDITIONS, PROCESSORS
from rondel.engine.registry import Registry
from rondel.errors import CallError

TOOLS, ALL = "function_calling", ":All"
KINDS = {TOOLS: "", "edge": CONDITIONS, "edge_processor": PROCESSORS}
"""The folders, and the prefix of a name that an earlier folder has too."""

WORKSPACE = "code_workspace"
"""The folder for the functions' files, in the current directory."""

ATTACHMENTS = "attachments"
"""The folder in it that ChatDev's own store of files has."""

CONTEXT, STORE = "_context", "attachment_store"
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
NAMED = inspect.Parameter.KEYWORD_ONLY
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(eq=False)
class FunctionFile:
    """One file; it is imported once, with the folder's parent on the path."""

    path: Path
    root: Path
    """The folder that was named."""

    @cached_property
    def module(self) -> ModuleType:
        """The module; CallError if it cannot be imported."""
        name = (
            f"rondel_functions_{'_'.join(self.path.relative_to(self.root).with_suffix('').parts)}"
        )
        spec = spec_from_file_location(name, self.path)
        if spec is None or spec.loader is None:
            raise CallError(f"{self.path} is no Python file")
        module = module_from_spec(spec)
        beside = str(self.root.parent)
        if beside not in sys.path:  # for good: functions may import when they are called
            sys.path.append(beside)
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # whatever the author's code raises
            said = f"{type(error).__name__}: {error}"
            raise CallError(f"{self.path} cannot be imported: {said}") from error
        return module

    def names(self) -> list[str]:
        """The public functions that it defines, sorted."""
        try:
            tree = ast.parse(self.path.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            raise CallError(f"{self.path} cannot be read: {error}") from error
        return sorted({name for name in _defined(tree.body) if not name.startswith("_")})


@dataclass(eq=False)
class FolderFunction:
    """A function of such a file, imported when it is first called or described."""

    file: FunctionFile
    name: str
    context: dict[str, Any] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return self.name

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The function itself."""
        found: Callable[..., Any] | None = getattr(self.file.module, self.name, None)
        if not callable(found):
            raise CallError(f"{self.file.path} defines no function {self.name!r} when it runs")
        return found

    @cached_property
    def _takes_context(self) -> str:
        """How it takes the context: by name, in the second place, or not at all."""
        parameters = inspect.signature(self.function).parameters
        if CONTEXT in parameters:
            return "named"
        places = [each for each in parameters.values() if each.kind in POSITIONAL]
        return "second" if len(places) > 1 and places[1].default is places[1].empty else ""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._takes_context == "named":
            named = {CONTEXT: self._prepared(), **named}
        elif self._takes_context == "second" and len(arguments) == 1 and not named:
            arguments = (*arguments, self._prepared())
        return self.function(*arguments, **named)

    def described(self) -> Callable[..., Any]:
        """The function as a tool: its own arguments, without those that a model cannot give."""
        original = self.function

        async def wait(**named: Any) -> Any:
            return await self(**named)

        def run(**named: Any) -> Any:
            return self(**named)

        call: Any = wait if inspect.iscoroutinefunction(original) else run
        signature = inspect.signature(original)
        told = [each for each in signature.parameters.values() if _is_told(each)]
        hints = _hints_of(original)
        types = {each.name: _sayable(hints.get(each.name, str)) for each in told}
        shown = [each.replace(annotation=types[each.name], kind=NAMED) for each in told]
        call.__doc__ = inspect.getdoc(original)
        call.__signature__ = inspect.Signature(shown)
        call.__annotations__ = types
        described: Callable[..., Any] = call
        return described

    def _prepared(self) -> dict[str, Any]:
        folder = self.context["python_workspace_root"]
        folder.mkdir(parents=True, exist_ok=True)
        if STORE not in self.context and (store := _store_beside(self.file.root)) is not None:
            self.context[STORE] = store(folder / ATTACHMENTS)
        return self.context


@dataclass(frozen=True, slots=True)
class FunctionGroup:
    """All functions of one file, under the name `FILE:All`."""

    members: tuple[FolderFunction, ...]

    def __call__(self, *_arguments: Any, **_named: Any) -> Any:
        """Raises: a group is not one function."""
        raise CallError("all functions of a file are tools, and nothing else")


def register_folder(registry: Registry, folder: str | Path) -> None:
    """Add the functions of a folder; CallError if there is none, or two have one name."""
    root = Path(folder).resolve()
    if not root.is_dir():
        raise CallError(f"{folder} is no folder; --functions takes a folder of Python files")
    here = Path.cwd() / WORKSPACE
    context = {"python_workspace_root": here, "graph_directory": here.parent}
    kinds = {name: kind for name, kind in KINDS.items() if (root / name).is_dir()}
    for name, kind in kinds.items():
        _register_files(registry, root / name, root, kind, context)
    if not kinds:
        _register_files(registry, root, root, "", context)
    registry.note_source("function", str(folder))


def _register_files(
    registry: Registry, folder: Path, root: Path, kind: str, context: dict[str, Any]
) -> None:
    seen: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.py")):
        if path.name.startswith("_") or "__pycache__" in path.parts:
            continue
        file = FunctionFile(path, root)
        members = [FolderFunction(file, name, context) for name in file.names()]
        for each in members:
            if each.name in seen:
                raise CallError(f"{seen[each.name]} and {path} both define {each.name!r}")
            seen[each.name] = path
            taken = each.name in registry.names("function")
            registry.function(f"{kind}{each.name}" if kind and taken else each.name, each)
        if not kind and members:
            module = path.relative_to(folder).with_suffix("").as_posix()
            registry.function(f"{module}{ALL}", FunctionGroup(tuple(members)))


def _store_beside(root: Path) -> Callable[[Path], Any] | None:
    """The class that keeps files for functions of ChatDev, if it is beside their folder."""
    module = Path("utils", "attachments.py")
    if not (root.parent / module).is_file():
        return None
    try:
        found = import_module(".".join(module.with_suffix("").parts))
    except Exception:  # it is somebody else's, and what it lacks is told by who asks for it
        return None
    store: Callable[[Path], Any] | None = getattr(found, "AttachmentStore", None)
    return store


def _defined(statements: list[ast.stmt]) -> Iterator[str]:
    """The names of functions that statements of a module define."""
    for statement in statements:
        if isinstance(statement, DEFINITIONS):
            yield statement.name
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
            yield from (each.id for each in statement.targets if isinstance(each, ast.Name))
        elif isinstance(statement, ast.If | ast.Try):
            yield from _defined([*statement.body, *statement.orelse])


def _is_told(parameter: inspect.Parameter) -> bool:
    """Whether a model is told of the argument."""
    return not parameter.name.startswith("_") and parameter.kind in (*POSITIONAL, NAMED)


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:  # an annotation may say anything
        return {}


def _sayable(hint: Any) -> Any:
    """The type if JSON has it, with its description; otherwise text."""
    said = ""
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        said = next((text for note in notes if (text := getattr(note, "description", ""))), "")
    try:
        TypeAdapter(hint).json_schema()
    except (PydanticUserError, TypeError, ValueError, NameError):
        hint = str
    return Annotated[hint, Field(description=said)] if said else hint
