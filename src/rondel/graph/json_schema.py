"""The JSON Schema of graph files, so that editors complete and check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema

from rondel.graph.names import Vocabulary
from rondel.graph.schema import Document
from rondel.graph.variables import NAME_PATTERN

DIALECT = "https://json-schema.org/draft/2020-12/schema"
GRAPH_MARK = "x-rondel-graph"
"""A config field whose `json_schema_extra` has this key holds the body of a graph."""

TYPED = ("integer", "number", "boolean")
VARIABLE = {
    "type": "string",
    "pattern": rf"^\$\{{{NAME_PATTERN}\}}$",
    "description": "A value from vars, the environment or .env.",
}
KINDS = {
    "node": "Node",
    "condition": "ConditionCall",
    "process": "ProcessCall",
    "split": "SplitCall",
}

Json = dict[str, Any]


def json_schema(vocabulary: Vocabulary) -> Json:
    """The JSON Schema (2020-12) of a graph file that may use these names."""
    schema: Json = _with_variables(Document.model_json_schema(by_alias=True))
    definitions = schema["$defs"]
    _constants(definitions["Edge"]["properties"]["condition"])
    for kind, definition in KINDS.items():
        definitions |= _typed(vocabulary, kind, definitions[definition])
    definitions["Variable"] = VARIABLE
    return {"$schema": DIALECT, **schema, "title": "Rondel graph"}


def _constants(condition: Json) -> None:
    """A condition may also be true or false, and foreign files put that in quotes."""
    reference = {"$ref": condition.pop("$ref")}
    condition["default"] = True
    condition["anyOf"] = [{"type": "boolean"}, {"enum": ["true", "false"]}, reference]


def _typed(vocabulary: Vocabulary, kind: str, definition: Json) -> Json:
    """Tie a definition's `config` to its `type`, and return the definitions of the configs."""
    names = list(vocabulary.names(kind))
    definition["properties"]["type"]["enum"] = names
    models = {name: vocabulary.config_model(kind, name) for name in names}
    rules = [_rule(kind, name, model) for name, model in models.items() if model]
    if rules:
        definition["allOf"] = rules
    return {
        _config_name(kind, name): _config(kind, name, model)
        for name, model in models.items()
        if model
    }


def _rule(kind: str, name: str, model: type[BaseModel]) -> Json:
    config: Json = {"$ref": _pointer(kind, name)}
    then: Json = {"properties": {"config": config}}
    if any(field.is_required() for field in model.model_fields.values()):
        then["required"] = ["config"]
    else:
        then["properties"]["config"] = {"anyOf": [config, {"type": "null"}]}
    return {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": then}


def _config(kind: str, name: str, model: type[BaseModel]) -> Json:
    """The schema of one config, its own definitions inside it."""
    try:
        template = f"{_pointer(kind, name)}/$defs/{{model}}"
        schema = model.model_json_schema(by_alias=True, ref_template=template)
    except PydanticInvalidForJsonSchema:
        return {"type": "object"}
    return dict(_with_variables(schema))


def _config_name(kind: str, name: str) -> str:
    return f"{kind}.{name}"


def _pointer(kind: str, name: str) -> str:
    escaped = _config_name(kind, name).replace("~", "~0").replace("/", "~1")
    return f"#/$defs/{escaped}"


def _with_variables(schema: Any) -> Any:
    """Let `${NAME}` stand for every number, boolean and fixed word; mark where graphs are."""
    if isinstance(schema, list):
        return [_with_variables(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get(GRAPH_MARK):
        return _inner_graph(schema)
    if _is_typed(schema):
        about = {key: schema[key] for key in ("title", "description", "default") if key in schema}
        rest = {key: value for key, value in schema.items() if key not in about}
        return {**about, "anyOf": [rest, {"$ref": "#/$defs/Variable"}]}
    return dict(_entries(schema))


def _entries(schema: Json) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        yield key, value if key in ("if", "const", "enum", "default") else _with_variables(value)


def _is_typed(schema: Json) -> bool:
    words = "enum" in schema or "const" in schema
    return schema.get("type") in TYPED or (schema.get("type") == "string" and words)


def _inner_graph(schema: Json) -> Json:
    """The body of a graph where a node's config holds one."""
    about: Json = {key: schema[key] for key in ("title", "description") if key in schema}
    return {**about, "anyOf": [{"$ref": "#/$defs/GraphBody"}, {"type": "null"}]}
