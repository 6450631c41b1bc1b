"""The reference of the graph file, made from the models that check it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from rondel.graph import schema
from rondel.sessions.registry import builtin_registry

EXAMPLES = Path(__file__).with_name("field_examples.yaml")
KINDS = ("condition", "process", "split")


@dataclass(frozen=True, slots=True)
class Section:
    """One model of the document: where it stands, and what is said about it."""

    title: str
    model: type[BaseModel]
    place: tuple[str | int, ...]
    """Where it stands in a graph file; numbers are places in lists."""
    said: str = ""

    @property
    def key(self) -> str:
        """Its name among the examples."""
        return self.model.__name__


LOOP = ("graph", "loops", "Writer")
EDGE = ("graph", "edges", 0)

FILE = (
    Section(
        "The file",
        schema.Document,
        (),
        "YAML or JSON. An unknown key is an error, with its line and the nearest valid name.",
    ),
    Section(
        "`prices.MODEL`",
        schema.Price,
        ("prices", "house-model"),
        "USD for a million tokens of a model that nobody lists. `prices` may also be the name of a file beside the graph that holds the same mapping.",
    ),
    Section("`graph`", schema.GraphBody, ("graph",)),
    Section("`graph.limits`", schema.Limits, ("graph", "limits"), "Bounds on the whole run."),
    Section(
        "`graph.loops.HEAD`",
        schema.Loop,
        LOOP,
        "The contract of the loop that is entered at the node HEAD. [How a loop ends](../concepts/exits.md), [loops](../guide/loops.md).",
    ),
    Section(
        "`score`, as a mapping",
        schema.ScorePlace,
        (*LOOP, "score"),
        "Where a loop's score is, and whose.",
    ),
    Section("`patience`", schema.Patience, (*LOOP, "patience")),
    Section("`regression`", schema.Regression, (*LOOP, "regression")),
    Section(
        "`budget`",
        schema.Budget,
        (*LOOP, "budget"),
        "What one entry of the loop may spend: [budgets](../howto/budgets.md).",
    ),
    Section(
        "`carry`, as a mapping",
        schema.Window,
        (*LOOP, "carry"),
        "How many rounds' retained messages go into the next one.",
    ),
    Section(
        "`graph.breaker`",
        schema.Breaker,
        ("graph", "breaker"),
        "`off` turns it off; `rondel check` then says so. [What is the same, and what is new](novelty.md).",
    ),
    Section(
        "`graph.memory`", schema.MemoryRules, ("graph", "memory"), "[Memory](../guide/memory.md)."
    ),
    Section(
        "`graph.nodes[]`",
        schema.Node,
        ("graph", "nodes", 0),
        "What each type does and which `config` it takes is on a page of its own: see *Node types*.",
    ),
    Section(
        "`retry`",
        schema.Retry,
        ("graph", "nodes", 0, "retry"),
        "Attempts are journalled as they fail: after a crash they count on.",
    ),
)

EDGES = (
    Section(
        "`graph.edges[]`",
        schema.Edge,
        EDGE,
        "An edge fires for each message of its source's output for which its condition holds.",
    ),
    Section(
        "`condition`",
        schema.ConditionCall,
        (*EDGE, "condition"),
        "`true` (the default), `false`, or a mapping. A condition that raises fails the step, and the error names the edge, the expression and the value it met; it never counts as true.",
    ),
    Section(
        "`process`",
        schema.ProcessCall,
        (*EDGE, "process"),
        "Changes a message on its way. One that drops the message sets no trigger.",
    ),
    Section(
        "`dynamic`",
        schema.Dynamic,
        (*EDGE, "dynamic"),
        "Fans the target out. `map`: the target runs once for each part, and the results come in the order of the parts. `tree`: parts are reduced in groups, round by round, down to one.",
    ),
    Section(
        "`split`",
        schema.SplitCall,
        (*EDGE, "dynamic", "split"),
        "How a dynamic edge splits its message into parts.",
    ),
    Section("`dynamic.config`", schema.DynamicConfig, (*EDGE, "dynamic", "config")),
)


@cache
def examples() -> dict[str, dict[str, Any]]:
    """The examples, by model and field."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(EXAMPLES.read_text("utf-8"))
    return found


def graph_page() -> str:
    """docs/reference/graph.md."""
    intro = (
        "# The graph file\n\nEvery key of a graph file, its default, and an example that a test runs. "
        "Made from the models that check the file (`python -m build_docs`); `rondel schema` prints "
        "the same as JSON Schema for editors. Edges have [a page of their own](edges.md).\n\n"
        "Durations are seconds, or a text such as `500ms`, `90s`, `10m`, `2h`. `${NAME}` in any text "
        "is replaced: by `vars`, then the environment, then `.env` beside the file; `$${` stands for "
        "`${` itself.\n"
    )
    return intro + "".join(_section(section) for section in FILE)


def edges_page() -> str:
    """docs/reference/edges.md."""
    intro = (
        "# Edges, conditions, processes, fan-out\n\nEvery key of an edge and of what may stand in it, "
        "with an example that a test runs. Made from the models that check the file "
        "(`python -m build_docs`).\n"
    )
    return intro + "".join(_section(section) for section in EDGES) + _types()


def _section(section: Section) -> str:
    return (
        f"\n## {section.title}\n\n"
        + (f"{section.said}\n\n" if section.said else "")
        + table(section.model, section.key)
    )


def _types() -> str:
    registry = builtin_registry()
    text = ""
    for kind in KINDS:
        for name in registry.names(kind):
            model = registry.config_model(kind, name)
            title = {"condition": "Condition", "process": "Process", "split": "Split"}[kind]
            said = " ".join((model.__doc__ or "").split())
            text += f"\n## {title} `{name}`\n\n{said}\n"
            if model.model_fields:
                text += "\n" + table(model, f"{kind} {name}")
    return text


def table(model: type[BaseModel], key: str) -> str:
    """A row for each field."""
    document = model.model_json_schema(by_alias=True)
    rows = ["| key | value | default | meaning | example |", "|---|---|---|---|---|"]
    for name, field in model.model_fields.items():
        shown = field.alias or name
        spec = document["properties"][shown]
        default = "required" if field.is_required() else _default(spec.get("default"))
        if shown not in examples().get(key, {}):
            raise SystemExit(f"give an example of {key}: {shown}, in {EXAMPLES.name}")
        example = _flow({shown: examples()[key][shown]})
        meaning = (field.description or spec.get("description", "")).replace("|", "\\|")
        cells = (f"`{shown}`", _kind(spec), default, meaning, f"`{example}`".replace("|", "\\|"))
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _flow(value: Any) -> str:
    text = yaml.safe_dump(
        value, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False
    )
    return text.strip()[1:-1]


def _default(value: Any) -> str:
    if value is None or value == [] or isinstance(value, dict):
        return "–"
    return f"`{json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value}`"


def _kind(spec: dict[str, Any]) -> str:
    """What may stand there, in words."""
    if "enum" in spec:
        return ", ".join(f"`{value}`" for value in spec["enum"])
    if "const" in spec:
        return f"`{spec['const']}`"
    options = spec.get("anyOf") or spec.get("oneOf")
    if options:
        kinds = dict.fromkeys(_kind(option) for option in options if option.get("type") != "null")
        return " or ".join(kinds)
    if "$ref" in spec or "allOf" in spec:
        return "a mapping, see below"
    words = {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "`true`, `false`",
        "object": "a mapping",
        "array": "a list",
    }
    text = words.get(str(spec.get("type")), "any value")
    return text + _range(spec)


def _range(spec: dict[str, Any]) -> str:
    low, above, high = (spec.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f" ≥ {low:g}"
    return f" > {above:g}" if above is not None else ""
