"""`${NAME}` comes from vars, then the environment, then .env."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rondel.graph import variables
from rondel.graph.variables import EnvironmentText, Filled, fill, read_dotenv

HERE = Path()


def filled(document: dict[str, Any], **environ: str) -> Filled:
    return fill(document, HERE, environ)


def test_vars_come_before_the_environment_and_that_before_dotenv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\nC=file\n")
    monkeypatch.setenv("A", "env")
    monkeypatch.setenv("B", "env")
    document = {"vars": {"A": "var"}, "x": ["${A}", "${B}", "${C}"]}
    result = fill(document, tmp_path)
    assert result.data["x"] == ["var", "env", "file"]
    assert result.environment == {"B": "env", "C": "file"}


def test_a_whole_value_takes_the_type_of_its_variable() -> None:
    document = {
        "vars": {"N": 5, "T": True, "Z": None},
        "x": ["${N}", "${T}", "${Z}", "n=${N} ${T}"],
    }
    assert filled(document).data["x"] == [5, True, None, "n=5 true"]


def test_vars_may_refer_to_vars_in_any_order() -> None:
    document = {"vars": {"A": "${B}/a", "B": "${C}", "C": 7}, "x": "${A}"}
    result = filled(document)
    assert result.data == {"vars": {"A": "7/a", "B": 7, "C": 7}, "x": "7/a"}


def test_text_from_the_environment_is_marked() -> None:
    data = filled({"vars": {"V": "Bearer ${KEY}"}, "x": ["${V}", "${KEY}", "plain"]}, KEY="s").data
    assert [isinstance(text, EnvironmentText) for text in data["x"]] == [True, True, False]


def test_two_dollars_are_one() -> None:
    assert filled({"x": "a $${NAME} $5 $$ {b}"}).data["x"] == "a ${NAME} $5 $$ {b}"


def test_the_document_itself_stays_as_it_was() -> None:
    document = {"vars": {"A": "1"}, "same": {"b": ["c"]}, "other": ["${A}"]}
    result = filled(document)
    assert document["other"] == ["${A}"]
    assert result.data["other"] == ["1"]
    assert result.data["same"] is document["same"]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("${NOPE}", "the variable 'NOPE' is not set", "set it under 'vars:'"),
        ("${MODLE}", "the variable 'MODLE' is not set", "did you mean 'MODEL'?"),
        ("${a-b}", "'a-b' is not a variable's name", "$${"),
        ("${}", "'' is not a variable's name", "$${"),
        ("${MODEL", "has no closing brace", "$${"),
    ],
)
def test_a_reference_without_a_value_is_a_problem(text: str, message: str, hint: str) -> None:
    (problem,) = filled({"vars": {"MODEL": "m"}, "x": [{"y": text}]}).problems
    assert problem.path == ("x", 0, "y")
    assert message in problem.message
    assert hint in problem.hint


def test_vars_that_refer_to_themselves_are_a_problem() -> None:
    document = {"vars": {"A": "${B}", "B": "x${A}"}, "x": "${A}"}
    (problem,) = filled(document).problems
    assert problem.path == ("vars", "A")
    assert "A -> B -> A" in problem.message


def test_a_very_long_chain_of_vars_is_a_problem_and_not_a_crash() -> None:
    chain = {f"V{n}": f"${{V{n + 1}}}" for n in range(5000)} | {"V5000": 1}
    problems = filled({"vars": chain}).problems
    assert "more than 100 others" in problems[0].message


def test_a_few_vars_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "MAX_BYTES", 10_000)
    chain = {"V0": "x" * 100} | {f"V{n}": f"${{V{n - 1}}}" * 100 for n in range(1, 9)}
    (problem,) = filled({"vars": chain, "x": "${V8}"}).problems
    assert "characters of text" in problem.message


def test_a_document_that_contains_itself_is_a_problem() -> None:
    document: dict[str, Any] = {}
    document["a"] = document["b"] = document
    (problem,) = filled(document).problems
    assert "nests deeper" in problem.message


def test_dotenv_lines_are_read_as_python_dotenv_does() -> None:
    text = (
        "# comment\nA=1\nexport B = two words # note\nC='a # b'\n"
        'D="x\\ny" # note\nnot a line\nE=\nF=#x\nG=a#b\n'
    )
    assert read_dotenv(text) == {
        "A": "1",
        "B": "two words",
        "C": "a # b",
        "D": "x\ny",
        "E": "",
        "F": "#x",
        "G": "a#b",
    }
