"""A debate hears every pair in every round, keeps what was said, and ends for one reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondel import Engine, Graph
from rondel.engine.protocols import Emit, Verdict
from rondel.errors import ModelError
from rondel.models.model import ModelAnswer
from rondel.nodes.debate import judgement_in
from rondel.nodes.tally import chance_to_pass
from rondel.nodes.verdicts import is_stable, stays_ahead, verdict_in
from tests.unit.nodes.durable import DurableContext, durable, run_node, scripted, with_echo
from tests.unit.nodes.running import built, emitted, problems, step

PAIRS = [["A", "B"], ["B", "A"]]


def config(a: dict[str, Any], b: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"agents": {"A": a, "B": b}, "agent_pairs": PAIRS, **more}


def outcome(ctx: DurableContext, **config: Any) -> Emit:
    result = step(built("debate", **config), ctx)
    assert isinstance(result, Emit)
    return result


# Rounds


@settings(deadline=None, max_examples=30)
@given(rounds=st.integers(1, 5), pairs=st.lists(st.sampled_from(PAIRS), min_size=1, max_size=4))
def test_each_pair_speaks_once_a_round_and_all_is_kept_in_order(
    rounds: int, pairs: list[list[str]]
) -> None:
    agents = {name: scripted(*(f"{name}{n}" for n in range(20))) for name in "AB"}
    ctx = durable("topic")
    out = outcome(ctx, agents=agents, agent_pairs=pairs, max_rounds=rounds)
    (message,) = out.messages
    calls = {"A": 0, "B": 0}
    expected = []
    for round_ in range(1, rounds + 1):
        for speaker, _ in pairs:
            content = f"{speaker}{calls[speaker]}"
            calls[speaker] += 1
            expected.append({"agent": speaker, "content": content, "round": round_})
    assert message.data["debate_history"] == expected
    assert message.data["total_rounds"] == rounds
    assert message.data["exit_reason"] == "max_rounds_reached"
    assert message.data["consensus"] is False
    assert message.text == expected[-1]["content"]
    assert out.state == {name: count for name, count in calls.items() if count}
    assert ctx.events == [("debate:round", each) for each in expected]


def test_without_a_goal_the_end_is_no_failure_and_agreement_does_not_end_it() -> None:
    out = outcome(durable("t"), **config(scripted("x"), scripted("I agree"), max_rounds=2))
    assert out.verdict == Verdict("max_rounds_reached", None, own=True)
    assert out.report == {"exit_reason": "max_rounds_reached", "current_round": 2}


def test_a_speaker_sees_the_topic_the_round_and_the_whole_history() -> None:
    processor, echo = with_echo("debate", config({"provider": "echo"}, {"provider": "echo"}))
    step(processor, durable("Tabs or spaces?"))
    first, *_, last = [request.messages[0].text for request in echo.requests]
    assert first.startswith("Tabs or spaces?")
    assert "You are A" in first
    assert "against B" in first
    assert "round 1 of 3" in first
    assert "Nobody has spoken yet" in first
    assert "You are B" in last
    assert "round 3 of 3" in last
    places = [last.index(f"Node/{name} says {n}") for n in range(2) for name in "AB"]
    assert sorted(places) == places
    assert "Node/A says 2" in last


def test_a_chinese_topic_is_debated_in_chinese() -> None:
    processor, echo = with_echo("debate", config({"provider": "echo"}, {"provider": "echo"}))
    step(processor, durable("应该用制表符还是空格？"))
    assert "第1轮" in echo.requests[0].messages[0].text
    assert "轮到你发言" in echo.requests[-1].messages[0].text


def test_every_call_has_its_own_name_key_role_and_round() -> None:
    agent = {"provider": "echo", "role": "You argue."}
    processor, echo = with_echo("debate", config(agent, {"provider": "echo"}, max_rounds=2))
    step(processor, durable("t", idempotency_key="key", round=7))
    first, last = echo.requests[0], echo.requests[-1]
    assert (first.node_id, first.idempotency_key) == ("Node/A", "key:round 1 turn 1")
    assert (first.system, first.index, first.round) == ("You argue.", 0, 1)
    assert (last.node_id, last.idempotency_key) == ("Node/B", "key:round 2 turn 2")
    assert (last.index, last.round) == (1, 2)


def test_tokens_are_streamed_by_name_and_each_call_is_reserved_and_charged() -> None:
    usage = {"input_tokens": 10, "output_tokens": 2}
    agent = scripted({"content": "hello", "usage": usage}, params={"max_tokens": 50})
    ctx = durable("t")
    outcome(ctx, **config(agent, scripted("x"), max_rounds=1))
    assert ctx.emitted[0] == ("token_stream", {"chunk": "hello", "agent": "A"})
    assert [(u.input_tokens, u.output_tokens) for u in ctx.charged] == [(10, 2), (0, 0)]
    assert [(u.input_tokens, u.output_tokens) for u in ctx.reserved] == [(10, 2), (0, 0)]


def test_an_answer_of_data_alone_is_said_as_json() -> None:
    out = outcome(durable("t"), **config(scripted({"data": {"a": 1}}), scripted("x"), max_rounds=1))
    assert out.messages[0].data["debate_history"][0]["content"] == '{"a":1}'


# Consensus


def test_a_phrase_in_the_last_word_of_a_round_ends_it() -> None:
    agents = config(scripted("no", "one", "two"), scripted("no", "I agree.", "never"))
    out = outcome(durable("t"), **agents, exit_condition="consensus")
    data = out.messages[0].data
    assert (data["total_rounds"], data["exit_reason"]) == (2, "consensus_reached")
    assert data["consensus"] is True
    assert len(data["debate_history"]) == 4
    assert out.verdict == Verdict("consensus_reached", True, own=True)
    assert out.report == {"exit_reason": "consensus_reached", "current_round": 2}


@pytest.mark.parametrize("said", ["I don't agree", "未达成共识", "I agree? No.", "maybe"])
def test_without_the_phrase_or_with_a_negated_one_the_goal_is_missed(said: str) -> None:
    out = outcome(
        durable("t"), **config(scripted("I agree"), scripted(said)), exit_condition="consensus"
    )
    assert out.messages[0].data["total_rounds"] == 3
    assert out.verdict == Verdict("max_rounds_reached", False, own=True)


def test_agreement_in_the_last_round_is_consensus() -> None:
    agents = config(scripted("x"), scripted("达成共识"), max_rounds=1)
    out = outcome(durable("t"), **agents, exit_condition="consensus")
    assert out.messages[0].data["exit_reason"] == "consensus_reached"


def test_one_message_alone_is_no_consensus() -> None:
    agents = {"A": scripted("I agree"), "B": scripted("x")}
    out = outcome(durable("t"), agents=agents, agent_pairs=[["A", "B"]], exit_condition="consensus")
    assert out.messages[0].data["total_rounds"] == 2


def test_own_phrases_count_and_are_told_to_the_speakers() -> None:
    rules = {"phrases": ["deal"]}
    agents = config(scripted("x"), scripted("Deal!"), max_rounds=2)
    out = outcome(durable("t"), **agents, exit_condition="consensus", consensus=rules)
    assert out.messages[0].data["total_rounds"] == 1
    echo_config = config({"provider": "echo"}, {"provider": "echo"})
    echo_config |= {"exit_condition": "consensus", "consensus": rules}
    processor, echo = with_echo("debate", echo_config)
    step(processor, durable("t"))
    assert '"deal"' in echo.requests[0].messages[0].text


def judged(*answers: Any, **more: Any) -> tuple[Emit, DurableContext]:
    ctx = durable("t")
    consensus = {"mode": "judge", "agent": scripted(*answers)}
    agents = config(scripted("I agree"), scripted("I agree"))
    return outcome(ctx, **agents, exit_condition="consensus", consensus=consensus, **more), ctx


def test_a_judge_decides_after_each_round() -> None:
    no = '{"consensus": false, "reasoning": "not yet"}'
    yes = 'So:\n```json\n{"consensus": true, "reasoning": "they do"}\n```'
    out, ctx = judged(no, yes)
    assert out.messages[0].data["total_rounds"] == 2
    assert out.messages[0].data["consensus"] is True
    assert ctx.parts["round 2 judge"]["read"] == {"consensus": True, "reasoning": "they do"}
    assert out.state == {"A": 2, "B": 2, "judge": 2}


def test_a_judge_who_cannot_be_read_is_asked_again() -> None:
    out, ctx = judged("hm", {"data": {"consensus": True}})
    assert out.messages[0].data["total_rounds"] == 1
    assert list(ctx.parts)[-1] == "round 1 judge again"


def test_a_judge_who_cannot_be_read_twice_counts_as_no_and_is_reported() -> None:
    out, ctx = judged("hm", max_rounds=2)
    assert out.verdict == Verdict("max_rounds_reached", False, own=True)
    errors = [value for event, value in ctx.events if event == "error"]
    assert [error["kind"] for error in errors] == ["malformed_judgement"] * 2
    assert "'judge'" in errors[0]["error"]


def test_a_judge_may_be_one_of_the_agents_and_sees_the_history() -> None:
    given_config = {
        "agents": {"A": scripted("alpha"), "B": scripted("beta"), "C": {"provider": "echo"}},
        "agent_pairs": PAIRS,
        "max_rounds": 1,
        "exit_condition": "consensus",
        "consensus": {"mode": "judge", "agent": "C"},
    }
    processor, echo = with_echo("debate", given_config)
    step(processor, durable("topic"))
    first, again = echo.requests
    assert first.node_id == "Node/C"
    for word in ("topic", "alpha", "beta", "consensus"):
        assert word in first.messages[0].text
    assert [message.role for message in again.messages] == ["user", "assistant", "user"]
    assert again.messages[1].text == "Node/C says 0"
    assert again.index == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (ModelAnswer('{"consensus": true}'), True),
        (ModelAnswer('{"consensus": "False"}'), False),
        (ModelAnswer('{"consensus": true} no: {"consensus": false}'), False),
        (ModelAnswer('{"consensus": true}', {"consensus": False}), False),
        (ModelAnswer('{"consensus": 1}'), None),
        (ModelAnswer("true"), None),
    ],
)
def test_a_judgement_is_read_from_data_or_text(answer: ModelAnswer, says: bool | None) -> None:
    judgement = judgement_in(answer)
    assert (judgement and judgement["consensus"]) == says


def verdict(text: str) -> dict[str, Any]:
    return {"content": "so", "data": {"verdict": text}}


def test_the_same_verdict_of_all_that_does_not_change_is_consensus() -> None:
    a = scripted(verdict("yes"), verdict("no"), verdict("No "), verdict("maybe"))
    b = scripted('I stay. {"verdict": "no"}')
    ctx = durable("t")
    out = outcome(
        ctx,
        **config(a, b, max_rounds=5),
        exit_condition="consensus",
        consensus={"mode": "stable"},
    )
    assert out.messages[0].data["total_rounds"] == 3
    assert out.messages[0].data["debate_history"][0] == {"agent": "A", "content": "so", "round": 1}
    assert out.verdict == Verdict("consensus_reached", True, own=True)
    assert ctx.parts["round 3 turn 1"]["verdict"] == "No "


def test_different_verdicts_that_do_not_change_are_a_standstill_and_not_the_goal() -> None:
    agents = config(scripted(verdict("yes")), scripted(verdict("no")), max_rounds=5)
    stable = {"exit_condition": "consensus", "consensus": {"mode": "stable", "rounds": 3}}
    out = outcome(durable("t"), **agents, **stable)
    assert out.verdict == Verdict("stagnated", False, own=True)
    data = out.messages[0].data
    assert (data["total_rounds"], data["consensus"], data["exit_reason"]) == (3, False, "stagnated")
    assert run_node("debate", {**agents, **stable}).status == "bounded"


# A lead that will last

ADAPTIVE = {"exit_condition": "consensus", "consensus": {"mode": "adaptive"}}


def test_a_lead_that_will_probably_last_ends_it_and_says_what_was_saved() -> None:
    agents = config(scripted(verdict("yes")), scripted(verdict("Yes ")), max_rounds=6)
    out = outcome(durable("t"), **agents, **ADAPTIVE)
    assert out.verdict == Verdict("consensus_reached", True, own=True)
    data = out.messages[0].data
    assert (data["total_rounds"], data["calls_saved"], data["verdict"]) == (2, 8, "Yes ")
    assert data["confidence"] == stays_ahead(4, 0) == 31 / 32
    assert out.report == {"exit_reason": "consensus_reached", "current_round": 2, "calls_saved": 8}


def test_a_majority_is_a_lead_and_no_consensus() -> None:
    speakers = {
        name: scripted(verdict("no" if name == "E" else "yes"))
        for name in ("A", "B", "C", "D", "E")
    }
    pairs = [["A", "B"], ["B", "A"], ["C", "A"], ["D", "A"], ["E", "A"]]
    out = outcome(durable("t"), agents=speakers, agent_pairs=pairs, max_rounds=5, **ADAPTIVE)
    assert out.verdict == Verdict("condition_met", True, own=True)
    data = out.messages[0].data
    assert (data["verdict"], data["consensus"], data["total_rounds"]) == ("yes", False, 2)


@pytest.mark.parametrize("other", [verdict("no"), "no verdict at all"])
def test_without_a_lead_it_goes_on_to_its_last_round(other: Any) -> None:
    agents = config(scripted(verdict("yes")), scripted(other), max_rounds=4)
    out = outcome(durable("t"), **agents, **ADAPTIVE)
    assert out.verdict == Verdict("max_rounds_reached", False, own=True)
    assert "calls_saved" not in out.messages[0].data


@given(ahead=st.integers(0, 30), behind=st.integers(0, 30))
def test_the_posterior_is_that_of_a_beta_above_one_half(ahead: int, behind: int) -> None:
    assert stays_ahead(ahead, behind) + stays_ahead(behind, ahead) == pytest.approx(1)
    assert stays_ahead(ahead + 1, behind) > stays_ahead(ahead, behind)
    assert stays_ahead(ahead, 0) == pytest.approx(1 - 0.5 ** (ahead + 1))


@given(yes=st.integers(0, 9), no=st.integers(0, 9), left=st.integers(0, 9))
def test_guesses_of_how_the_rest_will_vote_add_up(yes: int, no: int, left: int) -> None:
    assert chance_to_pass(yes, no, left, lambda *_: True) == pytest.approx(1)
    exactly = [
        chance_to_pass(yes, no, left, lambda more, _, k=k: more == yes + k)  # type: ignore[misc]
        for k in range(left + 1)
    ]
    expected = sum(k * each for k, each in enumerate(exactly))
    assert expected == pytest.approx(left * (yes + 1) / (yes + no + 2))


def test_a_missing_verdict_is_never_stable() -> None:
    out = outcome(
        durable("t"),
        **config(scripted(verdict("yes")), scripted("the same each time"), max_rounds=4),
        exit_condition="consensus",
        consensus={"mode": "stable", "rounds": 2},
    )
    assert out.verdict == Verdict("max_rounds_reached", False, own=True)


@settings(deadline=None, max_examples=30)
@given(
    verdicts=st.lists(
        st.tuples(*[st.sampled_from([None, "x", "y", 1, True])] * 2), min_size=1, max_size=6
    ),
    rounds=st.integers(2, 4),
)
def test_stable_is_the_same_verdict_of_everyone_in_the_last_rounds(
    verdicts: list[tuple[Any, Any]], rounds: int
) -> None:
    said = [
        {"round": number, "agent": agent, "content": ""}
        | ({} if value is None else {"verdict": value})
        for number, values in enumerate(verdicts, 1)
        for agent, value in zip("AB", values, strict=True)
    ]
    newest = verdicts[-rounds:]
    columns = [[repr(values[side]) for values in newest] for side in (0, 1)]
    stable = len(newest) == rounds and all(
        len(set(column)) == 1 and column[0] != "None" for column in columns
    )
    assert is_stable(said, ["A", "B"], len(verdicts), rounds) == stable


def test_a_verdict_is_read_from_data_before_text() -> None:
    assert verdict_in(ModelAnswer('{"verdict": "a"}', {"verdict": "b"})) == "b"
    assert verdict_in(ModelAnswer('{"verdict": "a"} then {"verdict": {"c": 1}}')) == {"c": 1}
    assert verdict_in(ModelAnswer("none")) is None


# Retries and crashes


@settings(deadline=None, max_examples=30)
@given(done=st.integers(0, 6))
def test_what_was_said_before_a_crash_is_not_asked_again(done: int) -> None:
    given_config = config({"provider": "echo"}, {"provider": "echo"})
    whole, echo = with_echo("debate", given_config)
    ctx = durable("t")
    expected = step(whole, ctx)
    kept = dict(list(ctx.parts.items())[:done])
    resumed, again = with_echo("debate", given_config)
    assert step(resumed, durable("t", parts=kept)) == expected
    assert [r.messages for r in again.requests] == [r.messages for r in echo.requests[done:]]


def test_a_retry_goes_on_where_it_failed_and_the_script_does_too() -> None:
    a = scripted("A1", {"error": "busy"}, {"error": "busy"}, "A2", "A3")
    processor = built("debate", **config(a, scripted("B1", "B2", "B3")))
    ctx = durable("t")
    for attempt in (1, 2):
        ctx.attempt = attempt
        with pytest.raises(ModelError):
            step(processor, ctx)
    ctx.attempt = 3
    said = [each["content"] for each in emitted(processor, ctx).data["debate_history"]]
    assert said == ["A1", "B1", "A2", "B2", "A3", "B3"]
    assert [event for event, _ in ctx.events] == ["debate:round"] * 6


def test_the_scripts_go_on_over_the_nodes_executions() -> None:
    agents = config(scripted("a", "b", "c"), scripted("x"), max_rounds=1)
    first = outcome(durable("t"), **agents)
    second = outcome(durable("t", state=first.state), **agents)
    assert second.messages[0].data["debate_history"][0]["content"] == "b"


async def test_a_session_retries_and_ends_with_every_turn_told_once() -> None:
    a = scripted("A1", {"error": "busy"}, "A2")
    node = {
        "id": "Node",
        "type": "debate",
        "config": config(a, scripted("B1", "I agree"), exit_condition="consensus"),
        "retry": {"max_attempts": 2, "min_wait": 0, "max_wait": 0},
    }
    graph = Graph.loads(json.dumps({"graph": {"id": "one", "nodes": [node]}}))
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "topic")
        events = [event async for event in session.events()]
        result = await session.result()
    assert (result.status, result.output) == ("completed", "I agree")
    rounds = [event.data for event in events if event.event == "debate:round"]
    assert [each["content"] for each in rounds] == ["A1", "B1", "A2", "I agree"]
    assert rounds[0] == {"round": 1, "agent": "A", "content": "A1"}
    assert result.usage.model_calls == 4


def test_a_session_whose_debate_misses_consensus_is_bounded() -> None:
    agents = config(scripted("x"), scripted("no"))
    assert run_node("debate", {**agents, "exit_condition": "consensus"}).status == "bounded"
    assert run_node("debate", agents).status == "completed"


def test_usage_is_counted_for_every_turn() -> None:
    agent = scripted({"content": "x", "usage": {"input_tokens": 3, "output_tokens": 1}})
    result = run_node("debate", config(agent, agent, max_rounds=2))
    assert (result.usage.model_calls, result.usage.tokens) == (4, 16)


# Configs


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"agent_pairs": [["A", "Bb"]]}, "agent_pairs.0.1: names 'Bb', which is not in 'agents'"),
        ({"agent_pairs": []}, "agent_pairs: "),
        ({"agent_pairs": [["A"]]}, "agent_pairs.0: "),
        ({"agents": {}}, "agents: "),
        ({"agents": {"A": {"provider": "scriptd"}}}, "agents.A.provider: there is no provider"),
        ({"max_rounds": 0}, "max_rounds: "),
        ({"exit_condition": "agreement"}, "exit_condition: "),
        ({"consensus": {"mode": "judge"}}, "consensus: mode judge needs a judge"),
        ({"consensus": {"mode": "judge", "agent": "C"}}, "consensus.agent: names 'C'"),
        ({"consensus": {"mode": "stable", "phrases": ["x"]}}, "consensus: 'phrases' belongs to"),
        ({"consensus": {"rounds": 3}}, "consensus: 'rounds' belongs to mode stable"),
        ({"consensus": {"mode": "stable", "rounds": 1}}, "consensus.rounds: "),
        ({"consensus": {"phrases": []}}, "consensus.phrases: "),
        ({"consensus": {"phrases": ["  "]}}, "consensus.phrases.0: "),
        (
            {
                "agents": {"A": {}, "B": {}, "judge": {}},
                "consensus": {"mode": "judge", "agent": {}},
            },
            ": there is an agent 'judge' already",
        ),
    ],
)
def test_a_wrong_config_is_refused_with_its_place(change: dict[str, Any], says: str) -> None:
    assert problems("debate", {**config({}, {}), **change})[0].startswith(says)
