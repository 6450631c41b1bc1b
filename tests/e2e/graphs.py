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
      config: {provider: scripted, answers: [{content: one letter at a time, delay: 8, chunks: 20}]}
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
