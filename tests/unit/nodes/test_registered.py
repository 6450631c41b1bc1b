from __future__ import annotations

import pytest

from rondel import nodes
from rondel.engine.protocols import Processor, Router
from rondel.graph.guarantees import TellsGuarantee
from tests.unit.nodes.running import registry_with

TYPES = [name for name in nodes.TYPES if name != "subgraph"]
"""A subgraph has no processor of its own."""

CONFIGS = {
    "literal": {"content": "hello"},
    "function": {"name": "f"},
    "debate": {"agents": {"A": {}, "B": {}}, "agent_pairs": [["A", "B"]]},
    "fact_check": {"agent": {}},
    "vote": {"agents": {"A": {}}},
    "python": {"code": "print(1)"},
    "template": {"template": "{{ input }}"},
}


@pytest.mark.parametrize("type", TYPES)
def test_a_node_type_has_a_frozen_config_a_schema_and_a_processor(type: str) -> None:
    registry = registry_with(f=lambda inp: inp.text)
    model = registry.config_model("node", type)
    config = model.model_validate(CONFIGS.get(type, {}))
    processor = registry.build("node", type, config)
    assert model.model_config["frozen"]
    assert model.model_json_schema()["additionalProperties"] is False
    assert isinstance(processor, Processor)
    if isinstance(config, TellsGuarantee):
        assert isinstance(processor, Router) is config.guarantee().routes


@pytest.mark.parametrize("type", TYPES)
def test_an_unknown_key_is_refused(type: str) -> None:
    model = registry_with(f=lambda inp: inp.text).config_model("node", type)
    with pytest.raises(ValueError, match="no_such_key"):
        model.model_validate(CONFIGS.get(type, {}) | {"no_such_key": 1})
