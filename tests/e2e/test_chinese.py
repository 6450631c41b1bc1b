"""The command line in Chinese: what it says there, what never changes, and nothing left behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rondel.cli.app import HELP, VERBS
from rondel.cli.catalogue import Catalogue, catalogue_of, names_in
from rondel.cli.language import wanted, without_option
from tests.e2e.command import BIN, ROOT, Ran
from tests.sentences import errors, own
from tests.terminal import Terminal

Call = Callable[..., Ran]
GraphFile = Callable[..., Path]
EXAMPLE = ROOT / "examples" / "01_review_loop" / "graph.yaml"
CATALOGUE = ROOT / "src" / "rondel" / "cli" / "languages" / "zh.json"
SENTENCES: dict[str, str] = json.loads(CATALOGUE.read_text("utf-8"))
TYPER = {
    "No such option: {name}",
    "no such option: {name}",
    "missing argument {name}",
    "missing option {name}",
    "got unexpected extra argument {name}",
    "got unexpected extra argument ({name})",
    "got unexpected extra arguments ({names})",
    "option {name} requires an argument",
    "invalid value for {name}: {why}",
}
"""What the library says that reads the arguments."""

BROKEN = "graph:\n  id: g\n  nods: []\n  nodes:\n    - {id: a, type: agnet}\n  edges: []\n"


def test_every_sentence_of_the_command_line_is_there() -> None:
    needed = own() | {*VERBS.values(), HELP} | errors("graph") | errors("cli")
    assert sorted(needed - {*SENTENCES}) == []


def test_every_sentence_has_places_for_the_same_values() -> None:
    wrong = [english for english, said in SENTENCES.items() if names_in(english) != names_in(said)]
    assert wrong == []


def test_no_sentence_is_stale() -> None:
    text = " ".join(path.read_text("utf-8") for path in (ROOT / "src/rondel").rglob("*.py"))
    known = own() | {*VERBS.values(), HELP} | errors("graph") | errors("cli")
    for english in {*SENTENCES} - known - TYPER:
        pieces = [piece.strip(" :;,.'\"()`?") for piece in re.split(r"\{\w+\}", english)]
        words = [word for piece in pieces for word in piece.split()[:2]]
        missing = [word for word in words if word.lower() not in text.lower()]
        assert missing == [], english


def test_help_errors_and_a_run_are_in_chinese(call: Call, graph_file: GraphFile) -> None:
    assert "运行一个图" in call("--help", "--lang", "zh").out
    broken = call("check", graph_file(BROKEN), "--lang=zh")
    assert (broken.code, broken.err.count("错误: ")) == (2, 2)
    assert "未知的键 'nods'; 您是指 'nodes' 吗？" in broken.err
    assert "没有节点类型 'agnet'; 您是指 'agent' 吗？" in broken.err
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LC_ALL", "zh_CN.UTF-8")
        wrong = call("rnu")
    assert wrong.err == "错误: 没有命令 'rnu'；您是指 'run' 吗？\n"
    ran = call("run", EXAMPLE, "--db", ":memory:", "--lang", "zh")
    assert "正在运行 review_loop" in ran.out
    assert "第 4 轮" in ran.out
    assert "score_threshold_reached (92 >= 90), 最佳轮次 4" in ran.out


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
    assert wanted(environ) == language


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
    assert Catalogue({"{a} of {b}": "{b} 之 {a}"}).translated("x of y") == "y 之 x"


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_a_terminal_speaks_chinese_at_every_width(columns: int) -> None:
    command = [str(BIN / "rondel"), "run", str(EXAMPLE), "--db", ":memory:", "--lang", "zh"]
    with Terminal(command, columns, 40) as terminal:
        shown = terminal.end().replace(" ", "")
    assert "状态" in shown
    assert "最佳轮次4" in shown
