"""The node type `debate`: agents speak against each other in rounds, until they agree or stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from rondel.engine.message import Message
from rondel.engine.protocols import Context, Emit, Verdict
from rondel.engine.registry import Registry
from rondel.graph.guarantees import Guarantee
from rondel.graph.names import Names
from rondel.graph.spec import CONDITION_MET, MAX_ROUNDS, STAGNATED
from rondel.models.choice import with_types
from rondel.models.model import ModelAnswer
from rondel.nodes import agent
from rondel.nodes.agent import AgentConfig
from rondel.nodes.agent_guarantee import total_calls
from rondel.nodes.asking import Asker
from rondel.nodes.consensus import agrees
from rondel.nodes.debate_prompts import DebatePrompts
from rondel.nodes.panel import AgentName, Panel, topic_of
from rondel.nodes.verdicts import Lead, Statement, is_shared, is_stable, lead_in, verdict_in

CONSENSUS_REACHED = "consensus_reached"
JUDGE = "judge"
PHRASES = ["i agree", "达成共识"]
OPTION_OF = {
    "phrases": "keyword",
    "agent": JUDGE,
    "rounds": "stable",
    "confidence": "adaptive",
}
"""The mode that each option of a consensus belongs to."""

JUDGEMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"consensus": {"type": "boolean"}, "reasoning": {"type": "string"}},
    "required": ["consensus", "reasoning"],
    "additionalProperties": False,
}


class ConsensusConfig(BaseModel):
    """How consensus is told: by a phrase, a judge, or verdicts that do not or will not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    mode: Literal["keyword", "judge", "stable", "adaptive"] = "keyword"
    phrases: Annotated[list[Annotated[str, Field(pattern=r"\w")]], Field(min_length=1)] = PHRASES
    agent: str | AgentConfig | None = Field(
        None, description="The judge: an agent's config, or the name of one of the agents."
    )
    rounds: Annotated[int, Field(strict=True, ge=2)] = 2
    confidence: Annotated[float, Field(strict=True, gt=0.5, lt=1)] = 0.9

    @model_validator(mode="after")
    def _options_fit_the_mode(self) -> Self:
        for option in sorted(self.model_fields_set - {"mode"}):
            if OPTION_OF[option] != self.mode:
                raise ValueError(
                    f"{option!r} belongs to mode {OPTION_OF[option]}, and the mode is {self.mode}; "
                    f"drop {option!r}, or set mode: {OPTION_OF[option]}"
                )
        if self.mode == JUDGE and self.agent is None:
            raise ValueError("mode judge needs a judge; add agent: a config, or an agent's name")
        return self


class DebateConfig(BaseModel):
    """Who debates, who speaks against whom, for how many rounds, and what ends it before.

    It is used through `config_for(registry)`, which knows the providers.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    agents: dict[AgentName, AgentConfig] = Field(
        min_length=1, description="The debaters: a name, and the config of an agent."
    )
    agent_pairs: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(
        min_length=1, description="Who speaks against whom in each round: [[A, B], [B, A]]."
    )
    max_rounds: Annotated[int, Field(strict=True, ge=1)] = 3
    exit_condition: Literal["max_rounds", "consensus"] = "max_rounds"
    consensus: ConsensusConfig = ConsensusConfig()

    @property
    def speakers(self) -> list[str]:
        """Every speaker, once."""
        return list(dict.fromkeys(first for first, _ in self.agent_pairs))

    @property
    def commands(self) -> list[str]:
        """The programs that its agents and its judge start."""
        judge = self.consensus.agent
        judges = [judge] if isinstance(judge, AgentConfig) else []
        return [command for each in (*self.agents.values(), *judges) for command in each.commands]

    def guarantee(self) -> Guarantee:
        """One call for every turn, and up to two for a judge after each round."""
        asked = [(self.agents[first].guarantee(), self.max_rounds) for first, _ in self.agent_pairs]
        judge = self.consensus.agent
        if self.exit_condition == "consensus" and judge is not None:
            config = self.agents[judge] if isinstance(judge, str) else judge
            asked.append((config.guarantee(), 2 * self.max_rounds))
        keys = frozenset({"debate_history", "total_rounds", "exit_reason", "consensus"})
        if self.consensus.mode == "adaptive":
            keys |= {"verdict", "confidence", "calls_saved"}
        return Guarantee(
            routes=False, emits=True, keys=keys, passes=False, calls=total_calls(asked)
        )

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        named: list[tuple[tuple[str | int, ...], str]] = [
            (("agent_pairs", place, side), name)
            for place, pair in enumerate(self.agent_pairs)
            for side, name in enumerate(pair)
        ]
        judge = self.consensus.agent
        if isinstance(judge, str):
            named.append((("consensus", "agent"), judge))
        names = Names(self.agents, what="there are")
        wrong = [_unknown(path, name, names) for path, name in named if name not in names]
        if wrong:
            raise ValidationError.from_exception_data("DebateConfig", wrong)
        if isinstance(judge, AgentConfig) and JUDGE in self.agents:
            raise ValueError(
                f"there is an agent {JUDGE!r} already; make it the judge with "
                f"consensus.agent: {JUDGE}, or give it another name"
            )
        return self


def _unknown(path: tuple[str | int, ...], name: str, names: Names) -> InitErrorDetails:
    words = {"name": repr(name), "hint": names.hint(name)}
    error = PydanticCustomError("unknown_agent", "names {name}, which is not in 'agents'", words)
    return InitErrorDetails(type=error, loc=path, input=name)


@dataclass(frozen=True, slots=True)
class End:
    """The end of a debate: the reason, whether the goal was met (None without a goal), the lead."""

    reason: str
    goal_met: bool | None
    lead: Lead | None = None


class DebateProcessor:
    """Lets each pair speak in each round; each turn is a durable sub-step.

    The node's state is how often each agent was called in the session.
    """

    def __init__(self, config: DebateConfig, agents: Mapping[str, Asker], judge: str) -> None:
        self._config = config
        self._agents = agents
        self._judge = judge
        self._mode = config.consensus.mode if config.exit_condition == "consensus" else None

    async def process(self, ctx: Context) -> Emit:
        panel = Panel(ctx, self._agents, dict(ctx.state or {}))
        prompts = DebatePrompts.on(topic_of(ctx), self._config.max_rounds)
        said: list[Statement] = []
        end = End(MAX_ROUNDS, False if self._mode else None)
        for current in range(1, self._config.max_rounds + 1):
            await self._run_round(panel, prompts, current, said)
            reached = await self._end_after(panel, prompts, current, said)
            if reached is not None:
                end = reached
                break
        return self._outcome(said, end, panel.calls)

    async def _run_round(
        self, panel: Panel, prompts: DebatePrompts, round: int, said: list[Statement]
    ) -> None:
        """Run one full round."""
        phrases = self._config.consensus.phrases if self._mode == "keyword" else ()
        with_verdict = self._mode in ("stable", "adaptive")
        for turn, (speaker, opponent) in enumerate(self._config.agent_pairs, 1):

            def kept(answer: ModelAnswer, speaker: str = speaker) -> Statement:
                content = Message(answer.content, answer.data).readable
                statement: Statement = {"round": round, "agent": speaker, "content": content}
                verdict = verdict_in(answer) if with_verdict else None
                return statement if verdict is None else {**statement, "verdict": verdict}

            prompt = prompts.turn(
                speaker, opponent, round, said, phrases=phrases, with_verdict=with_verdict
            )
            part = f"round {round} turn {turn}"
            statement = await panel.ask(
                speaker, part, prompt, kept, event="debate:round", round=round
            )
            said.append(statement)

    async def _end_after(
        self, panel: Panel, prompts: DebatePrompts, round: int, said: Sequence[Statement]
    ) -> End | None:
        """Why the debate ends with this round; None if it goes on."""
        consensus, agreed = self._config.consensus, False
        match self._mode:
            case "keyword":
                agreed = len(said) >= 2 and agrees(said[-1]["content"], consensus.phrases)
            case "judge":
                agreed = await self._judged(panel, prompts, round, said)
            case "stable":
                return self._settled(round, said)
            case "adaptive":
                return self._led(round, said)
        return End(CONSENSUS_REACHED, True) if agreed else None

    def _settled(self, round: int, said: Sequence[Statement]) -> End | None:
        speakers = self._config.speakers
        if not is_stable(said, speakers, round, self._config.consensus.rounds):
            return None
        if is_shared(said, speakers, round):
            return End(CONSENSUS_REACHED, True)
        return End(STAGNATED, False)

    def _led(self, round: int, said: Sequence[Statement]) -> End | None:
        lead = lead_in(said, self._config.speakers, round)
        if lead is None or lead.confidence < self._config.consensus.confidence:
            return None
        return End(CONSENSUS_REACHED if lead.shared else CONDITION_MET, True, lead)

    async def _judged(
        self, panel: Panel, prompts: DebatePrompts, round: int, said: Sequence[Statement]
    ) -> bool:
        part = f"round {round} judge"
        judgement = await panel.ask_for(
            self._judge,
            part,
            prompts.judge(round, said),
            judgement_in,
            correction=prompts.words.correction,
            schema=JUDGEMENT_SCHEMA,
            round=round,
        )
        if judgement is not None:
            return bool(judgement["consensus"])
        await panel.report(
            f"{part} malformed",
            f"the judge {self._judge!r} said neither true nor false after round {round}, asked "
            "twice; it counts as no consensus",
            "malformed_judgement",
        )
        return False

    def _outcome(self, said: Sequence[Statement], end: End, calls: dict[str, int]) -> Emit:
        rounds = said[-1]["round"]
        history = [{key: each[key] for key in ("agent", "content", "round")} for each in said]
        data = {
            "debate_history": history,
            "total_rounds": rounds,
            "exit_reason": end.reason,
            "consensus": end.reason == CONSENSUS_REACHED,
        }
        report = {"exit_reason": end.reason, "current_round": rounds}
        if end.lead is not None:
            saved = (self._config.max_rounds - rounds) * len(self._config.agent_pairs)
            data |= {"verdict": end.lead.verdict, "confidence": end.lead.confidence}
            data["calls_saved"] = report["calls_saved"] = saved
        verdict = Verdict(end.reason, end.goal_met, own=True)
        return Emit((Message(said[-1]["content"], data),), calls, verdict, report)


def judgement_in(answer: ModelAnswer) -> dict[str, Any] | None:
    """The verdict of a judge's answer and its reason; None if the answer holds none."""
    for each in answer.objects:
        consensus = each.get("consensus")
        if isinstance(consensus, str):
            consensus = {"true": True, "false": False}.get(consensus.strip().lower())
        if isinstance(consensus, bool):
            return {"consensus": consensus, "reasoning": str(each.get("reasoning") or "")}
    return None


def _build(config: DebateConfig, registry: Registry) -> DebateProcessor:
    agents = {name: agent.asker_of(each, registry) for name, each in config.agents.items()}
    judge = config.consensus.agent
    if isinstance(judge, AgentConfig):
        agents[JUDGE] = agent.asker_of(judge, registry)
    return DebateProcessor(config, agents, judge if isinstance(judge, str) else JUDGE)


def config_for(registry: Registry) -> type[DebateConfig]:
    """The debate's config with agents as `registry` knows them."""
    bound = agent.config_for(registry, agent.MemberConfig)
    judge = Annotated[
        Annotated[str, Tag("named")] | Annotated[bound, Tag("configured")],  # type: ignore[valid-type]
        Discriminator(lambda value: "named" if isinstance(value, str) else "configured"),
    ]
    consensus = with_types(ConsensusConfig, agent=judge)
    return create_model(
        "DebateConfig",
        __base__=DebateConfig,
        __module__=__name__,
        agents=(dict[AgentName, bound], DebateConfig.model_fields["agents"]),  # type: ignore[valid-type]
        consensus=(consensus, consensus()),
    )


def register(registry: Registry) -> None:
    """Add `debate`."""
    registry.node("debate", config_for(registry), _build)
