"""What the agents of a debate are told, in the language of its topic."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rondel.models.prose import CHINESE, language_of


@dataclass(frozen=True, slots=True)
class DebateWording:
    """The sentences of a debate's prompts."""

    speak: str
    opening: str
    so_far: str
    statement: str
    rejoinder: str
    phrases: str
    verdict: str
    judge: str
    correction: str
    alternative: str


_VERDICT = '{"verdict": "..."}'
_JUDGEMENT = '{"consensus": true, "reasoning": "..."}'

ENGLISH_WORDING = DebateWording(
    speak=(
        "You are {speaker} in a debate on the topic above. You speak against {opponent}. "
        "This is round {round} of {max_rounds}."
    ),
    opening="Nobody has spoken yet. Open the debate: state your position and your reasons.",
    so_far="What has been said so far:",
    statement="[round {round}] {agent}:\n{content}",
    rejoinder=(
        "It is your turn. Answer {opponent}'s strongest points, say what convinced you and what "
        "did not, and do not repeat yourself. Write only what you say."
    ),
    phrases=(
        "If you share the other side's position by now, say so in these words: {phrases}. "
        "Do not use them otherwise."
    ),
    verdict=f"End with your verdict as of now, in one JSON object: {_VERDICT}",
    judge=(
        "You judge the debate on the topic above, after round {round} of {max_rounds}. Have the "
        "speakers reached consensus? Partial or conditional agreement is none. "
        f"Answer with one JSON object, true or false: {_JUDGEMENT}"
    ),
    correction=(
        "This answer could not be read. Answer with exactly one JSON object and nothing else, "
        "`consensus` being true or false."
    ),
    alternative=" or ",
)

CHINESE_WORDING = DebateWording(
    speak=(
        "你是{speaker}，正在就以上议题进行辩论，你的对手是{opponent}。"
        "现在是第{round}轮，共{max_rounds}轮。"
    ),
    opening="还没有人发言。请你开场：说明你的立场和理由。",
    so_far="目前为止的发言：",
    statement="［第{round}轮］{agent}：\n{content}",
    rejoinder=(
        "轮到你发言。请回应{opponent}最有力的论点，说明哪些说服了你、哪些没有，"
        "不要重复自己说过的话。只写你的发言。"
    ),
    phrases="如果你现在认同对方的立场，请用这样的话说出来：{phrases}。否则不要使用这些话。",
    verdict=f"最后用一个 JSON 对象给出你此刻的结论：{_VERDICT}",
    judge=(
        "你是以上议题这场辩论的裁判，现在是第{round}轮之后，共{max_rounds}轮。"
        "双方是否已经取得一致？部分的或有条件的同意不算。"
        f"请只用一个 JSON 对象回答，true 或 false：{_JUDGEMENT}"
    ),
    correction="无法读懂这个回答。请只用一个 JSON 对象回答，consensus 为 true 或 false。",
    alternative="或",
)


@dataclass(frozen=True, slots=True)
class DebatePrompts:
    """The prompts of one debate; they begin with its topic."""

    topic: str
    max_rounds: int
    words: DebateWording

    @classmethod
    def on(cls, topic: str, max_rounds: int) -> DebatePrompts:
        """DebatePrompts in Chinese if the topic mostly is, else in English."""
        chinese = language_of(topic) is CHINESE
        return cls(topic, max_rounds, CHINESE_WORDING if chinese else ENGLISH_WORDING)

    def turn(
        self,
        speaker: str,
        opponent: str,
        round: int,
        said: Sequence[Mapping[str, Any]],
        *,
        phrases: Sequence[str] = (),
        with_verdict: bool = False,
    ) -> str:
        """The prompt of a speaker: the topic, the round, the whole history, the task."""
        words = self.words
        names = {"speaker": speaker, "opponent": opponent}
        parts = [
            self.topic,
            words.speak.format(**names, round=round, max_rounds=self.max_rounds),
            *self._history(said),
            words.rejoinder.format(**names) if said else words.opening,
        ]
        if phrases:
            quoted = words.alternative.join(json.dumps(p, ensure_ascii=False) for p in phrases)
            parts.append(words.phrases.format(phrases=quoted))
        if with_verdict:
            parts.append(words.verdict)
        return _joined(parts)

    def judge(self, round: int, said: Sequence[Mapping[str, Any]]) -> str:
        """The prompt of the judge after a round."""
        question = self.words.judge.replace("{round}", str(round))
        question = question.replace("{max_rounds}", str(self.max_rounds))
        return _joined([self.topic, *self._history(said), question])

    def _history(self, said: Sequence[Mapping[str, Any]]) -> list[str]:
        if not said:
            return []
        return [self.words.so_far, *(self.words.statement.format(**each) for each in said)]


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part)
