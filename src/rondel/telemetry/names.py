"""The names of span attributes.

Those that begin with `gen_ai.` are OpenTelemetry's for generative AI. They are still in
development there and may move: here they stand once, so that a trace changes only when we do.
"""

from __future__ import annotations

from typing import Final

SCOPE: Final = "rondel"

# OpenTelemetry's own

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
WORKFLOW: Final = "gen_ai.workflow.name"
AGENT: Final = "gen_ai.agent.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
TOOL: Final = "gen_ai.tool.name"
ERROR_TYPE: Final = "error.type"

INVOKE_WORKFLOW: Final = "invoke_workflow"
INVOKE_AGENT: Final = "invoke_agent"
EXECUTE_TOOL: Final = "execute_tool"
CHAT: Final = "chat"
EMBEDDINGS: Final = "embeddings"

# What only loops and sessions have

SESSION: Final = "rondel.session.id"
STATUS: Final = "rondel.session.status"
REASON: Final = "rondel.session.reason"
SESSION_INPUT: Final = "rondel.session.input_tokens"
SESSION_OUTPUT: Final = "rondel.session.output_tokens"
SESSION_USD: Final = "rondel.session.usd"
ADDRESS: Final = "rondel.address"
NODE: Final = "rondel.node.id"
NODE_TYPE: Final = "rondel.node.type"
STEP_STATUS: Final = "rondel.step.status"
USD: Final = "rondel.usage.usd"
ATTEMPT: Final = "rondel.attempt"
ESTIMATED: Final = "rondel.usage.estimated"
LOOP: Final = "rondel.loop.head"
ROUND: Final = "rondel.loop.round"
SCORE: Final = "rondel.loop.score"
DELTA: Final = "rondel.loop.delta"
ROUND_INPUT: Final = "rondel.loop.input_tokens"
ROUND_OUTPUT: Final = "rondel.loop.output_tokens"
ROUND_USD: Final = "rondel.loop.usd"
EXIT_REASON: Final = "rondel.loop.exit_reason"
END: Final = {
    "exit_reason": EXIT_REASON,
    "rounds": "rondel.loop.rounds",
    "value": "rondel.loop.value",
    "threshold": "rondel.loop.threshold",
    "best_round": "rondel.loop.best_round",
    "bounded": "rondel.loop.bounded",
}
"""The attributes of a loop's end, on the span of its last round."""
