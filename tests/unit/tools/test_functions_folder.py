"""A folder of functions: tools, conditions and processors by name, as ChatDev keeps them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from rondel import Engine, Graph, builtin_registry
from rondel.engine.registry import Registry
from rondel.errors import CallError, GraphError
from rondel.tools.function import FunctionTool
from rondel.tools.functions_folder import FolderFunction, FunctionGroup, register_folder

TOOLS = '''
from typing import Annotated, Any
from helpers_beside import shout

class Meta:
    def __init__(self, description): self.description = description

def add(first: int, second: Annotated[int, Meta("what is added")] = 1) -> int:
    """Add two numbers."""
    return first + second

async def greet(name, _context: dict[str, Any] | None = None) -> str:
    return shout(name) + " " + _context["python_workspace_root"].name

def odd(thing: "NoSuchType", *more, **rest): return repr(thing)
def _hidden(): ...
'''
CONDITIONS = (
    'def is_long(data: str) -> bool: return len(data) > 5\ndef add(data): return "+" in data\n'
)
PROCESSORS = """
def upper(data: str, _context: dict) -> str: return data.upper()
def second(data, context): return f"{data} {sorted(context)[0]}"
def drop(data, _context): return None
"""
GRAPH = """\
graph:
  id: functions
  start: [a]
  nodes:
    - {id: a, type: literal, config: {content: CONTENT}}
    - {id: b, type: passthrough, config: {}}
  edges:
    - {from: a, to: b, condition: CONDITION, process: {type: function, config: {name: PROCESS}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("functions/function_calling/sums.py", TOOLS),
        ("functions/edge/conditions.py", CONDITIONS),
        ("functions/edge_processor/changes.py", PROCESSORS),
        ("functions/edge_processor/_private.py", "raise SystemExit"),
        ("helpers_beside.py", "def shout(text): return text.upper()"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "functions"


@pytest.fixture
def registry(folder: Path) -> Registry:
    registry = builtin_registry()
    register_folder(registry, folder)
    return registry


def _graph(content: str, condition: str, process: str) -> str:
    text = GRAPH.replace("CONTENT", content).replace("CONDITION", condition)
    return text.replace("PROCESS", process)


def _output(registry: Registry, *given: str) -> str:
    graph = Graph.loads(_graph(*given), compat="chatdev", registry=registry)
    return asyncio.run(Engine(db=None, registry=registry).run(graph, "x")).output


@pytest.mark.parametrize(
    ("given", "output"),
    [
        (("a long text", "is_long", "upper"), "A LONG TEXT"),
        (("short", "is_long", "upper"), ""),
        (("one + one", "add", "upper"), "ONE + ONE"),
        (("a long text", "is_long", "second"), "a long text graph_directory"),
        (("a long text", "is_long", "drop"), ""),
    ],
)
def test_conditions_and_processors_are_given_the_text(
    registry: Registry, given: tuple[str, str, str], output: str
) -> None:
    assert _output(registry, *given) == output


def _tool(registry: Registry, name: str) -> FunctionTool:
    function = registry.function_named(name)
    assert isinstance(function, FolderFunction)
    return FunctionTool(name, function.described())


def test_a_tool_has_the_arguments_that_a_model_can_give(registry: Registry) -> None:
    spec = _tool(registry, "add").spec
    assert spec.description == "Add two numbers."
    properties = spec.parameters["properties"]
    assert properties["first"]["type"] == "integer"
    assert properties["second"]["description"] == "what is added"
    assert spec.parameters["required"] == ["first"]
    assert list(_tool(registry, "greet").spec.parameters["properties"]) == ["name"]
    assert _tool(registry, "odd").spec.parameters["properties"]["thing"]["type"] == "string"


def test_a_tool_is_called_with_its_context_and_what_is_beside_the_folder(
    registry: Registry,
) -> None:
    assert asyncio.run(_tool(registry, "add").call({"first": 2})).text == "3"
    assert asyncio.run(_tool(registry, "greet").call({"name": "ada"})).text == "ADA code_workspace"


FILES = """
from utils.attachments import AttachmentStore

def list_files(_context=None):
    store = _context["attachment_store"]
    assert isinstance(store, AttachmentStore)
    return {"files": [store.root.relative_to(_context["graph_directory"])]}
"""
STORE = "class AttachmentStore:\n    def __init__(self, root): self.root = root\n"


def test_functions_that_ask_for_the_store_of_files_beside_them_are_given_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("utils", "utils.attachments"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name, text in (
        ("functions/function_calling/file.py", FILES),
        ("utils/__init__.py", ""),
        ("utils/attachments.py", STORE),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    registry = builtin_registry()
    register_folder(registry, tmp_path / "functions")
    told = asyncio.run(_tool(registry, "list_files").call({})).text
    assert told == '{"files":["code_workspace/attachments"]}'
    for name in ("utils", "utils.attachments"):
        sys.modules.pop(name, None)


AGENT = """\
graph:
  id: tools
  start: [a]
  nodes:
    - id: a
      type: agent
      config:
        provider: openai
        name: gpt-4o
        api_key: none
        tooling:
          - {type: function, config: {tools: [{name: 'sums:All'}], timeout: 5}, prefix: my}
"""


def test_all_functions_of_a_file_are_tools_under_their_prefix(registry: Registry) -> None:
    group = registry.function_named("sums:All")
    assert isinstance(group, FunctionGroup)
    assert [each.name for each in group.members] == ["add", "greet", "odd"]
    document = Graph.loads(AGENT, compat="chatdev", registry=registry).document
    config = document["graph"]["nodes"][0]["config"]
    config.update(provider="scripted", name="")
    del config["api_key"]
    config["answers"] = [{"calls": [{"name": "my_add", "arguments": {"first": 40}}]}, "done"]
    graph = Graph.from_document(document, registry=registry)

    async def run() -> list[Any]:
        async with Engine(db=None, registry=registry) as engine:
            session = await engine.start(graph, "x")
            events = [event async for event in session.events()]
            return [event.data for event in events if event.event == "tool_execution"]

    [execution] = asyncio.run(run())
    assert (execution["tool"], execution["output"]) == ("my_add", "41")


def test_what_is_missing_is_one_error_each_with_where_it_was_looked_for(
    registry: Registry, folder: Path
) -> None:
    text = AGENT.replace("{name: 'sums:All'}", "{name: nothing}, {name: 'files:All'}")
    with pytest.raises(GraphError) as caught:
        Graph.loads(text, compat="chatdev", registry=registry)
    messages = [problem.message for problem in caught.value.problems]
    assert len(messages) == 2
    for message, name in zip(sorted(messages), ("files:All", "nothing"), strict=True):
        assert f"there is no function named {name!r} in {folder}" in message


def test_without_a_folder_the_error_names_the_option() -> None:
    with pytest.raises(GraphError, match="no --functions DIR was given"):
        Graph.loads(AGENT, compat="chatdev", registry=builtin_registry())


def test_a_file_that_cannot_be_imported_is_told_when_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "lonely.py").write_text("import no_such_library\ndef f(data): return True\n")
    registry = builtin_registry()
    register_folder(registry, tmp_path)
    with pytest.raises(CallError, match=r"lonely.py cannot be imported: ModuleNotFoundError"):
        registry.function_named("f")("text")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.py": "def f(): ...", "b.py": "def f(): ..."}, "both define 'f'"),
        ({"a.py": "def f(:"}, "cannot be read"),
        (None, "is no folder"),
    ],
)
def test_a_wrong_folder_is_refused(
    tmp_path: Path, files: dict[str, str] | None, message: str
) -> None:
    folder = tmp_path / "functions"
    for name, text in (files or {}).items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with pytest.raises(CallError, match=message):
        register_folder(builtin_registry(), folder)
