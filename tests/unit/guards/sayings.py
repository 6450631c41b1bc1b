"""Texts as models write them, in English and in Chinese, and words that nobody has said before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

Sentence = Callable[[Random], str]


def _words(listed: str) -> list[str]:
    return re.findall(r"\w+", listed)


NOUNS = _words(
    """parser scheduler budget journal window editor cluster request customer invoice ticket
    reviewer chapter sentence argument summary market forecast sensor battery river harbour teacher
    lesson recipe kitchen garden museum painting orchestra contract clause lawyer witness surgeon
    vaccine protein galaxy telescope engine runway pilot passenger warehouse supplier shipment"""
)
VERBS = _words(
    """checks rejects repairs describes replaces delays improves measures ignores explains
    compares collects protects questions supports limits returns follows changes prefers"""
)
ADJECTIVES = _words(
    """quiet broken early careful modern hidden costly simple distant careless bright heavy
    local empty famous narrow patient remote sudden useful visible wooden young cheap"""
)
ENDS = ["today", "at night", "in spring", "without notice", "after lunch", "on request", "by hand"]

ZH_NOUNS = _words(
    """解析器 调度器 预算 日志 窗口 编辑器 集群 请求 客户 发票 工单 评审人 章节 句子 论点 摘要 市场
    预测 传感器 电池 河流 港口 教师 课程 菜谱 厨房 花园 博物馆 油画 乐团 合同 条款 律师 证人 医生
    疫苗 蛋白质 星系 望远镜 引擎 跑道 飞行员 乘客 仓库 供应商 货物 图书馆 车站 桥梁 农场 果园 剧院
    记者 编剧 邮局 银行 税率 账户 股票 工厂 机床 零件 图纸 模型 实验 样本 数据 算法 芯片 天线 卫星
    海洋 岛屿 森林 草原 沙漠 气候 云层 台风 地震 隧道 电梯 阳台 屋顶 地板 家具 灯光 音乐 舞蹈"""
)
ZH_VERBS = _words(
    """检查 拒绝 修复 描述 替换 推迟 改进 测量 忽略 解释 比较 收集 保护 质疑 支持 限制 影响 连接
    覆盖 取代 观察 记录 引用 说明 破坏 移动 加固 简化 扩展 隔离 唤醒 整理"""
)
ZH_ADJECTIVES = _words(
    """安静 破损 谨慎 现代 隐蔽 昂贵 简单 遥远 粗心 明亮 沉重 空旷 著名 狭窄 耐心 突然 有用 古老
    廉价 复杂 稳定 潮湿 寒冷 炎热 美丽 普通 重要 临时 公开 秘密 迅速 缓慢"""
)


def english(random: Random) -> str:
    one, other = random.sample(NOUNS, 2)
    kind, sort = random.sample(ADJECTIVES, 2)
    return f"The {kind} {one} {random.choice(VERBS)} the {sort} {other} {random.choice(ENDS)}."


def chinese(random: Random) -> str:
    one, other, third = random.sample(ZH_NOUNS, 3)
    kind, sort = random.sample(ZH_ADJECTIVES, 2)
    does, did = random.sample(ZH_VERBS, 2)
    forms = [
        f"{kind}的{one}{does}了{sort}的{other}。",
        f"虽然{one}{does}{other},但是{sort}的{third}还没有{did}。",
        f"我们{does}{one}与{other},因为{third}很{kind}。",
    ]
    return random.choice(forms)


def text(sentence: Sentence, random: Random, sentences: int) -> str:
    return " ".join(sentence(random) for _ in range(sentences))


def code_line(random: Random) -> str:
    one, other, verb = random.choice(NOUNS), random.choice(NOUNS), random.choice(VERBS)
    forms = [
        f"    {one} = self.{other}.{verb}({random.choice(NOUNS)})",
        f"    if {one}.{verb}({other}) is None:",
        f"        return {one} + {other}[{random.choice(NOUNS)}]",
        f"    for {one} in {other}.{verb}():",
        f"        raise ValueError('{one} {verb} no {other}')",
    ]
    return random.choice(forms)


def new_words(random: Random) -> Iterator[str]:
    """Words that were never said before."""
    seen: set[str] = set()
    while True:
        word = "".join(random.choice("bdfgklmnprstvz") + random.choice("aeiou") for _ in range(3))
        if word not in seen:
            seen.add(word)
            yield word


def new_characters(random: Random) -> Iterator[str]:
    """Two Chinese characters at a time that did not stand side by side before."""
    seen: set[str] = set()
    while True:
        word = "".join(chr(random.randrange(0x5200, 0x9000)) for _ in range(2))
        if word not in seen:
            seen.add(word)
            yield word
