"""The node type `vote`: agents are asked side by side or in turn, and the ballots decide."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Exit
from rondel.engine.registry import Registry
from rondel.graph.guarantees import Guarantee
from rondel.graph.values import number
from rondel.models.choice import with_types
from rondel.models.model import ModelAnswer
from rondel.nodes import agent
from rondel.nodes.agent import AgentConfig
from rondel.nodes.agent_guarantee import total_calls
from rondel.nodes.asking import Asker
from rondel.nodes.conversation import all_done
from rondel.nodes.deciding import two_ways
from rondel.nodes.panel import AgentName, Panel, topic_of
from rondel.nodes.tally import Ballot, Tally
from rondel.nodes.vote_prompts import VotePrompts, VoteType

YES_FROM = 6
"""The lowest score that stands for yes where a ballot has a score and no decision."""

_SUFFIX = re.compile(r"( again| malformed| failed \d+)+$")
"""The suffix of a ballot's name in the journal."""

BALLOT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "enum": ["yes", "no", "abstain"]},
        "score": {"type": ["number", "null"]},
        "reasoning": {"type": "string"},
    },
    "required": ["decision", "score", "reasoning"],
    "additionalProperties": False,
}


class VoteConfig(BaseModel):
    """Who votes, how many of those who do not abstain must say yes, and what a ballot holds.

    It is used through `config_for(registry)`, which knows the providers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    agents: dict[AgentName, AgentConfig] = Field(
        min_length=1, description="The voters: a name, and the config of an agent."
    )
    threshold: Annotated[float, Field(strict=True, ge=0.5, le=1)] = 0.5
    vote_type: VoteType = "yes_no"
    quorum: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        0.5, description="The share of the agents that must not abstain."
    )
    ask: Literal["together", "in_turn"] = Field(
        "together", description="in_turn: one by one, until the outcome cannot change."
    )
    confidence: Annotated[float, Field(strict=True, gt=0.5, lt=1)] | None = Field(
        None, description="With ask: in_turn, how probable an outcome must be to ask nobody else."
    )

    @property
    def commands(self) -> list[str]:
        """The programs that its agents start."""
        return [command for voter in self.agents.values() for command in voter.commands]

    def guarantee(self) -> Guarantee:
        """Every agent is asked, twice if its ballot cannot be read; the outcome picks the edges."""
        return Guarantee(
            alternatives=ways,
            emits=True,
            keys=frozenset({"passed", "approved", "votes", "summary", "ratio", *self._more_keys}),
            passes=False,
            free_text=False,
            authored=False,
            calls=total_calls((voter.guarantee(), 2) for voter in self.agents.values()),
        )

    @property
    def _more_keys(self) -> tuple[str, ...]:
        return ("calls_saved",) if self.ask == "in_turn" else ()

    @model_validator(mode="after")
    def _is_confident_in_turn(self) -> Self:
        if self.confidence is not None and self.ask != "in_turn":
            raise ValueError("'confidence' belongs to ask: in_turn; drop it, or ask in turn")
        return self

    @model_validator(mode="after")
    def _ballots_can_be_told_apart(self) -> Self:
        for name in self.agents:
            base = _SUFFIX.sub("", name)
            if base != name and base in self.agents:
                raise ValueError(
                    f"the agents {base!r} and {name!r} are too alike: their ballots would be "
                    "journalled under the same name; give one of them another name"
                )
        return self


def ways(edges: Sequence[Exit]) -> tuple[Sequence[Exit], Sequence[Exit]]:
    """The edges of a vote that passed, and those of one that did not; of fewer than two, all."""
    return two_ways(edges, "pass", "reject")


class VoteProcessor:
    """Asks the agents, counts the ballots, and picks the edges.

    The node's state is how often each agent was called in the session.
    """

    def __init__(self, config: VoteConfig, agents: Mapping[str, Asker]) -> None:
        self._config = config
        self._agents = agents

    async def process(self, ctx: Context) -> Emit:
        prompts = VotePrompts.on(topic_of(ctx), self._config.vote_type)
        calls = dict.fromkeys(self._agents, 0) | dict(ctx.state or {})
        if self._config.ask == "in_turn":
            ballots = await self._in_turn(Panel(ctx, self._agents, calls), prompts)
        else:
            ballots = await self._together(ctx, prompts, calls)
        return self._outcome(self._tally(ballots), prompts, calls)

    async def _together(
        self, ctx: Context, prompts: VotePrompts, calls: dict[str, int]
    ) -> list[Ballot]:
        panels = {name: Panel(ctx, self._agents, {name: calls[name]}) for name in self._agents}
        ballots = await all_done(
            self._ballot(panel, name, prompts) for name, panel in panels.items()
        )
        calls |= {name: panel.calls[name] for name, panel in panels.items()}
        return ballots

    async def _in_turn(self, panel: Panel, prompts: VotePrompts) -> list[Ballot]:
        """The ballots up to the one that makes the outcome certain, or probable enough."""
        ballots: list[Ballot] = []
        for name in self._agents:
            ballots.append(await self._ballot(panel, name, prompts))
            if self._tally(ballots).foreseen is not None:
                break
        return ballots

    def _tally(self, ballots: Sequence[Ballot]) -> Tally:
        config = self._config
        return Tally(ballots, len(self._agents), config.threshold, config.quorum, config.confidence)

    def route(self, output: Emit, edges: Sequence[Exit]) -> Sequence[Exit]:
        onward, back = ways(edges)
        return onward if output.messages[-1].data["passed"] else back

    async def _ballot(self, panel: Panel, name: str, prompts: VotePrompts) -> Ballot:
        part = f"ballot {name}"
        ballot = await panel.ask_for(
            name,
            part,
            prompts.ballot(name),
            lambda answer: ballot_in(answer, name, self._config.vote_type),
            correction=prompts.words.correction,
            schema=BALLOT_SCHEMA,
            round=panel.ctx.round,
        )
        if ballot is not None:
            return ballot
        error = f"the agent {name!r} gave no readable ballot, asked twice; it counts as abstain"
        await panel.report(f"{part} malformed", error, "malformed_ballot")
        return {**_ballot(name, "abstain", None, ""), "malformed": True}

    def _outcome(self, tally: Tally, prompts: VotePrompts, state: dict[str, int]) -> Emit:
        passed, ratio = bool(tally.foreseen), tally.ratio
        summary = prompts.summary(tally, passed=passed)
        data = {
            "passed": passed,
            "approved": passed,
            "votes": list(tally.ballots),
            "summary": summary,
            "ratio": ratio,
        }
        report = {"passed": passed, "ratio": ratio}
        if self._config.ask == "in_turn":
            data["calls_saved"] = report["calls_saved"] = tally.left
        return Emit((Message(summary, data),), state, report=report)


def ballot_in(answer: ModelAnswer, name: str, vote_type: VoteType) -> Ballot | None:
    """The ballot that an answer holds, in its data or in JSON inside its text; None if none."""
    keys = {"decision"} if vote_type == "yes_no" else {"decision", "score"}
    for each in answer.objects:
        if not keys.isdisjoint(each):
            return _read(each, name, vote_type)
    return None


def _read(given: Mapping[str, Any], name: str, vote_type: VoteType) -> Ballot | None:
    decision = _decision(given.get("decision"))
    score = _score(given.get("score"))
    if vote_type == "score_1_10" and decision != "abstain":
        if score is None:
            return None
        if given.get("decision") is None:
            decision = "yes" if score >= YES_FROM else "no"
    if decision is None:
        return None
    return _ballot(name, decision, score, str(given.get("reasoning") or ""))


def _ballot(name: str, decision: str, score: float | None, reasoning: str) -> Ballot:
    return {"agent": name, "decision": decision, "score": score, "reasoning": reasoning}


def _decision(given: Any) -> Literal["yes", "no", "abstain"] | None:
    """A decision, whatever its case; YAML and JSON also write yes and no as true and false."""
    if isinstance(given, bool):
        return "yes" if given else "no"
    match given.strip().lower() if isinstance(given, str) else None:
        case "yes" | "no" | "abstain" as decision:
            return decision
    return None


def _score(given: Any) -> float | None:
    """A score from 1 to 10, also one written as text; a whole one as a whole number."""
    score = number(given)
    if score is None or not 1 <= score <= 10:
        return None
    return int(score) if score.is_integer() else score


def _build(config: VoteConfig, registry: Registry) -> VoteProcessor:
    agents = {name: agent.asker_of(each, registry) for name, each in config.agents.items()}
    return VoteProcessor(config, agents)


def config_for(registry: Registry) -> type[VoteConfig]:
    """The vote's config with agents as `registry` knows them."""
    bound = agent.config_for(registry, agent.MemberConfig)
    return with_types(VoteConfig, agents=dict[AgentName, bound])  # type: ignore[valid-type]


def register(registry: Registry) -> None:
    """Add `vote`."""
    registry.node("vote", config_for(registry), _build)
