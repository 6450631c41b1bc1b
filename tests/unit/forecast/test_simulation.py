"""Many runs on simulated models show how a graph behaves, and what of it is never used."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import rondel
from rondel import Graph
from rondel.cli.graph_files import open_graph
from rondel.errors import CallError
from rondel.forecast.estimate import estimate, growing_nodes
from rondel.forecast.plot import svg_of
from rondel.forecast.simulation import Simulation, simulate

EXAMPLES = Path(__file__).parents[3] / "examples"
UNLIKE = {"13_generate_test_fix", "15_breaker", "18_plugin"}
"""Examples that run code, that the breaker cuts short, or whose package is not installed here."""

YAML = sorted(f for f in EXAMPLES.glob("*/graph.yaml") if f.parent.name not in UNLIKE)

REFINE = """
graph:
  id: refine
  start: Writer
  end: Out
  loops: {Writer: {max_rounds: 6, exit_on_score: 90, on_limit: best}}
  nodes:
    - {id: Writer, type: agent, config: {role: You write.}}
    - {id: Critic, type: agent, config: {role: You review and score.}}
    - {id: Out, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Writer}
    - {from: Writer, to: Out, label: limit}
"""


def opened(text: str) -> Graph:
    return Graph.loads(text)


def runs(text: str = REFINE, count: int = 30, **options: Any) -> Simulation:
    return simulate(partial(opened, text), count, **options)


def test_the_same_seed_gives_the_same_runs_and_another_one_others() -> None:
    assert runs().runs == runs().runs
    assert runs(seed="1").runs != runs(seed="2").runs


def test_several_processes_find_what_one_finds() -> None:
    assert runs(count=12, jobs=2).runs == runs(count=12, jobs=1).runs


def test_an_agent_that_reviews_scores_although_nobody_configured_it() -> None:
    reasons = runs(count=60).reasons("Writer")
    assert set(reasons) == {"score_threshold_reached", "max_rounds_reached"}


SORT = """
graph:
  id: sort
  start: Desk
  nodes:
    - {id: Desk, type: passthrough}
    - {id: Usual, type: passthrough}
    - {id: Rare, type: passthrough}
    - {id: Never, type: passthrough}
  edges:
    - {from: Desk, to: Usual}
    - {from: Desk, to: Rare, condition: {type: keyword, config: {any: [mayday]}}}
    - {from: Desk, to: Never, condition: {type: keyword, config: {any: [mayday], none: [mayday]}}}
"""


def test_an_edge_that_no_run_takes_is_named_with_an_input_that_takes_it() -> None:
    few = runs(SORT, count=1)
    ways = {missed.edge.spec.target: missed.reached_by for missed in few.missed}
    assert ways == {"Rare": {"task": "a task mayday"}, "Never": None}
    many = runs(SORT, count=50)
    assert [missed.edge.spec.target for missed in many.missed] == ["Never"]


def test_the_breaker_locks_simulated_runs_as_it_locks_runs() -> None:
    guarded = REFINE.replace("start: Writer", "start: Writer\n  breaker: {estimated_tokens: 20}")
    assert {run.status for run in runs(guarded, 5).runs} == {"suspended_locked"}
    assert rondel.run(opened(guarded), "x").status == "suspended_locked"
    off = REFINE.replace("start: Writer", "start: Writer\n  breaker: off")
    assert "suspended_locked" not in {run.status for run in runs(off, 5).runs}


def test_people_are_simulated_too() -> None:
    file = str(EXAMPLES / "02_human_review/graph.yaml")
    found = simulate(partial(open_graph, file, provider="simulated"), 40)
    assert set(found.statuses) <= {"completed", "bounded"}
    assert len(set(found.rounds(found.heads[0]))) > 1


def test_no_run_is_no_simulation() -> None:
    with pytest.raises(CallError, match="at least one run"):
        runs(count=0)


def test_the_picture_has_a_bar_for_every_number_of_rounds() -> None:
    found = runs()
    root = ElementTree.fromstring(svg_of(found))
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    bars = {
        f"{rounds}: {found.rounds('Writer').count(rounds)}" for rounds in found.rounds("Writer")
    }
    assert bars <= set(titles)


@pytest.mark.parametrize("file", YAML, ids=lambda file: file.parent.name)
def test_the_estimate_is_within_a_tenth_of_the_ledger_of_simulated_runs(file: Path) -> None:
    opener = partial(open_graph, str(file), provider="simulated", demand_secrets=False)
    found = estimate(opener(), opener)
    count = int(found.source.split()[0])
    actual = simulate(opener, count, seed="other", as_configured=True, jobs=1).runs
    for expected, spent in (
        (found.expected.tokens, [run.tokens for run in actual]),
        (found.expected.usd, [run.usd for run in actual]),
    ):
        assert expected == pytest.approx(sum(spent) / len(spent), rel=0.1)
    for run in actual:
        calls, tokens = found.worst_case.model_calls, found.worst_case.tokens
        assert calls is None or run.calls <= calls
        assert tokens is None or run.tokens <= tokens


SCRIPT = """
graph:
  id: script
  start: Writer
  nodes:
    - id: Writer
      type: agent
      config:
        provider: scripted
        answers: [{content: draft, delay: 60}, {content: final, usage: {output_tokens: 7}}]
    - {id: Out, type: passthrough}
  edges:
    - {from: Writer, to: Writer, condition: {type: keyword, config: {none: [final]}}}
    - {from: Writer, to: Out, condition: {type: keyword, config: {any: [final]}}}
"""


def test_a_script_is_estimated_as_it_is_written_and_at_once() -> None:
    """It took a minute, and tokens were expected of a graph whose worst case had none."""
    opener = partial(opened, SCRIPT)
    found = estimate(opener(), opener)
    assert (found.expected.model_calls, found.expected.tokens) == (2, 7)


def test_a_mean_that_stays_unsure_is_taken_as_it_is() -> None:
    """600 runs of up to a hundred rounds took a minute."""
    endless = SCRIPT.replace("provider: scripted", "role: You write.").split("        answers")[0]
    text = endless + SCRIPT[SCRIPT.index("    - {id: Out") :]
    opener = partial(opened, text)
    found = estimate(opener(), opener)
    runs = int(found.source.split()[0])
    assert runs * (found.expected.model_calls or 0) < 20_000


def test_a_node_that_sends_its_history_again_and_again_is_named() -> None:
    growing = REFINE.replace(
        "{id: Writer, type: agent,", "{id: Writer, type: agent, context_window: -1,"
    )
    assert growing_nodes(Graph.loads(growing).plan()) == ["Writer"]
    assert growing_nodes(Graph.loads(REFINE).plan()) == []
    carried = growing.replace("on_limit: best", "on_limit: best, carry: last")
    assert growing_nodes(Graph.loads(carried).plan()) == []
