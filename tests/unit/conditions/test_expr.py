from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondel.conditions.expression import FUNCTIONS, MACROS, Expression
from rondel.engine.message import Message
from rondel.errors import StepFailed
from tests.unit.conditions.registries import built, problems

DRAFT = Message("a fine draft", {"score": 90.5, "tags": ["x", "y"], "deep": {}}, "user", "Writer")


def holds(expr: str, message: Message = DRAFT, round: int = 2) -> bool:
    result = built("condition", "expr", {"expr": expr})(message, round)
    assert isinstance(result, bool)
    return result


def problem(expr: str) -> str:
    (found,) = problems("condition", "expr", {"expr": expr})
    return found


@pytest.mark.parametrize(
    "expr",
    [
        "data.score >= 90 && round < 3",
        "text.contains('fine') && content == text && input == text",
        "role == 'user' && source == 'Writer' && node == source",
        "has(data.score) && !has(data.verdict)",
        "data.tags.exists(tag, tag == 'y')",
        "'x' in data.tags && size(data.tags) == 2",
        "data.tags.map(text, text + '!')[0] == 'x!' && text.startsWith('a')",
        "type(data.score) == double",
    ],
)
def test_expressions_see_the_message_and_the_round(expr: str) -> None:
    assert holds(expr)


@given(score=st.floats(0, 100) | st.integers(0, 100), round=st.integers(1, 9))
def test_an_expression_decides_as_python_would(score: float, round: int) -> None:
    message = Message(data={"score": score})
    assert holds("data.score >= 50 || round > 5", message, round) is (score >= 50 or round > 5)


@pytest.mark.parametrize(
    ("expr", "why"),
    [
        ("data.verdict == 'ok'", "data has no 'verdict'; guard it with has(data.verdict)"),
        ("data.deep.level > 1", "data.deep has no 'level'; guard it with has(data.deep.level)"),
        ("data['verdict'] == 'ok'", "data has no 'verdict'; guard it with 'verdict' in data"),
        ("text > 1", 'its operands do not fit together: text is a string ("a fine draft")'),
        ("size(round) > 1", "round is an int (2)"),
        ("text.contains(round)", "round is an int (2)"),
        ("data.deep.level.further == 1", "data.deep has no 'level'"),
        ("data.deep && true", "data.deep is a map ({})"),
        ("1 / (round - 2) == 1", "division by zero"),
        ("data.tags[7] == 'x'", "index out of bounds"),
    ],
)
def test_what_cannot_be_computed_raises_and_says_why(expr: str, why: str) -> None:
    with pytest.raises(StepFailed, match="failed") as caught:
        holds(expr)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("expr", ["data.score", "text", "1", "data"])
def test_what_is_no_bool_raises_and_never_counts_as_true(expr: str) -> None:
    with pytest.raises(StepFailed, match="neither true nor false"):
        holds(expr)


@pytest.mark.parametrize(
    ("expr", "says"),
    [
        ("", "expr: the expression is empty"),
        ("data.score >=", "cannot be read at character 14: it ends too early"),
        ("data.score >= 90 and round < 3", "write && for 'and'"),
        ("data.a OR not data.b", "write || for 'OR', ! for 'not'"),
        ("not(data.done)", "write ! for 'not'"),
        ("data.score >= 90 and round", "at character 18: mismatched input 'and'"),
        ("roud < 3", "unknown name 'roud' in 'roud < 3'; did you mean 'round'?"),
        ("score > 3", "unknown name 'score' in 'score > 3'; did you mean 'data.score'?"),
        ("text.contain('x')", "unknown function 'contain' in"),
        ("text.contain('x')", "did you mean 'contains'?"),
    ],
)
def test_a_wrong_expression_is_a_config_error_of_one_line(expr: str, says: str) -> None:
    assert says in problem(expr)
    assert "\n" not in problem(expr)


def test_every_function_and_macro_it_allows_exists() -> None:
    day = "timestamp('2024-01-01T00:00:00Z')"
    calls = {
        "contains": "'a'.contains('a')",
        "endsWith": "'a'.endsWith('a')",
        "matches": "'a'.matches('a')",
        "size": "size('a') == 1",
        "startsWith": "'a'.startsWith('a')",
        "bytes": "bytes('a') == b'a'",
        "double": "double(1) == 1.0",
        "dyn": "dyn(1) == 1",
        "int": "int('1') == 1",
        "string": "string(1) == '1'",
        "type": "type(1) == int",
        "uint": "uint(1) == 1u",
        "duration": "duration('1s') < duration('2s')",
        "timestamp": f"{day} == {day}",
        "hasValue": "optional.of(1).hasValue()",
        "none": "!optional.none().hasValue()",
        "of": "optional.of(1).hasValue()",
        "ofNonZeroValue": "optional.ofNonZeroValue(1).hasValue()",
        "orValue": "optional.of(1).orValue(2) == 1",
        "value": "optional.of(1).value() == 1",
        **{name: f"{day}.{name}() >= 0" for name in FUNCTIONS if name.startswith("get")},
        **{name: f"[1].{name}(x, x == 1) != [2]" for name in MACROS if name != "has"},
        "has": "has({'a': 1}.a)",
    }
    assert {*calls} == {*FUNCTIONS, *MACROS}
    assert all(Expression(call, ())({}) for call in calls.values())


def test_the_expression_library_is_imported_on_first_use_only() -> None:
    code = (
        "import sys, rondel.nodes; "
        "print([name for name in ('cel', 'genai_prices', 'pydantic_ai') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(("name", "expected"), [("true", True), ("false", False)])
def test_a_constant_says_the_same_of_every_message(name: str, expected: bool) -> None:
    condition = built("condition", name, {})
    assert condition(Message("yes"), 1) is expected
    assert condition(Message(), 7) is expected


def test_a_constant_has_no_options() -> None:
    assert problems("condition", "true", {"always": 1})
