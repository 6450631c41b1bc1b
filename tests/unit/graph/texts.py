"""Graph files for tests of the loader."""

from __future__ import annotations

from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"
SEED_FRAGMENT = (SEEDS / "fragment.yaml").read_text("utf-8")
SEED_REVIEW_LOOP = (SEEDS / "review_loop.yaml").read_text("utf-8")
INNER = "{id: inner, nodes: [{id: p, type: passthrough}, {id: q, type: %s}], edges: [%s]}"
FULL = """\
version: 1
vars: {LIMIT: 4}
graph:
  id: full
  description:
  start: A
  end: [C, B, C]
  limits: {max_steps: 500}
  loops:
    A: {max_rounds: "${LIMIT}", exit: now}
  nodes:
    - id: A
      type: passthrough
      description: first
      context_window: -1
      timeout: 90s
      retry: {max_attempts: 3, min_wait: 500ms, max_wait: 2m}
      on_error: continue
      join: all
    - {id: B, type: loop_counter, config: {max_iterations: 2}}
    - {id: C, type: passthrough, config: }
  edges:
    - {from: A, to: B, label: continue, condition: {type: keyword, config: {none: [no]}}}
    - from: B
      to: A
      label:
      condition: "false"
      trigger: false
      carry_data: false
      keep_message: true
      clear_context: true
      clear_kept_context: true
      process: {type: regex_extract, config: {pattern: x}}
    - {from: B, to: C, condition: {type: function, config: {name: is_good}}}
"""


def graph(nodes: str, edges: str = "[]", rest: str = "") -> str:
    return f"graph:\n  id: g\n  nodes: {nodes}\n  edges: {edges}\n{rest}"


def nodes(*ids: str) -> str:
    return "[" + ", ".join(f"{{id: {name}, type: passthrough}}" for name in ids) + "]"


def inline(inner: str) -> str:
    return graph(f"\n  - id: S\n    type: subgraph\n    config:\n      config:\n        {inner}")


def including(name: str, node: str = "S") -> str:
    return graph(f"\n  - id: {node}\n    type: subgraph\n    config:\n      file: {name}")
