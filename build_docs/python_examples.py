"""An example for every public name; the reference shows their bodies, and a test runs each."""

from __future__ import annotations

from rondel import (
    NOTHING,
    Context,
    Emit,
    Engine,
    Event,
    Graph,
    GraphError,
    Handler,
    Lock,
    Message,
    Middleware,
    Nothing,
    Outcome,
    Processor,
    Question,
    Registry,
    Result,
    RondelError,
    Router,
    Session,
    Suspend,
    Usage,
    Verdict,
    builtin_registry,
    run,
)

TEA = """
graph:
  id: tea
  start: Writer
  loops: {Writer: {max_rounds: 3, exit_on_score: 90}}
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [Tea., Tea on time.]}}
    - {id: Critic, type: agent, config: {provider: scripted, answers: ['Score: 60', 'Score: 95']}}
    - {id: Final, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Writer}
    - {from: Writer, to: Final, condition: false}
"""
"""The graph of the examples."""


def example_run() -> None:
    result = run(Graph.loads(TEA), "A slogan for tea")
    assert (result.status, result.output) == ("completed", "Tea on time.")


def example_graph() -> None:
    graph = Graph("count")

    @graph.node
    def up(inp):
        return {"n": inp.round}

    @graph.node(join="all")
    def done(inp):
        return f"counted to {inp.data['n']}"

    graph.edge("up", "up", when="data.n < 3")
    graph.edge("up", "done", when=lambda message: message.data["n"] >= 3)
    graph.loop("up", max_rounds=5)
    graph.limits(max_steps=100)
    assert run(graph).output == "counted to 3"


async def example_engine() -> None:
    async with Engine(db=None) as engine:  # a path, a postgresql:// address, or None for memory
        session = await engine.start(Graph.loads(TEA), "A slogan for tea", labels={"team": "a"})
        result = await session.result()
        assert engine.get(session.id).status == result.status == "completed"


async def example_session() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(Graph.loads(TEA), "A slogan for tea")
        await session.result()
        assert [row.score for row in session.rounds()] == [60, 95]
        assert session.steps()[0].address == "Writer[1]/Writer"
        fork = await session.fork(at="Writer[2]", changes={"loops.Writer.max_rounds": 2})
        assert isinstance(fork, Session)
        assert (await fork.result()).status == "completed"


async def example_event() -> None:
    async with Engine(db=None) as engine:
        session = await engine.start(Graph.loads(TEA), "A slogan for tea")
        scores = []
        async for event in session.events():  # history first, then live, until the end
            assert isinstance(event, Event)
            if event.event == "loop:round_completed":
                scores.append((event.address, event.data["score"]))
    assert scores == [("Writer[1]", 60.0), ("Writer[2]", 95.0)]


def example_result() -> None:
    result: Result = run(Graph.loads(TEA), "A slogan for tea")
    loop = result.loops[0]
    assert (loop.exit_reason, loop.rounds, loop.best_round) == ("score_threshold_reached", 2, 2)
    assert result.usage.model_calls == 4


def example_message() -> None:
    message = Message("Tea.", {"score": 60})
    assert (message.text, message.data["score"], message.role) == ("Tea.", 60, "assistant")


def example_context() -> None:
    graph = Graph("seen")

    @graph.node
    def look(ctx: Context):
        return f"{ctx.text} in round {ctx.round} at {ctx.address}, attempt {ctx.attempt}"

    assert run(graph, "tea").output == "tea in round 1 at look, attempt 1"


def example_nothing() -> None:
    graph = Graph("quiet")

    @graph.node
    def filter(inp):
        return NOTHING if "spam" in inp.text else inp.text

    @graph.node
    def send(inp):
        return f"sent: {inp.text}"

    graph.edge("filter", "send")
    assert run(graph, "tea").output == "sent: tea"
    assert run(graph, "spam").reason == "no_output"


def example_processor() -> None:
    class Shout:
        async def process(self, ctx: Context) -> Outcome:
            calls = (ctx.state or 0) + 1  # private state is a value; it is journalled
            return Emit([Message(ctx.text.upper() + "!" * calls)], state=calls)

    assert isinstance(Shout(), Processor)
    graph = Graph("loud")
    graph.add("Crowd", Shout())
    assert run(graph, "tea").output == "TEA!"


def example_emit() -> None:
    outcome = Emit([Message("a draft", {"score": 70})], state=1)
    assert outcome.messages[0].data == {"score": 70}


def example_nothing_outcome() -> None:
    class Counter:
        async def process(self, ctx: Context) -> Outcome:
            calls = (ctx.state or 0) + 1
            return Nothing(state=calls) if calls < 2 else Emit([Message("twice")], state=0)

    graph = Graph("second")
    graph.add("Counter", Counter())
    assert run(graph, "tea").reason == "no_output"  # the first call says nothing


def example_outcome() -> None:
    outcomes: list[Outcome] = [Emit([Message("a")]), Nothing(), Suspend(Question("Is it good?"))]
    assert len(outcomes) == 3


async def example_suspend() -> None:
    class Ask:
        async def process(self, ctx: Context) -> Outcome:
            if ctx.answer is None:
                return Suspend(Question("Is it good?", actions=["yes", "no"]))
            return Emit([Message(f"answered: {ctx.answer}")])

    graph = Graph("ask")
    graph.add("Editor", Ask())
    async with Engine(db=None) as engine:
        session = await engine.start(graph, "tea")
        assert (await session.settled()).status == "waiting"
        await session.answer("yes", by="ann")
        assert (await session.result()).output == "answered: yes"


def example_question() -> None:
    question = Question("Is it good?", actions=["yes", "no"], otherwise="no")
    assert question.deadline is None  # a time of the session's clock; then `otherwise` is taken


def example_router() -> None:
    class Sort:
        async def process(self, ctx: Context) -> Outcome:
            return Emit([Message(ctx.text, {"long": len(ctx.text) > 5})])

        def route(self, output, edges):
            wanted = "long" if output.messages[0].data["long"] else "short"
            return [edge for edge in edges if edge.label == wanted]

    assert isinstance(Sort(), Router)
    graph = Graph("sort")
    graph.add("Sort", Sort())
    graph.add("Long", "literal", {"content": "a long one"})
    graph.add("Short", "literal", {"content": "a short one"})
    graph.edge("Sort", "Long", label="long")
    graph.edge("Sort", "Short", label="short")
    assert run(graph, "tea").output == "a short one"


def example_verdict() -> None:
    class Judge:
        async def process(self, ctx: Context) -> Outcome:
            verdict = Verdict(reason="condition_met", goal_met=True)  # ends the loop around it
            return Emit([Message("enough")], verdict=verdict)

        def route(self, _output, edges):
            return [edge for edge in edges if edge.label == "out"]

    graph = Graph("judged")
    graph.add("Writer", "literal", {"content": "a draft"})
    graph.add("Judge", Judge())
    graph.add("Final", "passthrough")
    graph.edge("Writer", "Judge")
    graph.edge("Judge", "Writer", label="back")
    graph.edge("Judge", "Final", label="out")
    graph.loop("Writer", max_rounds=3)
    assert run(graph, "tea").loops[0].exit_reason == "condition_met"


async def example_middleware() -> None:
    class Timekeeper:
        def __init__(self) -> None:
            self.steps: list[str] = []

        async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
            self.steps.append(ctx.address)
            return await call(ctx)

    keeper: Middleware = Timekeeper()
    async with Engine(db=None, middleware=[keeper]) as engine:
        await engine.run(Graph.loads(TEA), "A slogan for tea")
    assert keeper.steps[0] == "Writer[1]/Writer"


async def example_handler() -> None:
    class Refuse:
        async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
            outcome = await call(ctx)  # the node itself, or the next middleware
            return outcome if "secret" not in ctx.text else Lock("SECRET", "it knows too much")

    async with Engine(db=None, middleware=[Refuse()]) as engine:
        result = await engine.run(Graph.loads(TEA), "A slogan for a secret tea")
    assert result.status == "suspended_locked"


async def example_lock() -> None:
    class Guard:
        async def around(self, ctx: Context, call: Handler) -> Outcome | Lock:
            return Lock("HOURS", "nobody is here at night", {"hour": 3})

    async with Engine(db=None, middleware=[Guard()]) as engine:
        result = await engine.run(Graph.loads(TEA), "A slogan for tea")
    assert (result.status, result.reason) == ("suspended_locked", "HOURS")


def example_usage() -> None:
    usage = Usage(model="gpt-4o-mini", input_tokens=120, output_tokens=40, usd=0.0001)
    assert usage.tokens == 160


def example_registry() -> None:
    registry: Registry = builtin_registry()
    registry.function("is_good", lambda message: "tea" in message.text)
    text = """
    graph:
      id: g
      nodes: [{id: A, type: passthrough}, {id: B, type: passthrough}]
      edges: [{from: A, to: B, condition: {type: function, config: {name: is_good}}}]
    """
    assert run(Graph.loads(text, registry=registry), "tea").output == "tea"


def example_builtin_registry() -> None:
    registry = builtin_registry()  # a fresh one: what you add is yours alone
    assert {"agent", "debate", "human", "loop"} <= set(registry.names("node"))


def example_graph_error() -> None:
    try:
        Graph.loads("graph: {id: g, nodes: [{id: A, type: agnet}]}", file="wrong.yaml")
    except GraphError as error:
        problem = error.problems[0]
        assert (problem.path, problem.line) == ("graph.nodes[0].type", 1)
        assert "did you mean 'agent'" in str(problem)


async def example_rondel_error() -> None:
    async with Engine(db=None) as engine:
        try:
            engine.get("no-such-session")
        except RondelError as error:  # every error that Rondel raises on purpose
            assert "no-such-session" in str(error)


EXAMPLES = {
    "NOTHING": example_nothing,
    "Context": example_context,
    "Emit": example_emit,
    "Engine": example_engine,
    "Event": example_event,
    "Graph": example_graph,
    "GraphError": example_graph_error,
    "Handler": example_handler,
    "Lock": example_lock,
    "Message": example_message,
    "Middleware": example_middleware,
    "Nothing": example_nothing_outcome,
    "Outcome": example_outcome,
    "Processor": example_processor,
    "Question": example_question,
    "Registry": example_registry,
    "Result": example_result,
    "RondelError": example_rondel_error,
    "Router": example_router,
    "Session": example_session,
    "Suspend": example_suspend,
    "Usage": example_usage,
    "Verdict": example_verdict,
    "builtin_registry": example_builtin_registry,
    "run": example_run,
}
