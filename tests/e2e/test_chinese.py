"""The command line in Chinese: what it says there, what never changes, and nothing left behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from rondel.cli.app import HELP, VERBS
from rondel.cli.catalogue import PLACE, Catalogue, catalogue_of
from rondel.cli.language import language_in, without_option
from tests.e2e.command import BIN, ROOT, Ran
from tests.sentences import help_texts, own, shape, told
from tests.terminal import Terminal

Call = Callable[..., Ran]
GraphFile = Callable[..., Path]
EXAMPLE = ROOT / "examples" / "01_review_loop" / "graph.yaml"
FOLDER = ROOT / "src" / "rondel" / "cli" / "languages" / "zh"
FILES: dict[str, dict[str, str]] = {
    path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))
}
SENTENCES = {english: said for file in FILES.values() for english, said in file.items()}
CHINESE = re.compile(r"[\u4e00-\u9fff]")
OTHERS = FILES["others"]
"""What the library says that reads the arguments, and the system."""

BROKEN = "graph:\n  id: g\n  nods: []\n  nodes:\n    - {id: a, type: agnet}\n  edges: []\n"


def test_every_sentence_that_a_user_can_be_told_is_there() -> None:
    by_name = own() | help_texts() | {*VERBS.values(), HELP}
    shapes = {*map(shape, SENTENCES)}
    missing = {text for text in told() - by_name if shape(text) not in shapes}
    assert sorted(missing | (by_name - {*SENTENCES})) == []


def test_the_finder_finds_what_is_told_wherever_it_is_made() -> None:
    found = told()
    assert "there is no database {path}" in found  # raised in the command line
    assert "the disk is full; free some space and resume the sessions" in found  # of a table
    assert "no message passes its condition" in found  # a part of a warning
    assert "Show tracebacks." in found  # the help of an option
    assert "EXIT REASON" in found  # the head of a column
    assert not any("SELECT" in text for text in found)


def test_no_sentence_is_in_two_files_or_still_english() -> None:
    assert len(SENTENCES) == sum(map(len, FILES.values()))
    same = {text for text, said in SENTENCES.items() if not CHINESE.search(said)}
    assert all(len(text.split()) < 3 or "{" in text or "SESSION" in text for text in same), same


def test_every_sentence_has_places_for_the_same_values() -> None:
    def names(template: str) -> set[str]:
        return set(PLACE.findall(template))

    wrong = [english for english, said in SENTENCES.items() if names(english) != names(said)]
    assert wrong == []


def test_no_sentence_is_stale() -> None:
    text = " ".join(path.read_text("utf-8") for path in (ROOT / "src/rondel").rglob("*.py"))
    known = {*map(shape, told())}
    for english in {*SENTENCES} - {*OTHERS}:
        if shape(english) in known:
            continue
        pieces = [piece.strip(" :;,.'\"()`?") for piece in re.split(r"\{\w+\}", english)]
        words = [word for piece in pieces for word in piece.split()[:2]]
        missing = [word for word in words if word.lower() not in text.lower()]
        assert missing == [], english


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_command_is_in_chinese(
    verb: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    monkeypatch.setattr("rondel.cli.help.WIDEST", 2000)
    lines = call(verb, "--help", "--lang", "zh").out.splitlines()
    assert lines[0].startswith(f"用法：rondel {verb} [选项]")
    for line in filter(None, lines[1:]):
        assert CHINESE.search(line), line
        assert not re.search(r"(?<![`./\w$-])(?:the|of|is|and|that|with|this) ", line), line


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_help_in_chinese_is_as_wide_as_the_terminal(
    columns: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for verb in VERBS:
        lines = call(verb, "--help", "--lang", "zh").out.splitlines()[1:]
        assert max(map(cell_len, lines)) <= min(int(columns), 80) - 2


def test_tables_and_what_follows_are_in_chinese(call: Call, graph_file: GraphFile) -> None:
    def lines(*arguments: object) -> list[str]:
        ran = call(*arguments, "--lang", "zh")
        assert ran.err == ""
        return ran.out.splitlines()

    check = lines("check", EXAMPLE)
    assert "：有效；4 个节点，5 条边，1 个循环" in check[0]
    assert check[1].startswith("一次运行最多：")
    assert {"循环", "轮数", "上界来源"} <= {*check[4].split()}
    call("run", EXAMPLE)
    id = lines("sessions")[1].split()[0]
    assert lines("sessions")[0].split() == ["ID", "状态", "图", "创建时间", "驱动进程", "输入"]
    assert lines("rounds", id)[0].split()[:4] == ["循环", "轮次", "得分", "变化"]
    shown = lines("show", id, "--steps")
    assert [line.split()[0] for line in shown[:3]] == ["会话", "图", "状态"]
    assert "    输出 Writer" in "\n".join(shown)
    assert "当前状态" in lines("replay", id, "--state")
    assert lines("verify")[-1] == "共 1 个会话，均无损坏"
    assert lines("gc", "--dry-run")[-1] == "将会删除 0 个会话"
    assert lines("estimate", EXAMPLE)[0].split() == ["模型调用", "TOKEN", "费用"]
    assert "每条边都走到过" in lines("simulate", EXAMPLE, "-n", "20")


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "the journal a.db cannot be used: the disk is full; "
            "free some space and resume the sessions",
            "无法使用日志 a.db：磁盘已满；请腾出空间并恢复会话",
        ),
        (
            "the condition of the edge a -> b failed on 'x': the expression 'data.n > 1' failed: "
            "data has no 'n'; guard it with has(data.n)",
            "边 a -> b 的条件在 'x' 上出错：表达式 'data.n > 1' 出错：data 没有 'n'；"
            "请用 has(data.n) 先判断",
        ),
        (
            "no end node produced output ('Final'); none of these conditions held: "
            "A -> Final (keyword)",
            "没有结束节点产生输出（'Final'）；这些条件都不成立：A -> Final (keyword)",
        ),
        (
            "1,200 tokens used, more than 3 times the estimate of 300 (from the certificate)",
            "已用 1,200 个 token，超过估计值 300 的 3 倍（来自证书）",
        ),
        (
            "the provider 'openai' needs a key: set OPENAI_API_KEY in the environment or api_key "
            "in the graph, or run with --provider simulated",
            "provider 'openai' 需要密钥：请在环境变量中设置 OPENAI_API_KEY，或在图中设置 api_key，"
            "或用 --provider simulated 运行",
        ),
        (
            "session ab is completed; it cannot be paused any more",
            "会话 ab 的状态是 completed；已不能再暂停",
        ),
    ],
)
def test_rarer_errors_read_as_a_chinese_developer_writes_them(english: str, chinese: str) -> None:
    assert catalogue_of("zh").translated(english) == chinese


def test_help_errors_and_a_run_are_in_chinese(call: Call, graph_file: GraphFile) -> None:
    assert "运行一个图" in call("--help", "--lang", "zh").out
    broken = call("check", graph_file(BROKEN), "--lang=zh")
    assert (broken.code, broken.err.count("错误：")) == (2, 2)
    assert "未知的键 'nods'；您是指 'nodes' 吗？" in broken.err
    assert "没有节点类型 'agnet'；您是指 'agent' 吗？" in broken.err
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LC_ALL", "zh_CN.UTF-8")
        wrong = call("rnu")
    assert wrong.err == "错误：没有命令 'rnu'；您是指 'run' 吗？\n"
    missing = call("completion", "--lang", "zh")
    assert "缺少参数 'bash|zsh|fish'；可选：bash, zsh, fish" in missing.err
    ran = call("run", EXAMPLE, "--db", ":memory:", "--lang", "zh")
    assert "正在运行 review_loop" in ran.out
    assert "第 4 轮" in ran.out
    assert "score_threshold_reached (92 >= 90)，最佳轮次 4" in ran.out


def test_what_programs_read_is_the_same_in_every_language(
    call: Call, graph_file: GraphFile
) -> None:
    def run(language: str) -> list[dict[str, object]]:
        ran = call("run", EXAMPLE, "--db", ":memory:", "--json", "--lang", language)
        keep = ("event", "address", "data", "status", "output")
        return [{key: line.get(key) for key in keep} for line in ran.lines]

    assert run("zh") == run("en")
    checks = [call("check", graph_file(BROKEN), "--json", "--lang", name) for name in ("en", "zh")]
    assert checks[0].out == checks[1].out
    assert [ran.code for ran in checks] == [2, 2]


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "RONDEL_LANG": "zh"}, "zh"),
    ],
)
def test_the_environment_says_which_language(environ: dict[str, str], language: str) -> None:
    assert language_in(environ) == language


def test_the_option_may_stand_anywhere_but_after_two_dashes(call: Call) -> None:
    assert without_option(["run", "--lang", "zh", "x"]) == (["run", "x"], "zh")
    assert without_option(["run", "--", "--lang", "zh"]) == (["run", "--", "--lang", "zh"], None)
    refused = call("--help", "--lang", "xx")
    assert refused.code == 2
    assert "there is no language 'xx'; there are: en, zh" in refused.err


def test_a_sentence_inside_a_sentence_is_translated_and_values_stay() -> None:
    chinese = catalogue_of("zh")
    assert chinese.translated("there is no session 'ab'; there is none yet") == (
        "没有会话 'ab'；目前还没有"
    )
    assert chinese.translated("nothing like this is known") == "nothing like this is known"
    assert Catalogue({"{a} over {b}": "{b} 之 {a}"}).translated("x over y") == "y 之 x"


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "there is no function 'x' (the same in another place)",
            "没有 function 'x'（另一处同样如此）",
        ),
        (
            "vertex cannot be asked from here (no project; set GOOGLE_CLOUD_PROJECT in the "
            "environment or project); check the credentials that this machine has for it",
            "无法从这里询问 vertex（没有项目；请设置环境变量 GOOGLE_CLOUD_PROJECT，或设置 "
            "project）；请检查本机用于它的凭据",
        ),
    ],
)
def test_no_sentence_is_taken_apart_inside_brackets(english: str, chinese: str) -> None:
    assert catalogue_of("zh").translated(english) == chinese


def test_what_a_person_wrote_stays_as_it_is_where_it_is_asked(
    call: Call, graph_file: GraphFile
) -> None:
    graph = """graph:
  id: g
  nodes:
    - id: Ask
      type: human
      config: {description: "Approve or reject round 2 of the draft", actions: ["yes", "no"]}
"""
    ran = call("run", graph_file(graph), "--answer", "maybe", "--no-input", "--lang", "zh")
    assert ran.code == 4
    assert ran.out.count("Approve or reject round 2 of the draft\n") == 2
    assert "'maybe' 不在可选项之中：yes, no。" in ran.out


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_a_terminal_speaks_chinese_at_every_width(columns: int) -> None:
    command = [str(BIN / "rondel"), "run", str(EXAMPLE), "--db", ":memory:", "--lang", "zh"]
    with Terminal(command, columns, 40) as terminal:
        shown = terminal.end().replace(" ", "")
    assert "状态" in shown
    assert "最佳轮次4" in shown
