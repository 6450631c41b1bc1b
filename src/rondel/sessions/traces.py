"""Following the sessions that are driven here, for OpenTelemetry."""

from __future__ import annotations

import asyncio
from functools import cached_property
from logging import getLogger
from typing import TYPE_CHECKING, Any, Literal

from rondel.engine.protocols import Context, Handler, Lock, Outcome
from rondel.errors import RondelError
from rondel.graph.plan import Plan
from rondel.sessions.drive import Drive
from rondel.sessions.events import Narrator
from rondel.telemetry.tracer import provider_of_process, sdk_provider, send, traces_are_wanted

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Tracer, TracerProvider
    from opentelemetry.trace import TracerProvider as AnyTracerProvider

    from rondel.sessions.local_session import LocalSession
    from rondel.telemetry.span_tree import SpanTree, TracedNode

log = getLogger("rondel.sessions")

PAUSE = 0.25
"""Seconds between looks at what sessions have done: spans are sent later still."""

BATCH = 256
"""Ticks that are read before others get their turn."""


def traces(provider: AnyTracerProvider | Literal[False] | None) -> Traces | None:
    """The tracing of an engine's sessions; None if nobody asked for it: then nothing is loaded."""
    if provider is False:
        return None
    if provider is not None:
        return Traces(sdk_provider(provider))
    return Traces(None) if traces_are_wanted() else None


class Traces:
    """Owns the spans of the sessions that one engine drives."""

    def __init__(self, provider: TracerProvider | None) -> None:
        self._given = provider
        self._followed: dict[str, SpanFollower] = {}
        self._task: asyncio.Task[None] | None = None

    @cached_property
    def provider(self) -> TracerProvider | None:
        """Where spans go; set up when the first session is driven."""
        return self._given or provider_of_process()

    @cached_property
    def tracer(self) -> Tracer | None:
        """The tracer of this process, whose ids are derived from sessions."""
        if self.provider is None:
            return None
        from opentelemetry.sdk.trace import Tracer

        from rondel.telemetry.ids import DerivedIds
        from rondel.telemetry.names import SCOPE

        tracer = self.provider.get_tracer(SCOPE)
        if not isinstance(tracer, Tracer):
            return None  # OTEL_SDK_DISABLED
        if not isinstance(tracer.id_generator, DerivedIds):
            tracer.id_generator = DerivedIds()
        return tracer

    def follow(self, local: LocalSession, drive: Drive, plan: Plan) -> None:
        """This process drives the session from now on."""
        tracer = self.tracer
        if tracer is not None and _is_sampled(tracer, local.id):
            self._followed[local.id] = SpanFollower(local, drive, plan, tracer)
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._run())

    def unfollow(self, id: str) -> None:
        """This process no longer drives the session; the rest of its ticks is read at once."""
        follower = self._followed.get(id)
        if follower is not None:
            follower.unfollowed = True
            follower.read()
            if follower.is_done:
                self._followed.pop(id, None)

    async def close(self) -> None:
        """Read what is left, and send it."""
        for follower in list(self._followed.values()):
            await follower.read_all()
        self._followed.clear()
        if self._task is not None:
            self._task.cancel()
        if "tracer" in self.__dict__ and self.provider is not None:
            await asyncio.to_thread(send, self.provider)

    async def _run(self) -> None:
        while self._followed:
            await asyncio.sleep(PAUSE)
            for session, follower in list(self._followed.items()):
                await follower.read_all()
                if follower.is_done and self._followed.get(session) is follower:
                    del self._followed[session]

    # Inside a step

    async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
        """Call a node so that spans which are made in it lie in the span of its step."""
        if ctx.session_id not in self._followed:
            return await call(ctx)
        from opentelemetry.context import attach, detach

        from rondel.telemetry.ids import inside_step

        earlier = ctx.step.earlier  # type: ignore[attr-defined]
        token = attach(inside_step(ctx.session_id, ctx.address, earlier))
        try:
            return await call(ctx)
        finally:
            detach(token)


class SpanFollower:
    """Reads one session, and tells its spans from where this process took it up."""

    def __init__(self, local: LocalSession, drive: Drive, plan: Plan, tracer: Tracer) -> None:
        from rondel.telemetry.span_tree import SpanTree

        row = local.origin
        self._id = local.id
        self._store = local.store
        self._drive = drive
        self._narrator = Narrator(local.id, plan)
        self._nodes: dict[str, TracedNode] = {}
        self._plan = plan
        self._tree: SpanTree = SpanTree(tracer, local.id, row.graph_id, self._node, row.parent)
        self._tree.earlier = self._earlier
        self._shared = row.parent_length if row.parent else 0
        self._start = max(drive.length, self._shared)
        self._position = 0
        self.unfollowed = False
        self._broken = False

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to come from this process."""
        return self._broken or (self.unfollowed and self._position >= self._drive.length)

    async def read_all(self) -> None:
        """Read all ticks there are; other tasks get their turn in between."""
        while self.read():  # noqa: ASYNC110
            await asyncio.sleep(0)

    def read(self) -> bool:
        """Read the next ticks; returns whether there may be more. It never raises."""
        if self._broken or self._position >= self._drive.length:
            return False
        try:
            return self._read()
        except RondelError:
            return False  # what cannot be read now may be later
        except Exception:  # who takes the spans may be anybody's code
            log.exception("session %s is not traced any further", self._id)
            self._broken = True
            return False

    def _read(self) -> bool:
        found = self._store.read(self._id, self._position, self._position + BATCH)
        for tick in found:
            self._position += 1
            told = self._narrator.fold(tick)
            if self._position == self._shared + 1 and self._shared:
                self._tree.begin_anew(tick.at)
            self._tree.live = self._position > self._start
            usage: list[Any] = getattr(tick, "usage", [])
            self._tree.add(told, [call.duration for call in usage])
        return len(found) == BATCH

    def _earlier(self, address: str) -> int:
        steps = self._narrator.state.steps.values()
        return next((step.earlier for step in steps if step.address == address), 0)

    def _node(self, id: str) -> TracedNode:
        node = self._nodes.get(id)
        if node is None:
            node = self._nodes[id] = _node_of(self._plan, id)
        return node


def _node_of(plan: Plan, id: str) -> TracedNode:
    from rondel.sessions.agents import EMBEDDINGS, configs_of
    from rondel.telemetry import names
    from rondel.telemetry.span_tree import TracedNode

    spec = next((node.spec for node in plan.nodes if node.id == id), None)
    if spec is None:
        return TracedNode("step")
    agents = configs_of(spec)
    providers = {str(agent.provider) for agent in agents}
    embeds = spec.type in EMBEDDINGS and not agents
    return TracedNode(
        spec.type,
        spec.type == "agent",
        names.EMBEDDINGS if embeds else names.CHAT,
        providers.pop() if len(providers) == 1 else "",
    )


def _is_sampled(tracer: Tracer, session: str) -> bool:
    """Whether the session's trace is wanted; every process decides alike."""
    from opentelemetry.context import Context as Surroundings
    from opentelemetry.sdk.trace.sampling import Decision

    from rondel.telemetry.ids import trace_id

    decided = tracer.sampler.should_sample(Surroundings(), trace_id(session), "session")
    return decided.decision is Decision.RECORD_AND_SAMPLE
