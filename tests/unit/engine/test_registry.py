"""Names are known before the module is imported that adds them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rondel.engine.registry import Registry
from rondel.errors import CallError

TWINS = """
seen = []

def register(registry):
    seen.append(registry)
    registry.node("left", "left config", lambda config, registry: (config, registry))
    registry.node("right", "right config", lambda config, registry: (config, registry))
"""

Module = Callable[[str], str]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    """Writes a module and gives its name; nobody has imported it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written: list[str] = []

    def write(source: str) -> str:
        name = f"late_{tmp_path.name}_{len(written)}".replace("-", "_")
        (tmp_path / f"{name}.py").write_text(source)
        written.append(name)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


def registry_of(name: str) -> Registry:
    registry = Registry()
    registry.node("first", None, lambda _config, _registry: None)
    registry.later("node", name, "left", "right")
    registry.node("last", None, lambda _config, _registry: None)
    return registry


def test_a_name_is_known_without_its_module(module: Module) -> None:
    name = module(TWINS)
    registry = registry_of(name)
    assert list(registry.names("node")) == ["first", "left", "right", "last"]
    assert registry.config_model("node", "unheard of") is None
    assert name not in sys.modules


def test_the_first_look_imports_the_module_once_and_keeps_the_order(module: Module) -> None:
    name = module(TWINS)
    registry = registry_of(name)
    assert registry.config_model("node", "right") == "right config"
    assert registry.config_model("node", "left") == "left config"
    assert sys.modules[name].seen == [registry]
    assert list(registry.names("node")) == ["first", "left", "right", "last"]


def test_many_threads_may_look_first(module: Module) -> None:
    registry = registry_of(module(TWINS))
    with ThreadPoolExecutor(8) as pool:
        looked = pool.map(lambda _: registry.config_model("node", "left"), range(64))
    assert set(looked) == {"left config"}


def test_what_arrives_through_a_copy_knows_nothing_of_its_services(module: Module) -> None:
    name = module(TWINS)
    registry = registry_of(name)
    serving = registry.serving(clock="mine")
    config, given = serving.build("node", "left", "set")
    assert (config, given) == ("set", serving)
    assert sys.modules[name].seen == [registry]
    assert registry.config_model("node", "right") == "right config"


def test_a_replaced_kind_is_built_otherwise_also_where_it_arrives_later(module: Module) -> None:
    registry = registry_of(module(TWINS))
    replaced = registry.replacing("node", lambda config, _registry: ("other", config))
    assert replaced.build("node", "left", 1) == ("other", 1)
    assert replaced.config_model("node", "left") == "left config"
    assert registry.build("node", "left", 1) == (1, registry)


def test_a_name_is_taken_before_its_module_is_there(module: Module) -> None:
    registry = registry_of(module(TWINS))
    with pytest.raises(CallError, match="the node 'left' is registered already"):
        registry.node("left", None, lambda _config, _registry: None)
    with pytest.raises(CallError, match="the node 'first' is registered already"):
        registry.later("node", "somewhere", "first")


def test_a_module_that_does_not_keep_its_word_is_named(module: Module) -> None:
    name = module("def register(registry):\n    pass\n")
    with pytest.raises(CallError, match=f"{name} does not register the node 'left'"):
        registry_of(name).config_model("node", "left")


def test_a_name_that_nobody_registered_is_told_with_those_that_are_there(module: Module) -> None:
    with pytest.raises(CallError, match="no node named 'up'; registered: first, left, right, last"):
        registry_of(module(TWINS)).build("node", "up", None)
