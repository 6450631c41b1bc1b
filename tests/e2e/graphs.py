"""Small graphs that end in every way a run can end."""

HUMAN = """
graph:
  id: ask
  nodes:
    - {id: Editor, type: human, config: {description: Is it good?, actions: [approve, revise]}}
    - {id: Done, type: passthrough}
  edges:
    - {from: Editor, to: Done}
"""

TWO_HUMANS = """
graph:
  id: ask_two
  nodes:
    - {id: Begin, type: literal, config: {content: begin}}
    - {id: Legal, type: human}
    - {id: Press Office, type: human}
    - {id: Done, type: passthrough, join: all, config: {only_last_message: false}}
  edges:
    - {from: Begin, to: Legal}
    - {from: Begin, to: Press Office}
    - {from: Legal, to: Done}
    - {from: Press Office, to: Done}
"""

FAILS = """
graph:
  id: fails
  nodes:
    - {id: Broken, type: agent, config: {provider: scripted, answers: [{error: the model is away}]}}
"""

SLOW = """
graph:
  id: slow
  nodes:
    - id: Slow
      type: agent
      config: {provider: scripted, answers: [{content: letter by letter, delay: 90, chunks: 15}]}
"""

LOOP = """
graph:
  id: loop
  start: Writer
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [one, two, three]}}
    - id: Critic
      type: agent
      config: {provider: simulated, score: {start: 70, step: 15}}
    - {id: Gate, type: loop, config: {max_rounds: 3, exit_on_score: 85}}
    - {id: Final, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Gate}
    - {from: Gate, to: Writer, label: continue}
    - {from: Gate, to: Final, label: exit, carry_data: false}
    - {from: Writer, to: Final, trigger: false}
"""

KEYED = """
graph:
  id: keyed
  nodes:
    - id: Outer
      type: subgraph
      config:
        graph:
          id: inner
          nodes:
            - id: Agent
              type: agent
              config: {provider: openai, api_key: "${NO_SUCH_KEY}", role: You answer.}
"""

LOCKED = """
from rondel import Graph
from rondel.engine.protocols import Lock

class Breaker:
    async def process(self, ctx):
        return Lock("TOKEN_SURGE", "too many tokens")

graph = Graph("locked")
graph.add("breaker", Breaker())
"""

REVIEW = """
graph:
  id: review
  start: Writer
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: [one, two, three]}}
    - {id: Editor, type: human, config: {description: Is it good?, actions: [approve, revise]}}
    - {id: Final, type: passthrough}
  edges:
    - {from: Writer, to: Editor}
    - from: Editor
      to: Writer
      condition: {type: expr, config: {expr: data.action == 'revise'}}
    - from: Editor
      to: Final
      condition: {type: expr, config: {expr: data.action == 'approve'}}
"""

STEADY = """
graph:
  id: steady
  breaker: {min_entropy: 0, repeats: 9000}
  start: Tick
  nodes:
    - {id: Tick, type: agent, config: {provider: scripted, answers: [{content: tick, delay: 0.1}]}}
    - {id: Gate, type: loop, config: {max_rounds: 9000}}
    - {id: End, type: passthrough}
  edges:
    - {from: Tick, to: Gate}
    - {from: Gate, to: Tick, label: continue}
    - {from: Gate, to: End, label: exit}
  loops: {Tick: {max_rounds: 9000}}
  limits: {max_steps: 99000}
"""
"""Steps of a tenth of a second: enough of them to be interfered with on the busiest machine."""

EFFECTS = """
import asyncio
import os
from pathlib import Path

from rondel import Graph

graph = Graph("effects")


def note(word):
    with Path(os.environ["EFFECTS"]).open("a") as file:
        file.write(word + "\\n")


@graph.node
def first(inp):
    note("first")
    return "one"


@graph.node
def second(inp):
    note(f"second after {inp.text}")
    return "two"


@graph.node
async def slow(inp):
    inp.emit("token_stream", {"chunk": "slow", "agent": "slow"})
    while not Path(os.environ["EFFECTS"] + ".go").exists():
        await asyncio.sleep(0.01)
    return "slow"


@graph.node
def last(inp):
    note(f"last after {inp.text}")
    return "done"


graph.edge("first", "second")
graph.edge("second", "slow")
graph.edge("slow", "last")
"""
"""Writes down every function it calls; the slow one waits until it is let go."""

ASKS_IN_PYTHON = """
from rondel import Graph

graph = Graph("asks")
graph.add("editor", "human", {"description": "Is it good?"})


@graph.node
def done(inp):
    return f"{inp.text} of " + str(sorted(inp.signals.items()))


graph.edge("editor", "done")
"""

OPENS = """
import os

from rondel import Emit, Graph, Message
from rondel.engine.protocols import Lock


class Breaker:
    async def process(self, ctx):
        if os.environ.get("BREAKER") == "open":
            return Emit([Message("through")])
        return Lock("TOKEN_SURGE", "too many tokens")


graph = Graph("locked")
graph.add("breaker", Breaker())
"""
"""Locks itself until the environment says otherwise."""

TOOLS = '''
import rondel


def look(city: str) -> str:
    """Look at the weather."""
    return f"sunny in {city}"


registry = rondel.builtin_registry()
registry.function("look", look)
graph = rondel.Graph("weather", registry=registry, start="Ask")
graph.add("Ask", "human", {"description": "Where?"})
calls = {"calls": [{"name": "look", "arguments": {"city": "Aba"}}]}
model = {"provider": "scripted", "answers": [calls, "It is sunny."], "tools": ["look"]}
graph.add("Tell", "agent", model)
graph.edge("Ask", "Tell")
'''
