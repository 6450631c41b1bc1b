"""The node type `debate`: agents speak against each other in rounds, until they agree or stop."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from rondel.graph.json_in_text import objects_in
from rondel.graph.names import Names
from rondel.graph.promises import Promise
from rondel.models.model import Answer
from rondel.nodes import agent
from rondel.nodes.agent import AgentConfig
from rondel.nodes.agent_promise import calls_of
from rondel.nodes.asking import Asker
from rondel.nodes.consensus import agrees
from rondel.nodes.debate_prompts import Prompts
from rondel.nodes.panel import AgentName, Hearing, topic_of

JUDGE = "judge"
PHRASES = ["i agree", "达成共识"]
OPTION_OF = {"phrases": "keyword", "agent": JUDGE, "rounds": "stable"}
"""Which mode each option of a consensus belongs to."""

JUDGEMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"consensus": {"type": "boolean"}, "reasoning": {"type": "string"}},
    "required": ["consensus", "reasoning"],
    "additionalProperties": False,
}

Statement = dict[str, Any]
"""One turn as it is journalled and told: round, agent, content, and a verdict if one is sought."""


class ConsensusConfig(BaseModel):
    """How consensus is told: by a phrase, by a judge, or by verdicts that do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    mode: Literal["keyword", "judge", "stable"] = "keyword"
    phrases: Annotated[list[Annotated[str, Field(pattern=r"\w")]], Field(min_length=1)] = PHRASES
    agent: str | AgentConfig | None = Field(
        None, description="The judge: an agent's config, or the name of one of the agents."
    )
    rounds: Annotated[int, Field(strict=True, ge=2)] = 2

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
        """Everyone who speaks, each once."""
        return list(dict.fromkeys(first for first, _ in self.agent_pairs))

    @property
    def commands(self) -> list[str]:
        """The programs that its agents and its judge start."""
        judge = self.consensus.agent
        judges = [judge] if isinstance(judge, AgentConfig) else []
        return [command for each in (*self.agents.values(), *judges) for command in each.commands]

    def promise(self) -> Promise:
        """Every turn of every round, and a judge who may be asked twice after each."""
        asked = [(self.agents[first].promise(), self.max_rounds) for first, _ in self.agent_pairs]
        judge = self.consensus.agent
        if self.exit_condition == "consensus" and judge is not None:
            config = self.agents[judge] if isinstance(judge, str) else judge
            asked.append((config.promise(), 2 * self.max_rounds))
        keys = frozenset({"debate_history", "total_rounds", "exit_reason", "consensus"})
        return Promise(routes=False, emits=True, keys=keys, passes=False, calls=calls_of(asked))

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


class DebateProcessor:
    """Lets each pair speak in each round; every turn is journalled, so none is asked for twice.

    The node's state is how often each agent was called in the session.
    """

    def __init__(self, config: DebateConfig, agents: Mapping[str, Asker], judge: str) -> None:
        self._config = config
        self._agents = agents
        self._judge = judge
        self._mode = config.consensus.mode if config.exit_condition == "consensus" else None

    async def process(self, ctx: Context) -> Emit:
        hearing = Hearing(ctx, self._agents, dict(ctx.state or {}))
        prompts = Prompts.on(topic_of(ctx), self._config.max_rounds)
        said: list[Statement] = []
        consensus = False
        for current in range(1, self._config.max_rounds + 1):
            await self._hear_all(hearing, prompts, current, said)
            consensus = await self._agreed(hearing, prompts, current, said)
            if consensus:
                break
        return self._outcome(said, consensus, hearing.calls)

    async def _hear_all(
        self, hearing: Hearing, prompts: Prompts, round: int, said: list[Statement]
    ) -> None:
        """One full round."""
        phrases = self._config.consensus.phrases if self._mode == "keyword" else ()
        with_verdict = self._mode == "stable"
        for turn, (speaker, opponent) in enumerate(self._config.agent_pairs, 1):

            def kept(answer: Answer, speaker: str = speaker) -> Statement:
                content = Message(answer.content, answer.data).readable
                statement: Statement = {"round": round, "agent": speaker, "content": content}
                verdict = verdict_in(answer) if with_verdict else None
                return statement if verdict is None else {**statement, "verdict": verdict}

            prompt = prompts.turn(
                speaker, opponent, round, said, phrases=phrases, with_verdict=with_verdict
            )
            part = f"round {round} turn {turn}"
            statement = await hearing.ask(
                speaker, part, prompt, kept, event="debate:round", round=round
            )
            said.append(statement)

    async def _agreed(
        self, hearing: Hearing, prompts: Prompts, round: int, said: Sequence[Statement]
    ) -> bool:
        consensus = self._config.consensus
        match self._mode:
            case "keyword":
                return len(said) >= 2 and agrees(said[-1]["content"], consensus.phrases)
            case "stable":
                return is_stable(said, self._config.speakers, round, consensus.rounds)
            case "judge":
                return await self._judged(hearing, prompts, round, said)
            case _:
                return False

    async def _judged(
        self, hearing: Hearing, prompts: Prompts, round: int, said: Sequence[Statement]
    ) -> bool:
        part = f"round {round} judge"
        judgement = await hearing.ask_for(
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
        await hearing.report(
            f"{part} malformed",
            f"the judge {self._judge!r} said neither true nor false after round {round}, asked "
            "twice; it counts as no consensus",
            "malformed_judgement",
        )
        return False

    def _outcome(self, said: Sequence[Statement], consensus: bool, calls: dict[str, int]) -> Emit:
        rounds = said[-1]["round"]
        reason = "consensus_reached" if consensus else "max_rounds_reached"
        history = [{key: each[key] for key in ("agent", "content", "round")} for each in said]
        data = {
            "debate_history": history,
            "total_rounds": rounds,
            "exit_reason": reason,
            "consensus": consensus,
        }
        return Emit(
            (Message(said[-1]["content"], data),),
            calls,
            Verdict(reason, consensus if self._mode else None, own=True),
            {"exit_reason": reason, "current_round": rounds},
        )


def verdict_in(answer: Answer) -> Any:
    """The structured verdict of an answer: in its data, or in JSON inside its text; or None."""
    found = (each["verdict"] for each in _objects(answer) if each.get("verdict") is not None)
    return next(found, None)


def judgement_in(answer: Answer) -> dict[str, Any] | None:
    """Whether there is consensus, and why, as a judge's answer says; None if it does not."""
    for each in _objects(answer):
        consensus = each.get("consensus")
        if isinstance(consensus, str):
            consensus = {"true": True, "false": False}.get(consensus.strip().lower())
        if isinstance(consensus, bool):
            return {"consensus": consensus, "reasoning": str(each.get("reasoning") or "")}
    return None


def _objects(answer: Answer) -> list[dict[str, Any]]:
    """What an answer says in structure: its data first, then the JSON in its text from the end."""
    return [answer.data, *reversed(objects_in(answer.content))]


def is_stable(said: Sequence[Statement], speakers: Sequence[str], round: int, rounds: int) -> bool:
    """Whether each speaker's last verdict of a round was the same in that many rounds up to now."""
    latest = {(each["round"], each["agent"]): each.get("verdict") for each in said}
    for speaker in speakers:
        verdicts = [latest.get((at, speaker)) for at in range(round - rounds + 1, round + 1)]
        if None in verdicts or len(set(map(_canonical, verdicts))) > 1:
            return False
    return True


def _canonical(verdict: Any) -> str:
    """A verdict to compare; in text, case and white space do not matter."""
    if isinstance(verdict, str):
        return "text " + " ".join(verdict.casefold().split())
    return json.dumps(verdict, sort_keys=True)


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
    consensus = create_model(
        "ConsensusConfig",
        __base__=ConsensusConfig,
        __module__=__name__,
        agent=(judge, ConsensusConfig.model_fields["agent"]),
    )
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
