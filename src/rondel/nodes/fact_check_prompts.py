"""The prompts and summaries of a fact check, in the language of its topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rondel.models.prose import CHINESE, language_of

Claim = dict[str, Any]
"""One claim as it is told: claim, verified, confidence, sources."""

FORM = '{"claims": [{"claim": "...", "verified": true, "confidence": 0.9, "sources": ["..."]}]}'


@dataclass(frozen=True, slots=True)
class FactCheckWording:
    """The sentences of a fact check."""

    ask: str
    form: str
    verified: str
    refuted: str
    none: str
    failed: str
    counts: str
    line: str
    holds: str
    fails: str
    sources: str


ENGLISH_WORDING = FactCheckWording(
    ask=(
        "Check the facts in the text above. Split it into its factual claims and judge each one "
        "on its own, with the tools you have. Answer with one JSON object:"
    ),
    form=(
        "`verified` is true only if you found that the claim holds; `confidence` is a number from "
        "0 to 1: how sure you are of that; `sources` says where you found it. What you cannot "
        "check is not verified. A text without claims has an empty list."
    ),
    verified="Verified",
    refuted="Not verified",
    none="Not verified: no claim was found",
    failed="Not verified: the check failed ({error})",
    counts="{held} of {all} claims hold, {threshold:g} confidence needed",
    line="- {mark} ({confidence:.2f}): {claim}",
    holds="holds",
    fails="not verified",
    sources=" [{sources}]",
)

CHINESE_WORDING = FactCheckWording(
    ask=(
        "请核查以上内容中的事实。把它拆成各条事实性陈述，用你的工具逐条判断。"
        "只用一个 JSON 对象回答："
    ),
    form=(
        "只有确认属实时 verified 才为 true；confidence 是 0 到 1 的数，表示你的把握；"
        "sources 写明依据。无法核查的不算 verified。没有事实性陈述时，列表为空。"
    ),
    verified="已核实",
    refuted="未核实",
    none="未核实：没有找到事实性陈述",
    failed="未核实：核查失败（{error}）",
    counts="{all} 条陈述中 {held} 条属实，把握须达到 {threshold:g}",
    line="- {mark}（{confidence:.2f}）：{claim}",
    holds="属实",
    fails="未核实",
    sources="〔{sources}〕",
)


@dataclass(frozen=True, slots=True)
class FactCheckPrompts:
    """The texts of one check."""

    topic: str
    words: FactCheckWording

    @classmethod
    def on(cls, topic: str) -> FactCheckPrompts:
        """Texts in Chinese if the topic mostly is, else in English."""
        return cls(topic, CHINESE_WORDING if language_of(topic) is CHINESE else ENGLISH_WORDING)

    def check(self) -> str:
        """The prompt of the checker."""
        parts = (self.topic, self.words.ask, FORM, self.words.form)
        return "\n\n".join(part for part in parts if part)

    def summary(self, claims: Sequence[Claim], threshold: float, *, verified: bool) -> str:
        """The outcome, the figures, and a line for each claim."""
        words = self.words
        if not claims:
            return words.none
        held = sum(bool(each["verified"]) for each in claims)
        counts = words.counts.format(held=held, all=len(claims), threshold=threshold)
        head = f"{words.verified if verified else words.refuted}: {counts}"
        return "\n".join([head, *map(self._line, claims)])

    def failure(self, error: str) -> str:
        """The summary of a check that failed."""
        return self.words.failed.format(error=error)

    def _line(self, claim: Claim) -> str:
        words = self.words
        line = words.line.format(
            mark=words.holds if claim["verified"] else words.fails,
            confidence=claim["confidence"],
            claim=" ".join(claim["claim"].split()),
        )
        sources = ", ".join(claim["sources"])
        return line + words.sources.format(sources=sources) if sources else line
