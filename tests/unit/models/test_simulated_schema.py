"""A simulated model fills any schema it is given, and what it says agrees with itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rondel.nodes.fact_check import CLAIMS_SCHEMA
from rondel.nodes.vote import BALLOT_SCHEMA, ballot_in
from tests.unit.models.asking import ask, model

NAMES = st.sampled_from(["score", "verdict", "ok", "sources", "n", "text"])


def bounded(kind: str, low: int, size: int, exclusive: bool) -> dict[str, Any]:
    if exclusive:
        return {"type": kind, "exclusiveMinimum": low, "exclusiveMaximum": low + size + 2}
    return {"type": kind, "minimum": low, "maximum": low + size}


LEAVES = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({}),
    st.sampled_from([{"type": "number"}, {"type": "integer"}, {"type": ["null", "number"]}]),
    st.builds(
        bounded,
        st.sampled_from(["integer", "number"]),
        st.integers(-100, 100),
        st.integers(0, 100),
        st.booleans(),
    ),
    st.builds(
        lambda step: {"type": "integer", "minimum": 0, "multipleOf": step}, st.integers(1, 9)
    ),
    st.builds(
        lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
        st.integers(0, 200),
        st.integers(0, 50),
    ),
    st.sampled_from(["date", "date-time", "email", "uri", "uuid"]).map(
        lambda kind: {"type": "string", "format": kind}
    ),
    st.lists(st.sampled_from(["yes", "no", "abstain", 1, None]), min_size=1, unique=True).map(
        lambda options: {"enum": options}
    ),
    st.just({"const": "fixed"}),
)


def nested(inner: Any) -> Any:
    objects = st.dictionaries(NAMES, inner, max_size=3).map(
        lambda properties: {
            "type": "object",
            "properties": properties,
            "required": sorted(properties),
            "additionalProperties": False,
        }
    )
    arrays = st.builds(
        lambda items, least, more: {
            "type": "array",
            "items": items,
            "minItems": least,
            "maxItems": least + more,
        },
        inner,
        st.integers(0, 3),
        st.integers(0, 3),
    )
    either = st.lists(inner, min_size=1, max_size=2).map(lambda ways: {"anyOf": ways})
    return objects | arrays | either


SCHEMAS = st.recursive(LEAVES, nested, max_leaves=8)


def named(name: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: part}, "required": [name]}


@settings(deadline=None)
@example(named("sources", {"type": "string", "maxLength": 1}), 0, 0, False)
@example(named("text", {"type": "string", "maxLength": 0}), 0, 0, False)
@example({"type": "array", "minItems": 40, "items": {"minLength": 6, "maxLength": 6}}, 0, 0, False)
@given(part=SCHEMAS, seed=st.integers(), index=st.integers(0, 20), scored=st.booleans())
def test_what_it_says_fits_the_schema(
    part: dict[str, Any], seed: int, index: int, scored: bool
) -> None:
    schema = {"type": "object", "properties": {"part": part}, "required": ["part"]}
    simulated = model("simulated", seed=seed, **({"score": {"noise": 3}} if scored else {}))
    answer = ask(simulated, index=index, schema=schema)
    Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(
        answer.data
    )
    assert json.loads(answer.content) == answer.data
    assert ask(simulated, index=index, schema=schema) == answer


def test_references_and_parts_are_followed() -> None:
    schema = {
        "type": "object",
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "under": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                },
                "required": ["name", "under"],
            },
            "named": {"properties": {"name": {"const": "n"}}, "required": ["name"]},
        },
        "properties": {
            "tree": {"$ref": "#/$defs/tree"},
            "both": {
                "allOf": [{"$ref": "#/$defs/named"}, {"properties": {"ok": {"type": "boolean"}}}]
            },
        },
        "required": ["tree", "both"],
    }
    answer = ask(model("simulated"), schema=schema)
    Draft202012Validator(schema).validate(answer.data)
    assert answer.data["both"]["name"] == "n"
    assert isinstance(answer.data["both"]["ok"], bool)


@pytest.mark.parametrize("seed", range(20))
def test_a_ballot_is_readable_and_agrees_with_itself(seed: int) -> None:
    answer = ask(model("simulated", seed=seed), schema=BALLOT_SCHEMA)
    ballot = ballot_in(answer, "A", "score_1_10")
    assert ballot is not None
    assert ballot["decision"] == ("yes" if ballot["score"] >= 6 else "no")
    assert ballot["reasoning"]


def test_ballots_differ() -> None:
    said = {
        ask(model("simulated", seed=seed), schema=BALLOT_SCHEMA).data["decision"]
        for seed in range(20)
    }
    assert said == {"yes", "no"}


def test_a_property_called_score_follows_the_config() -> None:
    simulated = model("simulated", score={"start": 50, "step": 20})
    schema = {
        "type": "object",
        "properties": {"score": {"type": "number"}, "ok": {"type": "boolean"}},
    }
    said = [ask(simulated, index=index, schema=schema).data for index in range(3)]
    assert [each["score"] for each in said] == [50, 70, 90]
    assert [each["ok"] for each in said] == [False, True, True]


def test_a_score_on_another_scale_is_as_good_as_the_config_says() -> None:
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}},
    }
    simulated = model("simulated", score={"start": 25, "step": 25})
    assert [ask(simulated, index=at, schema=schema).data["score"] for at in range(4)] == [
        2,
        3,
        4,
        5,
    ]


def test_a_score_up_to_ten_is_good_from_six() -> None:
    simulated = model("simulated", score={"start": 5, "step": 1})
    said = [ask(simulated, index=at, schema=BALLOT_SCHEMA).data for at in range(3)]
    assert [(each["score"], each["decision"]) for each in said] == [
        (5, "no"),
        (6, "yes"),
        (7, "yes"),
    ]


def test_claims_have_sources_that_look_like_some() -> None:
    for each in ask(model("simulated"), schema=CLAIMS_SCHEMA).data["claims"]:
        assert all(source.startswith("https://example.org/") for source in each["sources"])
