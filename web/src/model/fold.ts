/** Folds a session's events into what the pages show; the same events always give the same state. */

import { join, ownerOf, placeOf, roundOf } from "./address";
import { asNumber, asText, ENDED, type Message, type RondelEvent } from "./events";

export type StepStatus = "running" | "completed" | "failed" | "skipped" | "suspended" | "cancelled";

export interface Step {
  address: string;
  node: string;
  row: string;
  scope: string;
  visit: number;
  status: StepStatus;
  began: number;
  ended: number | null;
  tokens: number;
  usd: number;
  calls: number;
  model: string;
  error: string;
  exitReason: string;
  warned: boolean;
}

export interface Round {
  address: string;
  round: number;
  began: number;
  ended: number | null;
  score: number | null;
  delta: number | null;
  tokens: number;
  usd: number;
  entropy: number | null;
  /** What a regression or a stagnation in this round led to: warn, rollback, exit, nudge. */
  regression: string;
  stagnation: string;
}

export interface LoopEnd {
  reason: string;
  rounds: number;
  value: number | null;
  threshold: number | null;
  bestRound: number | null;
  bounded: boolean;
  score: number | null;
  target: number | null;
}

/** One entry of one loop. */
export interface Entry {
  path: string;
  head: string;
  scope: string;
  rounds: Round[];
  end: LoopEnd | null;
  /** The best-scored round so far. */
  best: Round | null;
}

export interface Turn {
  round: number;
  agent: string;
  content: string;
}

export interface Question {
  node: string;
  address: string;
  description: string;
  messages: Message[];
  actions: string[];
  deadline: string | null;
  since: string;
}

/** A model is not asked for a while, since its provider wants to be left alone. */
export interface Wait {
  agent: string;
  reason: string;
  /** When it is over, in milliseconds. */
  until: number;
}

export interface Lock {
  reason: string;
  message: string;
  figures: Record<string, unknown>;
  at: string;
}

export interface Warning {
  seq: number;
  address: string;
  message: string;
}

type Handler = (fold: SessionFold, event: RondelEvent) => void;

export class SessionFold {
  readonly events: RondelEvent[] = [];
  readonly steps = new Map<string, Step>();
  readonly entries = new Map<string, Entry>();
  readonly streams = new Map<string, string>();
  /** What steps under way wait for, until they are told of again. */
  readonly waits = new Map<string, Wait>();
  readonly questions = new Map<string, Question>();
  readonly turns = new Map<string, Turn[]>();
  /** Rows in the order in which they were first seen, by the loops around them. */
  readonly seen = new Map<string, Set<string>>();
  readonly warnings: Warning[] = [];
  /** After which events rounds ended. */
  readonly roundEnds: number[] = [];
  /** The longest that a row's steps took, by the loops around it: what the bars of its cells are of. */
  readonly longest = new Map<string, number>();
  status = "pending";
  reason = "";
  message = "";
  lock: Lock | null = null;
  began: number | null = null;
  ended: number | null = null;
  /** When the newest event happened. */
  latest: number | null = null;
  tokens = 0;
  usd = 0;
  calls = 0;
  lastSeq = 0;
  /** Counts what has changed, for those who draw. */
  version = 0;
  running: string | null = null;

  /** Takes the next event; one that was taken before changes nothing. */
  take(event: RondelEvent): boolean {
    if (event.seq !== null) {
      if (event.seq <= this.lastSeq) return false;
      this.lastSeq = event.seq;
      this.events.push(event);
      this.latest = Date.parse(event.timestamp);
    }
    if (event.address) this.waits.delete(event.address);
    HANDLERS[event.event]?.(this, event);
    this.version += 1;
    return true;
  }

  takeAll(events: Iterable<RondelEvent>): this {
    for (const event of events) this.take(event);
    return this;
  }

  get over(): boolean {
    return ENDED.has(this.status);
  }

  /** The entries that lie in no other loop, in the order of their beginning. */
  get outermost(): Entry[] {
    return [...this.entries.values()].filter((entry) => entry.scope === "");
  }

  best(entry: Entry): Round | null {
    if (entry.end?.bestRound != null) return entry.rounds[entry.end.bestRound - 1] ?? null;
    return entry.best;
  }

  noteRow(scope: string, row: string): void {
    const kind = scope.replace(/\[\d+\]/g, "[]");
    let rows = this.seen.get(kind);
    if (!rows) this.seen.set(kind, (rows = new Set()));
    rows.add(row);
  }

  step(event: RondelEvent): Step | null {
    return event.address ? (this.steps.get(event.address) ?? null) : null;
  }
}

function begin(fold: SessionFold, event: RondelEvent): Step {
  const address = event.address!;
  const known = fold.steps.get(address);
  if (known) return known;
  const place = placeOf(address);
  const step: Step = {
    address,
    node: event.node_id ?? place.row,
    ...place,
    status: "running",
    began: Date.parse(event.timestamp),
    ended: null,
    tokens: 0,
    usd: 0,
    calls: 0,
    model: "",
    error: "",
    exitReason: "",
    warned: false,
  };
  fold.steps.set(address, step);
  fold.noteRow(place.scope, place.row);
  return step;
}

function nodeChanged(fold: SessionFold, event: RondelEvent): void {
  if (!event.address) return;
  const step = begin(fold, event);
  const status = asText(event.data.status) as StepStatus;
  step.status = status;
  step.error = asText(event.data.error);
  if (event.data.exit_reason) step.exitReason = asText(event.data.exit_reason);
  if (status === "running") {
    fold.running = step.address;
    fold.streams.delete(step.address);
    step.ended = null;
  } else if (status !== "suspended") {
    step.ended = Date.parse(event.timestamp);
    fold.questions.delete(step.address);
    const row = rowKey(step.scope, step.row);
    fold.longest.set(row, Math.max(fold.longest.get(row) ?? 0, step.ended - step.began));
  }
}

/** A row of the sheet in all rounds of the loops around it. */
export function rowKey(scope: string, row: string): string {
  return `${scope.replace(/\[\d+\]/g, "[]")} ${row}`;
}

function roundStarted(fold: SessionFold, event: RondelEvent): void {
  const place = event.address ? roundOf(event.address) : null;
  if (!place) return;
  let entry = fold.entries.get(place.entry);
  if (!entry) {
    const owner = ownerOf(place.entry);
    entry = { path: place.entry, head: asText(event.data.loop), scope: owner.scope, rounds: [], end: null, best: null };
    fold.entries.set(place.entry, entry);
    fold.noteRow(owner.scope, owner.row);
  }
  entry.rounds[place.round - 1] = {
    address: event.address!,
    round: place.round,
    began: Date.parse(event.timestamp),
    ended: null,
    score: null,
    delta: null,
    tokens: 0,
    usd: 0,
    entropy: null,
    regression: "",
    stagnation: "",
  };
}

function roundAt(fold: SessionFold, event: RondelEvent): Round | null {
  const place = event.address ? roundOf(event.address) : null;
  return place ? (fold.entries.get(place.entry)?.rounds[place.round - 1] ?? null) : null;
}

function roundCompleted(fold: SessionFold, event: RondelEvent): void {
  const round = roundAt(fold, event);
  if (!round) return;
  round.ended = Date.parse(event.timestamp);
  round.score = asNumber(event.data.score);
  round.delta = asNumber(event.data.delta);
  round.tokens = asNumber(event.data.tokens) ?? 0;
  round.usd = asNumber(event.data.usd) ?? 0;
  round.entropy = asNumber(event.data.entropy);
  fold.roundEnds.push(event.seq!);
  const entry = fold.entries.get(roundOf(round.address)!.entry);
  if (entry && round.score !== null && (entry.best === null || round.score > entry.best.score!)) entry.best = round;
}

function loopExited(fold: SessionFold, event: RondelEvent): void {
  const entry = event.address ? fold.entries.get(event.address) : undefined;
  if (!entry) return;
  const data = event.data;
  entry.end = {
    reason: asText(data.exit_reason),
    rounds: asNumber(data.rounds) ?? entry.rounds.length,
    value: asNumber(data.value),
    threshold: asNumber(data.threshold),
    bestRound: asNumber(data.best_round),
    bounded: data.bounded === true,
    score: asNumber(data.score),
    target: asNumber(data.target),
  };
}

function sessionChanged(fold: SessionFold, event: RondelEvent): void {
  const at = Date.parse(event.timestamp);
  fold.status = asText(event.data.status);
  fold.reason = asText(event.data.reason);
  fold.message = asText(event.data.message);
  fold.began ??= at;
  fold.ended = fold.over ? at : null;
  if (fold.status !== "suspended_locked") fold.lock = null;
  if (fold.over) {
    fold.questions.clear();
    fold.waits.clear();
    for (const step of fold.steps.values()) {
      if (step.status === "running" || step.status === "suspended") {
        step.status = "cancelled";
        step.ended = at;
      }
    }
  }
}

function streamed(fold: SessionFold, event: RondelEvent): void {
  if (!event.address) return;
  const chunk = asText(event.data.chunk);
  const isNew = event.data.so_far === true || chunk === ""; // an empty chunk: what came before is void
  const before = isNew ? "" : (fold.streams.get(event.address) ?? "");
  fold.streams.set(event.address, before + chunk);
}

function waits(fold: SessionFold, event: RondelEvent): void {
  if (!event.address) return;
  const { agent, reason, seconds } = event.data;
  const until = Date.parse(event.timestamp) + (asNumber(seconds) ?? 0) * 1000;
  fold.waits.set(event.address, { agent: asText(agent), reason: asText(reason), until });
}

function spent(fold: SessionFold, event: RondelEvent): void {
  const tokens = (asNumber(event.data.input_tokens) ?? 0) + (asNumber(event.data.output_tokens) ?? 0);
  const usd = asNumber(event.data.usd) ?? 0;
  fold.tokens += tokens;
  fold.usd += usd;
  fold.calls += 1;
  const step = fold.step(event);
  if (!step) return;
  step.tokens += tokens;
  step.usd += usd;
  step.calls += 1;
  step.model = asText(event.data.model) || step.model;
}

function asked(fold: SessionFold, event: RondelEvent): void {
  if (!event.address) return;
  const data = event.data;
  fold.questions.set(event.address, {
    node: event.node_id ?? "",
    address: event.address,
    description: asText(data.description),
    messages: (data.messages as Message[] | undefined) ?? [],
    actions: (data.actions as string[] | undefined) ?? [],
    deadline: (data.deadline as string | null | undefined) ?? null,
    since: event.timestamp,
  });
}

function setBack(kind: "regression" | "stagnation"): Handler {
  return (fold, event) => {
    const round = roundAt(fold, event);
    if (round) round[kind] = asText(event.data.action) || "warn";
  };
}

function tripped(fold: SessionFold, event: RondelEvent): void {
  const { reason, message, ...figures } = event.data;
  fold.lock = { reason: asText(reason), message: asText(message), figures, at: event.timestamp };
}

function warned(fold: SessionFold, event: RondelEvent): void {
  const address = event.address ?? asText(event.data.address);
  const step = fold.steps.get(address);
  if (step) step.warned = true;
  fold.warnings.push({ seq: event.seq ?? 0, address, message: asText(event.data.message) });
}

function debated(fold: SessionFold, event: RondelEvent): void {
  const address = event.address ?? "";
  const turns = fold.turns.get(address) ?? [];
  const { round, agent, content } = event.data;
  turns.push({ round: asNumber(round) ?? 1, agent: asText(agent), content: asText(content) });
  fold.turns.set(address, turns);
}

const HANDLERS: Record<string, Handler> = {
  session_state_change: sessionChanged,
  node_state_change: nodeChanged,
  "loop:round_started": roundStarted,
  "loop:round_completed": roundCompleted,
  "loop:exited": loopExited,
  "loop:regression": setBack("regression"),
  "loop:stagnation": setBack("stagnation"),
  token_stream: streamed,
  model_waiting: waits,
  token_usage: spent,
  human_input_required: asked,
  human_input_received: (fold, event) => {
    if (event.address) fold.questions.delete(event.address);
  },
  "circuit_breaker:tripped": tripped,
  "circuit_breaker:unlocked": (fold) => {
    fold.lock = null;
  },
  "circuit_breaker:warning": warned,
  "debate:round": debated,
};

/** The step of a row in a round, if it has begun. */
export function stepAt(fold: SessionFold, scope: string, row: string): Step | null {
  const address = join(scope, row);
  const again = fold.steps.get(`${address}#2`);
  return again ?? fold.steps.get(address) ?? null;
}
