"""The reference's own reading of `until` agrees with CEL on all that the generator writes."""

from __future__ import annotations

from itertools import product
from typing import Any

import cel
import pytest

from tests.reference.contract_generator import CONDITIONS
from tests.reference.until import until_holds

SITUATIONS: list[dict[str, Any]] = [
    {"data": {}, "text": "", "round": 1, "score": None},
    {"data": {"ok": True, "score": "90"}, "text": "blue again", "round": 2, "score": 90.0},
    {"data": {"ok": False, "score": 90}, "text": "done", "round": 4, "score": 84.5},
    {"data": {"review": {"quality": 85}}, "text": "Blue", "round": 3, "score": 85.0},
    {"data": {"review": {}}, "text": "again", "round": 3, "score": None},
]
FORMS = ["{0}", "!({0})", "({0}) && ({1})", "{0} || {1}", "!({0}) || {1} && round < 4"]


@pytest.mark.parametrize("form", FORMS)
def test_every_generated_form_means_what_it_means_in_cel(form: str) -> None:
    for first, second, situation in product(CONDITIONS, CONDITIONS, SITUATIONS):
        expression = form.format(first, second)
        expected = cel.evaluate(expression, situation)
        assert until_holds(expression, **situation) is expected, (expression, situation)


def test_what_a_guard_rules_out_is_not_compared() -> None:
    assert not until_holds("score != null && score >= 90", {}, "", 1, None)
    with pytest.raises(TypeError):
        until_holds("score >= 90", {}, "", 1, None)


def test_what_it_cannot_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="cannot read on"):
        until_holds("round > 1 round", {}, "", 1, None)
