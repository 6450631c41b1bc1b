/** The score sheet: sections of rows (nodes) and columns (rounds), in logical order. */

import { join, ownerOf } from "./address";
import { stepAt, type Entry, type Round, type SessionFold, type Step, type Turn } from "./fold";
import type { Item, Structure } from "./structure";

export interface NodeRow {
  kind: "node";
  row: string;
}

export interface LoopRow {
  kind: "loop";
  row: string;
  head: string;
}

export type Row = NodeRow | LoopRow;

/** Steps outside all loops: one column. */
export interface StraightSection {
  kind: "straight";
  rows: NodeRow[];
}

/** One entry of one loop: a column a round. */
export interface LoopSection {
  kind: "loop";
  path: string;
  head: string;
  entry: Entry | null;
  rows: Row[];
}

/** A debate inside one node: a column a round, a row a speaker. */
export interface DebateSection {
  kind: "debate";
  address: string;
  speakers: string[];
  rounds: number;
  turns: Turn[];
}

export type Section = StraightSection | LoopSection | DebateSection;

/** The rows of a scope: as the graph has them, then what was seen besides. */
function rowsOf(items: Item[] | null, fold: SessionFold, kind: string): Row[] {
  const rows: Row[] = [];
  const known = new Set<string>();
  for (const item of items ?? []) {
    const row: Row =
      item.kind === "node" ? { kind: "node", row: item.id } : { kind: "loop", row: item.head, head: item.head };
    rows.push(row);
    known.add(row.row);
  }
  const inner = new Set<string>();
  for (const path of fold.entries.keys()) {
    const owner = ownerOf(path);
    if (owner.scope.replace(/\[\d+\]/g, "[]") === kind) inner.add(owner.row);
  }
  for (const row of fold.seen.get(kind) ?? []) {
    if (known.has(row)) continue;
    const loop: Row = inner.has(row) ? { kind: "loop", row, head: row } : { kind: "node", row };
    insertAfterOwner(rows, loop);
  }
  return rows;
}

/** A subgraph's steps stand below the node that holds them. */
function insertAfterOwner(rows: Row[], row: Row): void {
  const owner = row.row.includes("/") ? row.row.slice(0, row.row.indexOf("/")) : null;
  let at = rows.length;
  if (owner !== null) {
    rows.forEach((other, index) => {
      if (other.row === owner || other.row.startsWith(`${owner}/`)) at = index + 1;
    });
  }
  rows.splice(at, 0, row);
}

function itemsOf(structure: Structure | null, head: string): Item[] | null {
  return structure?.loops.find((loop) => loop.head === head)?.items ?? null;
}

/** The rows inside one entry of a loop. */
export function loopRows(fold: SessionFold, structure: Structure | null, path: string, head: string): Row[] {
  return rowsOf(itemsOf(structure, head), fold, `${path.replace(/\[\d+\]/g, "[]")}[]`);
}

/** A session as sections, from its beginning to its end. */
export function sectionsOf(fold: SessionFold, structure: Structure | null): Section[] {
  const sections: Section[] = [];
  let straight: NodeRow[] = [];
  const flush = (): void => {
    if (straight.length > 0) sections.push({ kind: "straight", rows: straight });
    straight = [];
  };
  for (const row of rowsOf(structure?.items ?? null, fold, "")) {
    if (row.kind === "loop") {
      flush();
      sections.push(loopSection(fold, structure, row.row, row.head));
      continue;
    }
    const turns = fold.turns.get(row.row);
    if (turns) {
      flush();
      sections.push(debateSection(row.row, turns));
    } else {
      straight.push(row);
    }
  }
  flush();
  return sections;
}

export function loopSection(
  fold: SessionFold,
  structure: Structure | null,
  path: string,
  head: string,
): LoopSection {
  const entry = fold.entries.get(path) ?? null;
  return { kind: "loop", path, head, entry, rows: loopRows(fold, structure, path, head) };
}

export function debateSection(address: string, turns: Turn[]): DebateSection {
  const speakers = [...new Set(turns.map((turn) => turn.agent))];
  const rounds = turns.reduce((most, turn) => Math.max(most, turn.round), 0);
  return { kind: "debate", address, speakers, rounds, turns };
}

export interface Marks {
  best: boolean;
  regressed: boolean;
  rolledBack: boolean;
  nudged: boolean;
}

/** The signs of a round: best, regression, rollback, nudge. */
export function marksOf(fold: SessionFold, entry: Entry, round: Round): Marks {
  return {
    best: round.score !== null && fold.best(entry) === round,
    regressed: round.regression !== "",
    rolledBack: round.regression === "rollback",
    nudged: round.stagnation === "nudge",
  };
}

/** The cell of a node's row in one round. */
export function cellStep(fold: SessionFold, path: string, round: number, row: string): Step | null {
  return stepAt(fold, `${path}[${round}]`, row);
}

/** The inner loop that a loop's row has in one round. */
export function cellEntry(fold: SessionFold, path: string, round: number, row: string): Entry | null {
  return fold.entries.get(join(`${path}[${round}]`, row)) ?? null;
}

/** Rounds in groups of `size`, for a loop with very many. */
export interface RoundGroup {
  first: number;
  last: number;
  best: number | null;
  mean: number | null;
  /** From the group before to this one, in the mean. */
  delta: number | null;
  usd: number;
  tokens: number;
  time: number;
  marked: boolean;
}

export function groupRounds(rounds: readonly Round[], size: number): RoundGroup[] {
  const groups: RoundGroup[] = [];
  for (let first = 0; first < rounds.length; first += size) {
    const part = rounds.slice(first, first + size).filter(Boolean);
    const scores = part.map((round) => round.score).filter((score) => score !== null);
    const mean = scores.length > 0 ? scores.reduce((sum, score) => sum + score, 0) / scores.length : null;
    const before = groups.at(-1)?.mean ?? null;
    groups.push({
      first: first + 1,
      last: first + part.length,
      best: scores.length > 0 ? Math.max(...scores) : null,
      mean,
      delta: mean === null || before === null ? null : mean - before,
      usd: part.reduce((sum, round) => sum + round.usd, 0),
      tokens: part.reduce((sum, round) => sum + round.tokens, 0),
      time: part.reduce((sum, round) => sum + (round.ended === null ? 0 : round.ended - round.began), 0),
      marked: part.some((round) => round.regression !== "" || round.stagnation !== ""),
    });
  }
  return groups;
}

export interface GroupOfSteps {
  count: number;
  /** The state that most needs a reader's eye. */
  status: string;
  mean: number | null;
}

const EYE = ["failed", "suspended", "running", "cancelled", "completed", "skipped"];

/** A row over the rounds of a group: how often it ran, the worst of its states, its mean time. */
export function groupSteps(fold: SessionFold, path: string, row: string, group: RoundGroup): GroupOfSteps {
  let [count, total, ended, worst] = [0, 0, 0, EYE.length - 1];
  for (let round = group.first; round <= group.last; round += 1) {
    const step = stepAt(fold, `${path}[${round}]`, row);
    const inner = step ? null : cellEntry(fold, path, round, row);
    if (!step && !inner) continue;
    count += 1;
    const status = step?.status ?? (inner!.end ? "completed" : "running");
    worst = Math.min(worst, Math.max(0, EYE.indexOf(status)));
    if (step?.ended != null) {
      total += step.ended - step.began;
      ended += 1;
    }
  }
  return { count, status: EYE[worst]!, mean: ended > 0 ? total / ended : null };
}
