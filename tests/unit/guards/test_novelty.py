"""The entropy of an output tells loops from work, in English and in Chinese."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel.guards.novelty import FORGIVEN, HISTORY, SAMPLE, Novelty
from tests.counting import calls_of
from tests.unit.guards.sayings import (
    Sentence,
    chinese,
    code_line,
    english,
    new_characters,
    new_words,
    text,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "novelty.md"
WINDOW, LIMIT = 3, 0.1

LANGUAGES = [pytest.param(english, id="english"), pytest.param(chinese, id="chinese")]
in_both_languages = pytest.mark.parametrize("sentence", LANGUAGES)
seeds = pytest.mark.parametrize("seed", range(4))


def entropies(outputs: list[str]) -> list[float]:
    novelty = Novelty()
    return [novelty.measure(output) for output in outputs]


def means(outputs: list[str]) -> list[float]:
    each = entropies(outputs)
    return [sum(each[end - WINDOW : end]) / WINDOW for end in range(WINDOW, len(each) + 1)]


def trips_after(outputs: list[str]) -> int | None:
    """After how many outputs the breaker would trip."""
    low = (end for end, mean in enumerate(means(outputs), WINDOW) if mean < LIMIT)
    return next(low, None)


def trips_soon(outputs: list[str], shown: int) -> bool:
    """Whether it trips at the latest 4 outputs after the pattern has been shown, and stays so."""
    first = trips_after(outputs)
    return (
        first is not None and first <= shown + 4 and max(means(outputs)[first - WINDOW :]) < LIMIT
    )


# What must trip


@in_both_languages
@pytest.mark.parametrize("sentences", [1, 3, 40, 600])
@pytest.mark.parametrize("period", [1, 2, 3, 5, HISTORY])
def test_a_cycle_trips(sentence: Sentence, sentences: int, period: int) -> None:
    random = Random(period)
    cycle = [text(sentence, random, sentences) for _ in range(period)]
    assert trips_soon(cycle * 3 + cycle * (4 // period), shown=period)


@pytest.mark.parametrize("cycle", [["OK."], ["Done"], ["好的。"], ["OK.", "Done"], ["42"], [""]])
def test_short_answers_repeated_trip(cycle: list[str]) -> None:
    assert trips_soon(cycle * 6, shown=len(cycle))


def test_what_has_no_words_repeats_whatever_has_none() -> None:
    assert entropies(["42", "43", "!!!", "", "  ", "—"]) == [1, 0, 0, 0, 0, 0]


def test_something_new_after_nothing_is_new() -> None:
    assert entropies(["", "Done", "...", "完成"]) == [1, 1, 0, 1]
    assert entropies(["Done", "42", "Done", "43"]) == [1, 1, 0, 0]


def disguised(output: str, random: Random, number: int) -> str:
    """The same with other numbers, dates, case, white space and punctuation."""
    spaced = re.sub(r"\s+", lambda _: random.choice([" ", "\n", "  ", "\t", ", ", " - "]), output)
    cased = random.choice([str.upper, str.lower, str.title, str])(spaced)
    month = random.choice(["Jan", "March", "Sept", "December"])
    day = random.choice(["Mon", "Thursday", "Sunday"])
    weekday = random.choice("一二三四五六日")
    return (
        f"#{number} {cased}{random.choice(['!', '。', '...', ' 👍'])} {day}, {number} {month} "
        f"{2000 + number}T{number}:00:{number}Z 第{random.choice('一二三四')}轮 星期{weekday}"
    )


@in_both_languages
@seeds
@pytest.mark.parametrize("sentences", [1, 5, 300])
def test_other_numbers_dates_case_spaces_and_punctuation_trip(
    sentence: Sentence, sentences: int, seed: int
) -> None:
    random = Random(seed)
    said = text(sentence, random, sentences)
    outputs = [disguised(said, random, random.randrange(1, 99)) for _ in range(12)]
    assert trips_soon(outputs, shown=1)


def test_full_width_letters_and_digits_are_the_plain_ones() -> None:
    assert entropies(["Build 17 OK", "Ｂｕｉｌｄ １８ ＯＫ"]) == [1, 0]


@seeds
def test_json_with_other_ids_and_numbers_trips(seed: int) -> None:
    random = Random(seed)

    def uuid() -> str:
        return re.sub(
            "x",
            lambda _: random.choice("0123456789abcdef"),
            "-".join("x" * length for length in (8, 4, 4, 4, 12)),
        )

    def rows() -> list[dict[str, object]]:
        return [
            {
                "id": uuid(),
                "trace": f"t{random.random():.9f}",
                "state": "queued",
                "worker": name,
                "retries": random.randrange(9),
                "at": f"2025-03-{random.randrange(10, 28)}T10:00:00Z",
            }
            for name in ("north", "south", "east")
        ]

    pages = [{"jobs": rows(), "page": number} for number in range(12)]
    outputs = [json.dumps(page, indent=random.choice([None, 2])) for page in pages]
    assert trips_soon(outputs, shown=1)


@in_both_languages
@pytest.mark.parametrize("sentences", [1, 4, 60])
def test_a_text_with_a_growing_counter_trips(sentence: Sentence, sentences: int) -> None:
    said = text(sentence, Random(1), sentences)
    assert trips_soon([f"{said} (attempt {n} of 100)" for n in range(10)], shown=1)
    assert trips_soon([f"{said} {'!' * n}" for n in range(10)], shown=1)
    assert trips_soon([" ".join(f"{said} {k}" for k in range(n + 1)) for n in range(10)], shown=2)


@pytest.mark.parametrize(
    "said", ["OK.", "All good.", "好的。", "我们再试试。", "No answer, I wait"]
)
def test_a_message_that_repeats_itself_more_and_more_trips(said: str) -> None:
    assert trips_soon([f"{said} " * n for n in range(1, 12)], shown=2)
    assert trips_soon([f"{said} " * (1 + n % 2) for n in range(12)], shown=2)


@in_both_languages
@seeds
def test_the_same_sentences_in_another_order_trip(sentence: Sentence, seed: int) -> None:
    random = Random(seed)
    said = [text(sentence, random, 3) for _ in range(40)]
    outputs = [" ".join(random.sample(said, 40)) for _ in range(12)]
    assert trips_after(outputs) == 4


@in_both_languages
@seeds
@pytest.mark.parametrize("sentences", [20, 40, 100, 500])
@pytest.mark.parametrize("share", [0.01, 0.02, 0.03])
def test_a_long_text_hardly_rewritten_stays_low(
    sentence: Sentence, sentences: int, share: float, seed: int
) -> None:
    random = Random(seed)
    said = text(sentence, random, sentences)
    chosen = new_words(random) if sentence is english else (w[0] for w in new_characters(random))
    words = said.split() if sentence is english else re.findall(r"\w", said)
    joint = " " if sentence is english else ""
    outputs = []
    for _ in range(12):
        outputs.append(joint.join(words))
        for place in random.sample(range(len(words)), int(share * len(words))):
            words[place] = next(chosen)
    assert max(means(outputs)[1:]) < LIMIT


# What must never trip


def assert_never_trips(outputs: list[str], least: float) -> None:
    assert min(means(outputs)) >= least > LIMIT


@seeds
@pytest.mark.parametrize("length", [1, 3, 5, 8, 13, 20, 30, 40])
@pytest.mark.parametrize("changed", [1, 2, 4])
def test_polling_with_other_words_never_trips(length: int, changed: int, seed: int) -> None:
    random = Random(seed)
    words = text(english, random, 10).split()[:length]
    fresh = new_words(random)
    outputs = []
    for number in range(40):
        for place in random.sample(range(length), min(changed, length)):
            words[place] = next(fresh)
        outputs.append(f"[{number}] {' '.join(words)}")
    assert_never_trips(outputs, least=0.25)


@seeds
@pytest.mark.parametrize("length", [2, 5, 10, 20, 40, 70])
@pytest.mark.parametrize("changed", [1, 3])
def test_polling_in_chinese_never_trips(length: int, changed: int, seed: int) -> None:
    random = Random(seed)
    said = list(text(chinese, random, 10).replace("。", "").replace(" ", "")[:length])
    fresh = new_characters(random)
    outputs = []
    for number in range(40):
        for _ in range(changed):
            place = random.randrange(length - 1)
            said[place : place + 2] = next(fresh)
        outputs.append(f"第{number}次:{''.join(said)}。")
    assert_never_trips(outputs, least=0.25)


@pytest.mark.parametrize(
    "form",
    [
        "Status of build 17: {}",
        "{} is running.",
        "I polled the deployment again; the pipeline has not finished. The step under way is {}, "
        "the others are waiting, nothing failed so far, and I will look again in 30 seconds.",
        '{{"job": 17, "state": "running", "step": "{}", "errors": [], "progress": 0.4}}',
        "构建 17 的状态:{}",
        "我又查询了部署进度,流水线还没有结束,当前步骤是{},没有出现错误,我会在三十秒后再看。",
    ],
)
def test_a_poll_with_one_other_result_is_clearly_new(form: str) -> None:
    results = ["compiling", "linking", "testing", "packing", "signing", "uploading", "cleaning"]
    if not form.isascii():
        results = ["编译", "链接", "测试", "打包", "签名", "上传", "清理"]
    assert min(entropies([form.format(result) for result in results])) >= 0.2


@seeds
def test_known_words_put_together_anew_are_new(seed: int) -> None:
    """Three workers, each in one of six states: known words, but a report never made before."""
    random = Random(seed)
    states = ["waiting for input", "compiling", "linking", "running the tests", "idle", "blocked"]
    every = [(a, b, c) for a in states for b in states for c in states]
    outputs = [
        f"Worker north is {a} now, worker south is {b} now, and worker east is {c} now."
        for a, b, c in random.sample(every, 60)
    ]
    assert_never_trips(outputs, least=0.2)


def place_of(where: str, length: int, random: Random) -> int:
    match where:
        case "end":
            return length
        case "front":
            return 0
        case "middle":
            return length // 2
        case _:
            return random.randrange(length + 1)


@pytest.mark.parametrize("where", ["end", "front", "middle", "anywhere"])
@pytest.mark.parametrize(
    ("form", "around"),
    [
        ("- {}\n", "Found so far:\n{}"),
        ("{}, ", "We have {}and that is all."),
        ("- file src/{}.py was read and is fine\n", "Report\n{}"),
        ('{{"name": "{}", "state": "done", "errors": 0}}, ', '{{"items": [{}]}}'),
        ("{}、", "目前已完成:{}"),
        ("{}已经检查完毕,没有问题。", "检查结果如下:{}"),
    ],
)
def test_a_growing_list_never_trips(where: str, form: str, around: str) -> None:
    random = Random(7)
    fresh = new_words(random) if form.isascii() else new_characters(random)
    items: list[str] = []
    outputs = []
    for _ in range(200):
        items.insert(place_of(where, len(items), random), form.format(next(fresh)))
        outputs.append(around.replace("{}", "".join(items), 1))
    assert_never_trips(outputs, least=0.2)


@seeds
@pytest.mark.parametrize("where", ["end", "front", "anywhere"])
def test_a_list_that_grows_on_top_of_a_long_text_never_trips(where: str, seed: int) -> None:
    random = Random(seed)
    head = text(english, random, 300)
    fresh = new_words(random)
    items: list[str] = []
    outputs = []
    for _ in range(60):
        items.insert(place_of(where, len(items), random), next(fresh))
        outputs.append(f"{head}\n{', '.join(items)}")
    assert_never_trips(outputs, least=0.2)


@seeds
@pytest.mark.parametrize(
    "remark", [". Next I look at {} and {}.", "。接下来我会检查{}和{}的情况。"]
)
def test_a_growing_list_with_another_last_remark_never_trips(remark: str, seed: int) -> None:
    random = Random(seed)
    fresh = new_words(random) if remark.isascii() else new_characters(random)
    items = [next(fresh) for _ in range(200)]
    outputs = [
        ", ".join(items[:count]) + remark.format(next(fresh), next(fresh))
        for count in range(1, len(items))
    ]
    assert_never_trips(outputs, least=0.2)


def refined(
    said: list[str], share: float, blocks: bool, fresh: Callable[[], str], random: Random
) -> Iterator[list[str]]:
    said = list(said)
    count = round(share * len(said))
    for _ in range(15):
        yield list(said)
        start = random.randrange(len(said) - count + 1)
        block = range(start, start + count)
        for place in block if blocks else random.sample(range(len(said)), count):
            said[place] = fresh()


@in_both_languages
@seeds
@pytest.mark.parametrize("blocks", [False, True], ids=["scattered", "block"])
@pytest.mark.parametrize("sentences", [10, 30, 100, 500])
def test_a_text_with_a_third_of_its_sentences_new_never_trips(
    sentence: Sentence, sentences: int, blocks: bool, seed: int
) -> None:
    random = Random(seed)
    said = [sentence(random) for _ in range(sentences)]
    rounds = refined(said, 0.3, blocks, lambda: sentence(random), random)
    assert_never_trips([" ".join(each) for each in rounds], least=0.12)


@seeds
@pytest.mark.parametrize("blocks", [False, True], ids=["scattered", "block"])
@pytest.mark.parametrize("sentences", [4, 30, 100, 500])
def test_a_text_with_a_third_of_its_known_words_changed_never_trips(
    sentences: int, blocks: bool, seed: int
) -> None:
    """The words come from the text itself: only their places are new."""
    random = Random(seed)
    words = text(english, random, sentences).split()
    rounds = refined(words, 0.3, blocks, lambda: random.choice(words), random)
    assert_never_trips([" ".join(each) for each in rounds], least=0.15)
    characters = list(text(chinese, random, sentences))
    rounds = refined(characters, 0.3, blocks, lambda: random.choice(characters), random)
    assert_never_trips(["".join(each) for each in rounds], least=0.15)


@seeds
@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
def test_code_being_fixed_does_not_trip(share: float, seed: int) -> None:
    random = Random(seed)
    lines = [code_line(random) for _ in range(60)]
    rounds = refined(lines, share, False, lambda: code_line(random), random)
    assert min(means(["\n".join(each) for each in rounds])) >= LIMIT


# The measure itself


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=HISTORY))
def test_any_text_has_an_entropy_and_none_when_repeated(outputs: list[str]) -> None:
    novelty = Novelty()
    assert novelty.measure(outputs[0]) == 1
    assert all(0 <= novelty.measure(output) <= 1 for output in outputs[1:])
    assert all(novelty.measure(output) == 0 for output in outputs[:1] + outputs[-1:])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(max_size=80), max_size=HISTORY + 4),
    st.lists(st.text(max_size=80), min_size=1, max_size=4),
    st.integers(min_value=0, max_value=2**32),
)
def test_a_restored_history_measures_as_the_dumped_one(
    before: list[str], after: list[str], seed: int
) -> None:
    random = Random(seed)
    before = [*before, text(random.choice([english, chinese]), random, random.choice([2, 150]))]
    novelty = Novelty()
    for output in before:
        novelty.measure(output)
    dumped = json.dumps(novelty.dump())
    restored = Novelty.of(json.loads(dumped))
    assert json.dumps(restored.dump()) == dumped
    after = [*after, before[-1], text(english, random, 3)]
    assert [novelty.measure(o) for o in after] == [restored.measure(o) for o in after]
    assert restored.dump() == novelty.dump()


@in_both_languages
def test_the_dump_is_small_however_long_the_outputs(sentence: Sentence) -> None:
    random = Random(3)
    novelty = Novelty()
    for _ in range(2 * HISTORY):
        novelty.measure(" ".join(next(new_words(random)) for _ in range(5000)))
        novelty.measure(text(sentence, random, 600))
    assert len(json.dumps(novelty.dump())) < 30_000


def test_every_process_measures_alike() -> None:
    program = (
        "from rondel.guards.novelty import Novelty\n"
        "novelty = Novelty()\n"
        "print(novelty.measure('one two 好的'), novelty.dump())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def test_the_work_grows_with_the_message_and_not_with_the_history() -> None:
    random = Random(5)
    novelty = Novelty()

    def work(sentences: int) -> int:
        said = text(english, random, sentences)
        return calls_of(lambda: novelty.measure(said))

    for _ in range(HISTORY):
        novelty.measure(text(english, random, 1000))
    small, large = work(500), work(2000)
    assert large < 4.4 * small
    for _ in range(5 * HISTORY):
        novelty.measure(text(english, random, 1000))
    assert work(500) < 1.1 * small


@pytest.mark.parametrize("run", ["一", "第一", "a", "0a-", "0", "年一", "ﷺ"])
def test_a_long_run_of_anything_is_read_once(run: str) -> None:
    """Were it read again from each of its characters, the test would not end in time."""
    assert entropies([run * 100_000] * 2)[1] == 0


@pytest.mark.parametrize("share", [0.15, 0.25, 0.4, 0.6])
def test_a_sample_tells_as_exactly_as_the_page_says(share: float) -> None:
    """A block of new words in a text of 6000, at four standard errors."""
    fresh = new_words(Random(11))
    words = [next(fresh) for _ in range(6000)]
    start = int(len(words) * share)
    changed = [next(fresh) for _ in range(start)] + words[start:]
    measured = entropies([" ".join(words), " ".join(changed)])[1]
    slope = 1.5 / (1 - FORGIVEN)
    error = slope * (share * (1 - share) / SAMPLE) ** 0.5
    assert abs(measured - min(1, slope * (share - FORGIVEN))) < 4 * error


def shown_on_the_page() -> list[list[tuple[str, str]]]:
    blocks = re.findall(r"```novelty\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return [[(line[:4], line[6:]) for line in block.splitlines()] for block in blocks]


def test_the_page_shows_the_real_numbers() -> None:
    blocks = shown_on_the_page()
    assert len(blocks) >= 6
    for block in blocks:
        measured = entropies([said for _, said in block])
        assert [f"{entropy:.2f}" for entropy in measured] == [number for number, _ in block]
