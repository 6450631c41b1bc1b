"""Plausible text without a model: English or Chinese, drafts or reviews, no text twice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from rondel.models.tokens import CJK

TOPIC_CHARACTERS = 60

_REVIEWER = re.compile(
    r"review|critic|critique|judge|score|rate\b|rating|grade|evaluat|assess|check|verif|feedback on"
    r"|评审|评分|评价|评估|审阅|审稿|审核|点评|打分|批评|检查|校对",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[“「]([^“”「」]+)[”」]")
_SENTENCE_END = re.compile(r"[.!?。！？\n]")


@dataclass(frozen=True, slots=True)
class Language:
    """Openings, sentence patterns, the words that fill them, and the parts of made-up names.

    The names keep the text new after many rounds, when every pair of words has been used.
    """

    draft: str
    review: str
    score: str
    drafting: tuple[str, ...]
    reviewing: tuple[str, ...]
    words: dict[str, tuple[str, ...]]
    name: tuple[tuple[str, ...], ...]
    join: str


def _words(text: str, between: str = " ") -> tuple[str, ...]:
    return tuple(text.split(between))


ENGLISH = Language(
    draft="Draft {number} on “{topic}”.",
    review="Review {number} of “{topic}”.",
    score="Score: {score}.",
    drafting=(
        "The {quality} {thing} {does} every {quality} {thing} {manner}, as {name} found.",
        "Where {name} once saw a {thing}, {person} now {does} a {quality} {thing}.",
        "Each {thing} that {person} {does} leaves {name} a {quality} {thing}.",
        "Without its {quality} {thing}, the {thing} {does} nothing {manner}: ask {name}.",
        "What {name} needs is a {thing} that {does} the {quality} {thing} {manner}.",
        "So a {quality} {thing} {does} the {thing}, and {name} notices it {manner}.",
    ),
    reviewing=(
        "The passage on {name} should say {manner} how a {thing} {does} the {thing}.",
        "Replace the {quality} {thing}: {person} will miss the {thing} of {name}.",
        "The claim that {name} {does} the {quality} {thing} wants a source.",
        "Better than before: the {quality} {thing} {does} {name} {manner}.",
        "Cut the {thing}; the {quality} {thing} of {name} already {does} that {manner}.",
        "Ask what {person} gains when {name} {does} a {quality} {thing}.",
    ),
    words={
        "quality": _words(
            "brisk candid dense fragile gentle honest keen lucid modest narrow patient quiet "
            "robust sober tidy vivid warm young zealous blunt crisp daring frugal humble"
        ),
        "thing": _words(
            "bridge canvas dialogue frontier garden harbour journey kernel ledger mirror notebook "
            "pattern question rhythm signal thread voyage window yardstick beacon compass draught "
            "fabric habit lantern margin promise recipe shelter template"
        ),
        "does": _words(
            "answers borrows carries defends echoes frames grounds helps invites joins keeps "
            "limits measures names opens proves questions reveals shapes tests unites values "
            "weighs yields balances changes"
        ),
        "person": _words(
            "the author, an editor, the reader, a newcomer, the engineer, the audience, a sceptic, "
            "the team, an expert, the customer, a student, the operator",
            ", ",
        ),
        "manner": _words(
            "at once, by degrees, in plain words, for good reason, without haste, with care, "
            "in the end, step by step, beyond doubt, on its own, in daylight, under load, "
            "over time, at any price, with one example, from the start",
            ", ",
        ),
    },
    name=(
        _words("Al Bran Cor Dal Er Fen Gar Hal Is Jor Kel Lor Mar Nev Or Per Quin Ros Tev Vel"),
        _words("a e i o u an en il or ul ava eno iri ola uma"),
        _words("bert dan fold gan kin lin mont nov rick ska stad ton vane ward wick zar"),
    ),
    join=" ",
)

CHINESE = Language(
    draft="关于「{topic}」的第{number}稿。",
    review="对「{topic}」的第{number}次评审。",
    score="评分：{score}。",
    drafting=(
        "{name}认为，{quality}的{thing}{manner}{does}{quality}的{thing}。",
        "{person}与{name}在{thing}中{does}了{quality}的{thing}。",
        "没有{quality}的{thing}，{name}就无法{manner}{does}{thing}。",
        "{name}需要的是{manner}{does}{thing}的{quality}{thing}。",
        "于是{thing}{manner}{does}{quality}的{thing}，{name}也看到了{thing}。",
    ),
    reviewing=(
        "谈{name}的段落应当{manner}{does}{quality}的{thing}。",
        "{thing}比上一稿更{quality}，但{name}的{thing}仍需{manner}{does}。",
        "建议删去{thing}，因为{name}的{quality}{thing}已经{does}了{thing}。",
        "{person}会问：{name}为何要{does}{quality}的{thing}？",
        "关于{name}{does}{quality}{thing}的说法缺少出处。",
    ),
    words={
        "quality": _words(
            "清晰 稳健 细致 开放 坦诚 简洁 鲜活 谨慎 紧凑 从容 "
            "扎实 灵活 明快 温和 独特 完整 朴素 锐利 可靠 深入"
        ),
        "thing": _words(
            "结构 例证 节奏 视角 线索 论据 场景 语气 脉络 结论 问题 框架 "
            "细节 读者体验 数据 流程 桥梁 标尺 开头 转折 背景 术语 图景 答案"
        ),
        "does": _words(
            "支撑 回应 揭示 连接 检验 塑造 保留 衡量 说明 "
            "平衡 引出 简化 证明 强化 收束 展开 改写 澄清"
        ),
        "person": _words("作者 编辑 读者 新手 工程师 听众 怀疑者 团队 专家 用户 学生 运营者"),
        "manner": _words("逐步 直接 自然地 有据地 及时 认真地 平实地 反复 完整地 主动 从头 稳妥地"),
    },
    name=(
        _words("赵 钱 孙 李 周 吴 郑 王 冯 陈 沈 韩 杨 朱 秦 许 何 吕 张 孔"),
        _words("安 博 晨 丹 恩 方 光 海 嘉 俊 凯 兰 明 宁 鹏 清 瑞 思 文 雪"),
        _words("彬 川 德 峰 歌 华 瑾 坤 琳 梅 楠 青 然 舒 彤 薇 祥 阳 哲 舟"),
    ),
    join="",
)


def language_of(*texts: str) -> Language:
    """The language of the first text that is not empty: Chinese or English."""
    text = next((text for text in texts if text.strip()), "")
    wide = len(CJK.findall(text))
    return CHINESE if wide * 3 > len(text) else ENGLISH


def topic_of(*texts: str) -> str:
    """The topic of texts: the quoted one if there is one, else their first sentence."""
    for text in texts:
        if quoted := _QUOTED.search(text):
            return quoted[1][:TOPIC_CHARACTERS]
    for text in texts:
        if text.strip():
            return _SENTENCE_END.split(text.strip())[0].strip()[:TOPIC_CHARACTERS].strip()
    return "…"


def is_reviewer(role: str) -> bool:
    """Whether a role is that of somebody who judges what others write."""
    return bool(_REVIEWER.search(role))


def sentences(rng: Random, role: str, topic: str, number: int, language: Language) -> list[str]:
    """An opening and a few sentences in the manner of `role`."""
    reviews = is_reviewer(role)
    opening = (language.review if reviews else language.draft).format(number=number, topic=topic)
    patterns = language.reviewing if reviews else language.drafting
    chosen = rng.sample(patterns, rng.randint(3, 5))
    return [opening, *(_filled(rng, pattern, language) for pattern in chosen)]


def _filled(rng: Random, pattern: str, language: Language) -> str:
    def word(slot: re.Match[str]) -> str:
        if slot[1] == "name":
            return "".join(rng.choice(part) for part in language.name)
        return rng.choice(language.words[slot[1]])

    return re.sub(r"\{(\w+)\}", word, pattern)
