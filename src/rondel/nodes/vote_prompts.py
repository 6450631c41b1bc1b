"""The prompts and summaries of a vote, in the language of its topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rondel.models.prose import CHINESE, language_of
from rondel.nodes.tally import Ballot, Tally

VoteType = Literal["yes_no", "score_1_10"]


@dataclass(frozen=True, slots=True)
class VoteWording:
    """The sentences of a vote."""

    ask: str
    yes_no: str
    score_1_10: str
    correction: str
    passed: str
    rejected: str
    nobody: str
    no_quorum: str
    left: str
    counts: str
    share: str
    line: str
    scored: str
    malformed: str


ENGLISH_WORDING = VoteWording(
    ask=(
        "You are {name}. Vote on the text above, by your own judgement. "
        "Answer with one JSON object:"
    ),
    yes_no=(
        '{"decision": "yes", "reasoning": "..."}\n\n'
        "`decision` is yes, no or abstain; `reasoning` is one or two sentences."
    ),
    score_1_10=(
        '{"score": 7, "decision": "yes", "reasoning": "..."}\n\n'
        "`score` is a number from 1 (worst) to 10 (best); `decision` is yes, no or abstain; "
        "`reasoning` is one or two sentences. Only an abstention needs no score."
    ),
    correction=(
        "This answer could not be read as a ballot. Answer with exactly that one JSON object and "
        "nothing else."
    ),
    passed="Passed",
    rejected="Not passed",
    nobody="Not passed: everybody abstained",
    no_quorum="Not passed: too many abstained, a quorum of {quorum:.0%} is needed",
    left=", {left} not asked",
    counts="{yes} yes, {no} no, {abstain} abstained",
    share="{ratio:.0%} of the votes cast, {threshold:g} needed",
    line="- {agent}: {decision}{scored}",
    scored=" ({score})",
    malformed=" (no readable ballot)",
)

CHINESE_WORDING = VoteWording(
    ask="你是{name}。请独立判断，对以上内容投票。只用一个 JSON 对象回答：",
    yes_no=(
        '{"decision": "yes", "reasoning": "..."}\n\n'
        "decision 为 yes（赞成）、no（反对）或 abstain（弃权）；reasoning 用一两句话说明理由。"
    ),
    score_1_10=(
        '{"score": 7, "decision": "yes", "reasoning": "..."}\n\n'
        "score 为 1（最差）到 10（最好）的数；"
        "decision 为 yes（赞成）、no（反对）或 abstain（弃权）；"
        "reasoning 用一两句话说明理由。只有弃权可以不给 score。"
    ),
    correction="无法读懂这张选票。请只用上面那样的一个 JSON 对象回答，不要写别的。",
    passed="通过",
    rejected="未通过",
    nobody="未通过：全部弃权",
    no_quorum="未通过：弃权过多，至少需 {quorum:.0%} 的成员投票",
    left="，{left} 名未被询问",
    counts="赞成 {yes}，反对 {no}，弃权 {abstain}",
    share="赞成占有效票的 {ratio:.0%}，需达到 {threshold:g}",
    line="- {agent}：{decision}{scored}",
    scored="（{score}）",
    malformed="（选票无法读懂）",
)


@dataclass(frozen=True, slots=True)
class VotePrompts:
    """The texts of one vote; the prompts begin with its topic."""

    topic: str
    vote_type: VoteType
    words: VoteWording

    @classmethod
    def on(cls, topic: str, vote_type: VoteType) -> VotePrompts:
        """Texts in Chinese if the topic mostly is, else in English."""
        chinese = language_of(topic) is CHINESE
        return cls(topic, vote_type, CHINESE_WORDING if chinese else ENGLISH_WORDING)

    def ballot(self, name: str) -> str:
        """The prompt of a voter."""
        words = self.words
        form = words.yes_no if self.vote_type == "yes_no" else words.score_1_10
        parts = (self.topic, words.ask.format(name=name), form)
        return "\n\n".join(part for part in parts if part)

    def summary(self, tally: Tally, *, passed: bool) -> str:
        """The outcome, the figures, and a line for each ballot."""
        words, ratio = self.words, tally.ratio
        counts = {decision: tally.count(decision) for decision in ("yes", "no", "abstain")}
        figures = words.counts.format(**counts)
        if tally.left:
            figures += words.left.format(left=tally.left)
        if ratio is None:
            head = f"{words.nobody}; {figures}"
        elif not tally.has_quorum:
            head = f"{words.no_quorum.format(quorum=tally.quorum)}; {figures}"
        else:
            share = words.share.format(ratio=ratio, threshold=tally.threshold)
            head = f"{words.passed if passed else words.rejected}: {figures}; {share}"
        return "\n".join([head, *map(self._line, tally.ballots)])

    def _line(self, ballot: Ballot) -> str:
        words = self.words
        scored = "" if ballot["score"] is None else words.scored.format(score=ballot["score"])
        if ballot.get("malformed"):
            scored = words.malformed
        line = words.line.format(agent=ballot["agent"], decision=ballot["decision"], scored=scored)
        reasoning = " ".join(ballot["reasoning"].split())
        return f"{line}: {reasoning}" if reasoning else line
