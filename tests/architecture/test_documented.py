"""Nothing enters the registry without its page and its place in the schema."""

from __future__ import annotations

from pathlib import Path

from rondel.sessions.registry import builtin_registry

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference" / "nodes"


def test_every_node_type_has_a_page() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")}
    missing = [f"docs/reference/nodes/{name}.md" for name in builtin_registry().names("node")]
    missing = [page for page in missing if Path(page).stem not in pages]
    assert not missing


def test_every_page_is_of_a_node_type() -> None:
    types = set(builtin_registry().names("node"))
    stray = {path.stem for path in PAGES.glob("*.md")} - types - {"index", "README"}
    assert not stray


def test_every_page_names_its_type_and_every_field_of_its_config() -> None:
    registry = builtin_registry()
    silent = []
    for name in registry.names("node"):
        page = PAGES / f"{name}.md"
        if not page.exists():
            continue
        text = page.read_text("utf-8")
        fields = registry.config_model("node", name).model_fields
        silent += [f"{page.name}: {word}" for word in (name, *fields) if word not in text]
    assert not silent


def test_every_node_type_is_a_file_of_its_own() -> None:
    nodes = ROOT / "src" / "rondel" / "nodes"
    files = {path.stem for path in nodes.glob("*.py")}
    assert not set(builtin_registry().names("node")) - files
