"""Agreement is told from its negation, in English and Chinese."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel.nodes.consensus import agrees
from tests.counting import calls_of

PHRASES = ("i agree", "达成共识")

CORPUS: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("consensus.jsonl").read_text().splitlines()
]
"""What debaters say and what it is: a wish, a need, a condition, a question, a quotation, ..."""

AGREEING = (
    "I agree",
    "i AGREE.",
    "Yes, I agree with that.",
    "Yes. I agree!",
    "**I agree**",
    "“I agree.”",
    "I  agree",
    "I\nagree",
    "No, I agree.",
    "I don't see any problem left, I agree.",
    "I do not object; I agree",
    "I do not object and I agree.",
    "I have no objections, so I agree.",
    "It is not perfect, but I agree.",
    "It is not perfect but I agree",
    "No doubt I agree.",
    "I can't deny that I agree.",
    "I don't doubt that I agree.",
    "Not only do I agree: I insist.",
    "Without reservation I agree.",
    "I never liked it. I agree.",
    "I agree with everything you said, not just the first point.",
    "I agree. No further comments.",
    "I agree, and there is nothing to add.",
    "Do I agree? I agree.",
    "I never said I agree. Now I agree.",
    "I agree not to raise it again.",
    "I agree that we can't wait.",
    "Verdict: I agree",
    "I agree, right?",
    "我们已达成共识",
    "我们已经达成共识。",
    "虽然不完美，但我们达成共识",
    "虽不完美但我们达成共识。",
    "我没有异议，我们达成共识。",
    "我不反对，达成共识。",
    "毫无疑问，我们达成共识",
    "毫无疑问我们达成共识",
    "我们不仅达成共识，还有了方案。",
    "我们不得不承认已达成共识",
    "我们从不同角度达成共识。",
    "我们非常高兴达成共识",
    "关于未来我们达成共识",
    "分歧不再存在，于是双方达成共识！",
    "我们达成共识，没有异议。",
    "没有分歧、达成共识",
    "OK, 达成共识.",
)

NOT_AGREEING = (
    "",
    "agree",
    "I don't agree",
    "I do not agree",
    "I don’t agree",
    "I can't say I agree",
    "I can’t say I agree",
    "I cannot say that I agree.",
    "I cant say I agree",
    "I never said I agree",
    "I never said “I agree”.",
    "I never said 'I agree'",
    "I agree? No.",
    "I agree?",
    "I agree?!",
    "Why should I agree?",
    "not that I agree",
    "It is not the case that I agree.",
    "There is no way I agree.",
    "Nobody can claim I agree",
    "I don't think, honestly, that I agree.",
    "I do not, at this point, say I agree.",
    "I can't yet say I agree",
    "I am not so sure I agree",
    "I doubt I agree",
    "I refuse to say I agree",
    "I deny that I agree",
    "Hardly can it be said that I agree",
    "I did it, but not because I agree",
    "I agree to disagree.",
    "I agree with nothing you said.",
    "I agree... not.",
    "I agree, no.",
    "I agree, not really.",
    "I agreed",
    "I agreed to listen.",
    "Mimi agree",
    "hi agree",
    "未达成共识",
    "没有达成共识",
    "没达成共识",
    "尚未达成共识",
    "我们尚未就此达成共识。",
    "无法达成共识",
    "我不认为我们达成共识",
    "我不认为我们已经达成共识。",
    "还没能达成共识",
    "双方并未达成共识",
    "我们从未达成共识",
    "难以达成共识",
    "很难达成共识",
    "谈不上达成共识",
    "并非达成共识",
    "我们不但没有达成共识，反而更远了",
    "是否达成共识",
    "能否达成共识还不好说",
    "达成共识了吗？",
    "达成共识？",
    "达成共识？没有。",
    "达成共识是不可能的",
    "达成共识还为时尚早",
    "达成共识的可能性不大",
    "我不能，坦白讲，说我们达成共识",
    "我很满意，但我们没有达成共识",
)


@pytest.mark.parametrize("text", AGREEING)
def test_this_agrees(text: str) -> None:
    assert agrees(text, PHRASES)


@pytest.mark.parametrize("text", NOT_AGREEING)
def test_this_does_not_agree(text: str) -> None:
    assert not agrees(text, PHRASES)


@pytest.mark.parametrize("said", CORPUS, ids=lambda said: said["text"])
def test_in_doubt_a_debate_goes_on(said: dict[str, Any]) -> None:
    assert agrees(said["text"], PHRASES) is said["agrees"], said["kind"]


def test_a_phrase_may_be_negative_itself() -> None:
    assert agrees("I have no objections.", ["no objections"])
    assert agrees("对此我没有异议。", ["没有异议"])
    assert not agrees("I do not say no objections", ["no objections"])


def test_a_phrase_may_hold_punctuation_and_marks_that_patterns_use() -> None:
    assert agrees("Well: yes, I agree (really).", ["Yes, I agree (really)"])
    assert not agrees("Never yes, I agree (really).", ["Yes, I agree (really)"])
    assert not agrees("anything at all", [".", "**", " "])


def test_only_the_given_phrases_count() -> None:
    assert not agrees("I agree", ["approved"])
    assert agrees("APPROVED", ["approved"])
    assert not agrees("disapproved", ["approved"])


CALM = st.lists(st.sampled_from(["the plan", "seems", "fine", "to me", "now"]), max_size=6)
HARSH = st.sampled_from(["I never said", "I can't say", "I do not think", "nobody says"])
ENDS = st.sampled_from([". ", "! ", "; ", ", ", "\n"])
NOISE = st.text(max_size=30)


@settings(deadline=None, max_examples=100)
@given(words=CALM, harsh=HARSH, end=ENDS)
def test_a_negation_in_the_clause_before_does_not_reach_over(
    words: list[str], harsh: str, end: str
) -> None:
    assert agrees(f"{harsh} it{end}{' '.join(words)} I agree", PHRASES)


@settings(deadline=None, max_examples=100)
@given(words=CALM, harsh=HARSH, noise=NOISE)
def test_a_negation_in_the_clause_reaches_its_end(words: list[str], harsh: str, noise: str) -> None:
    assert not agrees(f"{harsh} {' '.join(words)} I agree", PHRASES)
    affirmed = agrees(noise, PHRASES)
    assert agrees(f"{noise}. {harsh} {' '.join(words)} I agree", PHRASES) == affirmed


@settings(deadline=None, max_examples=100)
@given(
    text=st.sampled_from([*AGREEING, *NOT_AGREEING]),
    change=st.sampled_from([str.upper, str.title, str.lower, lambda text: text.replace("'", "’")]),
)
def test_case_and_the_form_of_apostrophes_do_not_matter(text: str, change: object) -> None:
    assert agrees(change(text), PHRASES) == agrees(text, PHRASES)  # type: ignore[operator]


@settings(deadline=None, max_examples=100)
@given(text=st.text(max_size=80), phrase=st.text(min_size=1, max_size=5))
def test_any_text_and_phrase_get_an_answer(text: str, phrase: str) -> None:
    assert agrees(text, [phrase]) in (True, False)


def test_ten_times_the_text_is_ten_times_the_work() -> None:
    few, many = (calls_of(lambda n=n: agrees("not I agree, " * n, PHRASES)) for n in (200, 2000))
    assert many <= 11 * few
