"""The drawings of the concept pages, in each language, as SVG: `python -m build_docs` writes them."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

INK, FAINT, PAPER = "#1f2933", "#7b8794", "#ffffff"
BLUE, GREEN, AMBER, GREY, RED = "#d9e8fb", "#d8f0dc", "#fdecc8", "#eef1f4", "#f9d9d6"
FONT = "font-family='Inter, Noto Sans SC, Noto Sans CJK SC, sans-serif'"

Words = Callable[[str, str], str]
"""Picks the English or the Chinese text."""


class Drawing:
    """Boxes, arrows and words on a sheet of paper."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size = (width, height)
        self._title = title
        self._parts: list[str] = []

    def box(self, x: int, y: int, w: int, h: int, text: str, fill: str = BLUE, **more: str) -> None:
        """A node, or a region around some; the text may have several lines."""
        dash = f" stroke-dasharray='{more['dash']}'" if "dash" in more else ""
        self._parts.append(
            f"<rect x='{x}' y='{y}' width='{w}' height='{h}' rx='8' fill='{fill}' "
            f"stroke='{FAINT}' stroke-width='1.2'{dash}/>"
        )
        if more.get("at") == "top":
            self.text(x + 10, y + 18, text, anchor="start", size=12, fill=FAINT)
        else:
            self.text(x + w // 2, y + h // 2 + 5, text)

    def text(
        self, x: int, y: int, text: str, anchor: str = "middle", size: int = 14, fill: str = INK
    ) -> None:
        """Words; lines are centred around y."""
        lines = text.split("\n")
        y -= (len(lines) - 1) * (size + 4) // 2
        for number, line in enumerate(lines):
            self._parts.append(
                f"<text x='{x}' y='{y + number * (size + 4)}' text-anchor='{anchor}' "
                f"font-size='{size}' fill='{fill}'>{escape(line)}</text>"
            )

    def arrow(
        self, path: str, label: str = "", at: tuple[int, int] = (0, 0), dead: bool = False
    ) -> None:
        """A line with a head along an SVG path, dashed if it is dead."""
        dash = " stroke-dasharray='5 4'" if dead else ""
        ink, head = (FAINT, "faint") if dead else (INK, "head")
        self._parts.append(
            f"<path d='{path}' fill='none' stroke='{ink}' stroke-width='1.6' "
            f"marker-end='url(#{head})'{dash}/>"
        )
        if label:
            self.text(*at, label, size=12, fill=FAINT)

    def svg(self) -> str:
        """The whole sheet."""
        width, height = self._size
        heads = "".join(
            f"<marker id='{name}' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' "
            f"markerHeight='7' orient='auto-start-reverse'><path d='M0 0L10 5L0 10z' "
            f"fill='{ink}'/></marker>"
            for name, ink in (("head", INK), ("faint", FAINT))
        )
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img' "
            f"{FONT}>\n<title>{escape(self._title)}</title>\n<defs>{heads}</defs>\n"
            f"<rect width='{width}' height='{height}' rx='10' fill='{PAPER}'/>\n"
            + "\n".join(self._parts)
            + "\n</svg>\n"
        )


def rounds(t: Words) -> Drawing:
    """Three rounds of a loop, and where it decides."""
    d = Drawing(780, 220, t("Three rounds of a loop", "循环的三轮"))
    for n, score in ((1, 60), (2, 85), (3, 95)):
        x = 20 + (n - 1) * 220
        d.box(x, 40, 200, 96, t(f"round {n}", f"第 {n} 轮"), GREY, at="top", dash="4 3")
        d.box(x + 12, 68, 78, 40, "Writer")
        d.box(x + 110, 68, 78, 40, "Critic")
        d.arrow(f"M{x + 90} 88H{x + 108}")
        d.text(x + 149, 126, t(f"score {score}", f"得分 {score}"), size=12, fill=FAINT)
        if n < 3:
            d.arrow(f"M{x + 188} 88H{x + 230}")
        d.text(x + 206, 168, t("decides", "决定"), size=12)
        word = t("next round", "下一轮") if n < 3 else t("95 ≥ 90: goal", "95 ≥ 90：达标")
        d.text(x + 206, 186, word, size=12, fill=FAINT)
        d.arrow(f"M{x + 206} 154V104")
    d.box(692, 68, 74, 40, "Final", GREEN)
    d.arrow("M648 88H690")
    return d


def joins(t: Words) -> Drawing:
    """A join that waits until every edge is settled."""
    d = Drawing(620, 260, t("A join waits until each edge is settled", "汇合等到每条边都有定论"))
    d.box(20, 100, 90, 44, "Plan")
    for y, name, word, at, dead in (
        (20, "A", t("fired", "已触发"), (350, 34), False),
        (100, "B", t("dead: condition false", "已死：条件不成立"), (336, 140), True),
        (180, "C", t("fired", "已触发"), (350, 222), False),
    ):
        d.arrow(f"M110 122C150 122 150 {y + 22} 188 {y + 22}")
        d.box(190, y, 80, 44, name, GREY if dead else BLUE)
        d.arrow(f"M270 {y + 22}C360 {y + 22} 380 122 458 122", word, at, dead)
    d.box(460, 100, 130, 44, "Editor", GREEN)
    d.text(
        525,
        176,
        t("join: any → runs now\njoin: all → is skipped", "join: any → 现在运行\njoin: all → 跳过"),
        size=12,
        fill=FAINT,
    )
    return d


def sees(t: Words) -> Drawing:
    """What is in one request to a model."""
    d = Drawing(640, 300, t("What an agent is shown in round 2", "智能体在第 2 轮看到的内容"))
    rows = (
        (t("role", "角色设定"), "system", GREY),
        (t("the session's task", "会话的任务"), "user", GREY),
        (
            t("what the node retained (context_window)", "节点保留的上下文（context_window）"),
            "user / assistant",
            GREY,
        ),
        (t("its own last draft", "自己上一稿"), "assistant", BLUE),
        (t("the critique: its new messages", "评审意见：新到的消息"), "user", GREEN),
    )
    for n, (text, role, fill) in enumerate(rows):
        y = 20 + n * 52
        d.box(20, y, 350, 44, text, fill)
        d.text(385, y + 27, role, anchor="start", size=12, fill=FAINT)
    d.arrow("M520 20V172")
    d.text(
        575,
        92,
        t("the same\nevery round:\nprompt caches\nhit", "每轮都一样：\n提示缓存命中"),
        size=12,
    )
    d.text(575, 228, t("new in\nthis round", "本轮新内容"), size=12)
    return d


def exits(t: Words) -> Drawing:
    """What is asked at the end of a round, in order."""
    d = Drawing(760, 392, t("At the end of a round, in this order", "每轮结束时，依次判断"))
    rows = (
        (
            t("cancelled, failed or locked?", "被取消、失败或锁定？"),
            "cancelled, failed, breaker_tripped",
            "",
        ),
        (t("budget used up?", "预算用完？"), "budget_exhausted", "limit"),
        (
            t("did an edge out of the loop fire?", "有出循环的边触发？"),
            "exit_edge",
            t("that edge", "那条边"),
        ),
        (
            t("goal reached? (score, until)", "达到目标？（得分、until）"),
            "score_threshold_reached, condition_met",
            "goal",
        ),
        (
            t("regressed, stagnated, max_rounds?", "退步、停滞、轮数用完？"),
            "regressed, stagnated, max_rounds_reached",
            "limit",
        ),
        (t("head not triggered again?", "头节点没有再被触发？"), "no_retrigger", ""),
    )
    for n, (question, reason, way) in enumerate(rows):
        y = 16 + n * 54
        d.box(20, y, 260, 40, question, GREY)
        d.arrow(f"M280 {y + 20}H318", t("yes", "是"), (299, y + 14))
        d.box(
            320, y, 290, 40, reason, GREEN if way == "goal" else AMBER if way == "limit" else BLUE
        )
        if way:
            d.arrow(f"M610 {y + 20}H650")
            d.text(700, y + 25, way)
        d.arrow(f"M150 {y + 40}V{y + 52}")
    d.box(20, 340, 260, 40, t("next round", "下一轮"), GREEN)
    return d


def certificates(t: Words) -> Drawing:
    """How bounds of nested loops multiply."""
    d = Drawing(700, 250, t("Bounds of nested loops multiply", "嵌套循环的上界相乘"))
    d.box(
        20,
        20,
        660,
        170,
        t("loop Outline: max_rounds 3", "循环 Outline：max_rounds 3"),
        GREY,
        at="top",
    )
    d.box(40, 70, 90, 44, "Outline")
    d.box(
        170,
        48,
        330,
        120,
        t("loop Draft: max_rounds 2", "循环 Draft：max_rounds 2"),
        PAPER,
        at="top",
    )
    d.box(190, 86, 90, 44, "Draft")
    d.box(310, 86, 80, 44, "Polish")
    d.box(420, 86, 60, 44, "Gate")
    d.box(540, 70, 110, 44, "Editor")
    d.arrow("M130 92C150 92 160 108 188 108")
    d.arrow("M280 108H308")
    d.arrow("M390 108H418")
    d.arrow("M480 108C510 108 515 92 538 92")
    d.arrow("M450 130V152H235V132")
    d.arrow("M595 114V180H85V116")
    d.text(
        350,
        222,
        t(
            "at most 3 × (1 + 2 × 3 + 1) = 24 steps in the loop, whatever the models say",
            "无论模型说什么，循环内最多 3 × (1 + 2 × 3 + 1) = 24 步",
        ),
    )
    return d


def durability(t: Words) -> Drawing:
    """A journal, a crash, a resume, a fork."""
    d = Drawing(760, 230, t("The journal is the session", "日志就是会话"))
    names = (t("started", "开始"), "Writer ✓", "Critic ✓", "Writer ✓", "Critic ✓", "Final ✓")
    for n, name in enumerate(names):
        x = 20 + n * 122
        d.box(x, 60, 106, 44, name, BLUE if n < 3 else GREEN)
        if n:
            d.arrow(f"M{x - 16} 82H{x - 2}")
    d.arrow("M378 30V54")
    d.text(378, 24, t("kill -9", "kill -9"), fill="#b42318")
    d.text(
        190,
        132,
        t("folded again on resume: nothing of it runs", "恢复时重新折叠：不会再执行"),
        size=12,
        fill=FAINT,
    )
    d.text(590, 132, t("runs after resume", "恢复后执行"), size=12, fill=FAINT)
    d.arrow("M317 104C317 190 340 190 384 190")
    d.box(386, 168, 106, 44, "Writer′ ✓", AMBER)
    d.box(508, 168, 106, 44, "Critic′ ✓", AMBER)
    d.arrow("M492 190H506")
    d.text(
        190,
        194,
        t("fork: shares the past, goes on another way", "分叉：共享过去，另走一条路"),
        size=12,
        fill=FAINT,
    )
    return d


DRAWINGS = (rounds, joins, sees, exits, certificates, durability)


def drawn() -> dict[str, str]:
    """Every drawing by its file's name."""
    files = {}
    for draw in DRAWINGS:
        files[f"{draw.__name__}.svg"] = draw(lambda english, _chinese: english).svg()
        files[f"{draw.__name__}.zh.svg"] = draw(lambda _english, chinese: chinese).svg()
    return files


def write(folder: Path) -> None:
    """Write all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in drawn().items():
        (folder / name).write_text(text, "utf-8")
