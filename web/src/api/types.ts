/** What the server's answers hold, as far as the pages read it. */

import type { Message } from "../model/events";
import type { EdgeDoc, LoopContract } from "../model/graph";

export interface UsageTotal {
  input_tokens: number;
  output_tokens: number;
  usd: number;
  model_calls: number;
}

export interface Meter {
  spent: number;
  limit: number | null;
}

export interface LoopStanding {
  loop: string;
  address: string;
  under_way: boolean;
  round: number;
  max_rounds: number | null;
  score: number | null;
  target: number | null;
  best_round: number | null;
  best_score: number | null;
  budget: Record<string, Meter> | null;
  end: Record<string, unknown> | null;
}

export interface Bounds {
  rounds?: number | null;
  steps: number | null;
  model_calls: number | null;
  tokens: number | null;
  usd: number | null;
}

export interface Finding {
  message: string;
  path?: string;
  hint?: string;
  file?: string;
  line?: number | null;
}

export interface CheckedLoop {
  head: string;
  nodes: string[];
  parent: string | null;
  max_rounds: number;
  source: string;
  worst_case: Bounds;
  contract?: LoopContract;
  target?: number | null;
}

export interface NodeFace {
  id: string;
  name: string;
  type: string;
  description: string;
  loop: string | null;
  inside: string | null;
}

export interface StructureFace {
  nodes: NodeFace[];
  edges: EdgeDoc[];
  loops: CheckedLoop[];
  start: string[];
  end: string[];
}

export interface CheckResult {
  valid: boolean;
  errors: Finding[];
  warnings: Finding[];
  loops: CheckedLoop[];
  worst_case: Bounds | null;
  unbounded: string[];
  structure?: StructureFace | null;
}

export interface SessionRow {
  id: string;
  graph_id: string;
  status: string;
  reason: string;
  created_at: string;
  updated_at: string;
  inputs: Record<string, unknown>;
  labels: Record<string, unknown>;
  parent: string | null;
}

export interface OpenQuestion {
  node_id: string;
  address: string;
  description: string;
  actions: string[];
  deadline: string | null;
  messages: Message[];
}

export interface SessionDetail extends SessionRow {
  message: string;
  output: string | null;
  data: Record<string, unknown>;
  usage: UsageTotal;
  steps: number;
  loops: LoopStanding[];
  limits: Record<string, Meter>;
  breaker: { on: boolean; lock: { reason: string; message: string; figures: Record<string, unknown>; at: string } | null };
  questions: OpenQuestion[];
  graph: StructureFace & { id: string; text: string; document: unknown };
}

export interface StepRecord {
  address: string;
  node_id: string;
  status: string;
  inputs: Message[];
  recalled: Message[];
  outputs: Message[];
  duration: number;
  usage: UsageTotal;
  error: string | null;
}

export interface QuestionItem extends OpenQuestion {
  session_id: string;
  graph_id: string;
  asked_at: string;
}

export interface GraphRow {
  id: string;
  name: string;
  description: string;
  etag: string;
}

export interface GraphDetail extends GraphRow {
  text: string;
  check: CheckResult;
}

export interface Template {
  name: string;
  summary: string;
  text: string;
}
