"""The named agents inside one node; each call is a durable sub-step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field

from rondel.engine.message import Message
from rondel.engine.protocols import Context
from rondel.models.model import ModelAnswer, Request
from rondel.nodes.asking import Asker, with_attachments

AgentName = Annotated[str, Field(min_length=1, pattern=r"\S")]


def topic_of(ctx: Context) -> str:
    """The topic for the node's agents: the new text, or else all that the node sees."""
    return ctx.text.strip() or "\n\n".join(
        message.readable for message in ctx.messages if not message.empty
    )


@dataclass(slots=True)
class Panel:
    """Calls that one step makes of a node's agents, one after the other.

    An answer that the journal has is not asked for again. An agent's calls are counted over the
    session, failed ones too, so that a script goes on where it was after a retry and a crash.
    """

    ctx: Context
    agents: Mapping[str, Asker]
    calls: dict[str, int] = field(default_factory=dict)
    _retried: bool = field(init=False)

    def __post_init__(self) -> None:
        self._retried = self.ctx.attempt > 1

    async def ask(
        self,
        agent: str,
        part: str,
        prompt: str,
        kept: Callable[[ModelAnswer], Any],
        *,
        event: str = "",
        round: int = 1,
        schema: dict[str, Any] | None = None,
        after: Sequence[Message] = (),
    ) -> Any:
        """The agent's answer to the prompt after `kept` was applied, journalled under `part`.

        `after` is what was said before the prompt, if anything.
        """
        index = self.calls.get(agent, 0) + await self._failed(part)
        self.calls[agent] = index + 1
        asked = Message(prompt, role="user", source=self.ctx.node_id)
        messages = [*after, with_attachments(asked, self.ctx.messages)]
        request = self._request(agent, part, messages, index)
        request = replace(request, round=round, schema=schema)

        async def call() -> Any:
            asker = self.agents[agent]
            heard = await asker.answer(self.ctx, request, agent)
            self.calls[agent] += heard.silences
            return kept(heard.answer)

        return await self.ctx.substep(part, call, event)

    async def ask_for(
        self,
        agent: str,
        part: str,
        prompt: str,
        reading: Callable[[ModelAnswer], dict[str, Any] | None],
        *,
        correction: str,
        schema: dict[str, Any],
        round: int,
    ) -> dict[str, Any] | None:
        """The object that `reading` finds in the answer; an unreadable one is asked for once more.

        None if the second answer cannot be read either.
        """

        def kept(answer: ModelAnswer) -> dict[str, Any]:
            found = reading(answer)
            said = Message(answer.content, answer.data).readable
            return {"unreadable": said} if found is None else {"read": found}

        first = await self.ask(agent, part, prompt, kept, round=round, schema=schema)
        if "read" in first:
            return dict(first["read"])
        after = (Message(prompt, role="user"), Message(first["unreadable"]))
        again = await self.ask(
            agent, f"{part} again", correction, kept, round=round, schema=schema, after=after
        )
        return dict(again["read"]) if "read" in again else None

    async def report(self, part: str, error: str, kind: str) -> None:
        """Tell an error that does not end the step; once, also when the step runs again."""

        async def value() -> dict[str, str]:
            return {"error": error, "kind": kind}

        await self.ctx.substep(part, value, "error")

    def _request(self, agent: str, part: str, messages: Sequence[Message], index: int) -> Request:
        ctx = self.ctx
        return Request(
            node_id=f"{ctx.node_id}/{agent}",
            messages=messages,
            idempotency_key=f"{ctx.idempotency_key}:{part}",
            text="\n\n".join(message.text for message in messages),
            data=ctx.data,
            index=index,
            address=ctx.address,
        )

    async def _failed(self, part: str) -> int:
        """The number of calls for a part that failed.

        All parts that came to an end are in the journal. So when the step is tried again, the
        first one that is not there is the one that failed, and that is journalled here.
        """
        failed = 0
        while await self._journalled(f"{part} failed {failed + 1}"):
            failed += 1
        if self._retried and not await self._journalled(part):
            self._retried = False
            failed += 1
            await self.ctx.substep(f"{part} failed {failed}", _noted)
        return failed

    async def _journalled(self, part: str) -> bool:
        try:
            await self.ctx.substep(part, _absent)
        except _NotJournalled:
            return False
        return True


class _NotJournalled(Exception):
    """Raised for a sub-step that is not in the journal."""


async def _noted() -> bool:
    return True


async def _absent() -> None:
    raise _NotJournalled
