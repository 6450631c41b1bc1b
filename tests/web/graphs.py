"""Graphs for the tests of the pages."""

ESSAY = """\
version: 1
graph:
  id: essay
  description: A writer and a critic, at a pace one can watch.
  start: Writer
  end: Published
  loops:
    Writer: {max_rounds: 6, exit_on_score: 90, regression: {drop: 5, action: warn}}
  nodes:
    - id: Writer
      type: agent
      config:
        provider: scripted
        answers:
          - {content: "Loops are how work gets better: you write, you read, you write again.",
             delay: PACE, chunks: 12, usage: {input_tokens: 210, output_tokens: 214}}
          - {content: "Loops are how work gets better. You write, you read what you wrote, and you write it again with less in it.",
             delay: PACE, chunks: 12, usage: {input_tokens: 410, output_tokens: 230}}
          - {content: "A loop is how work gets better: write, read, cut. The third draft is shorter than the first, and says more.",
             delay: PACE, chunks: 16, usage: {input_tokens: 520, output_tokens: 260}}
          - {content: "A loop has a name, a bound and a reason for its end. Write, read, cut; stop when the reader would stop.",
             delay: PACE, chunks: 20, usage: {input_tokens: 640, output_tokens: 280}}
    - id: Critic
      type: agent
      config:
        provider: scripted
        answers:
          - {content: "It says what, not why.", data: {score: 62}, delay: PACE, usage: {input_tokens: 230, output_tokens: 40}}
          - {content: "Better rhythm, still no claim.", data: {score: 72}, delay: PACE, usage: {input_tokens: 240, output_tokens: 40}}
          - {content: "You lost the reader in the middle.", data: {score: 65}, delay: PACE, usage: {input_tokens: 260, output_tokens: 40}}
          - {content: "Now it claims something.", data: {score: 87}, delay: PACE, usage: {input_tokens: 280, output_tokens: 40}}
          - {content: "Good enough to print.", data: {score: 92}, delay: PACE, usage: {input_tokens: 280, output_tokens: 40}}
    - {id: Published, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Writer}
    - {from: Writer, to: Published, label: goal}
    - {from: Writer, to: Published, label: limit}
"""

STUCK = """\
version: 1
graph:
  id: stuck
  start: Writer
  end: Out
  loops: {Writer: {max_rounds: 6, exit_on_score: 95}}
  nodes:
    - {id: Writer, type: agent, config: {provider: scripted, answers: ["Same words again."]}}
    - {id: Critic, type: agent, config: {provider: scripted, answers: [{content: "No better.", data: {score: 40}}]}}
    - {id: Out, type: passthrough}
  edges:
    - {from: Writer, to: Critic}
    - {from: Critic, to: Writer}
    - {from: Writer, to: Out, label: limit}
"""

REVIEW = """\
version: 1
graph:
  id: review
  start: Writer
  end: Done
  loops: {Writer: {max_rounds: 5}}
  nodes:
    - id: Writer
      type: agent
      config:
        provider: scripted
        answers: ["Our first words to you.", "Our second and better words to you.", "Third words."]
    - id: Reviewer
      type: human
      config: {description: Is this ready?, actions: [approve, revise], timeout: 2h}
    - {id: Done, type: passthrough}
  edges:
    - {from: Writer, to: Reviewer}
    - {from: Reviewer, to: Done, condition: {type: keyword, config: {any: [approve]}}}
    - {from: Reviewer, to: Writer, condition: {type: keyword, config: {none: [approve]}}}
"""

HOSTILE = """\
version: 1
graph:
  id: hostile
  nodes:
    - id: Mallory
      type: literal
      config:
        content: "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>\\e[31mred\\e[0m & <b>bold</b>"
"""


def essay(pace: float = 0.0) -> str:
    """The essay, each answer taking so many seconds."""
    return ESSAY.replace("PACE", str(pace))


def long_loop(rounds: int) -> str:
    """A loop of very many rounds that say something new each time."""
    return f"""\
version: 1
graph:
  id: long
  start: Writer
  end: Out
  breaker: off
  limits: {{max_steps: 100000}}
  loops: {{Writer: {{max_rounds: {rounds}}}}}
  nodes:
    - {{id: Writer, type: agent, config: {{provider: simulated}}}}
    - {{id: Critic, type: agent, config: {{provider: simulated, score: {{start: 40, step: 0.05, noise: 6}}}}}}
    - {{id: Out, type: passthrough}}
  edges:
    - {{from: Writer, to: Critic}}
    - {{from: Critic, to: Writer}}
    - {{from: Writer, to: Out, label: limit}}
"""
