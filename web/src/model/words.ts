/** Why a session stands where it stands, in one sentence. */

import type { Entry, Lock, SessionFold } from "./fold";
import { money, number, score as scoreText } from "./format";
import type { LoopContract } from "./graph";

export type Translate = (key: string, values?: Record<string, unknown>) => string;

/** Why the breaker locked a session, in the reader's language; a reason of somebody else's as it is told. */
export function lockWords(lock: Lock, t: Translate): string {
  const kind = saidOf(lock);
  const message = kind === null ? lock.message : t(`breaker.said.${kind}`, lock.figures);
  return t("breaker.sentence", { why: t(`breaker.${lock.reason}`, { defaultValue: lock.reason }), message });
}

function saidOf({ reason, figures }: Lock): string | null {
  if (reason === "TOKEN_SURGE") return "estimated_tokens" in figures ? "surge" : null;
  if (reason === "TIMEOUT") return "running" in figures ? "timeout" : null;
  if (reason !== "LOOP_DETECTED") return null;
  if ("tool" in figures) return "tool";
  if ("cycle" in figures) return "cycle";
  if ("entropy" in figures) return "stale";
  return "repeats" in figures ? "repeats" : null;
}

/** How a loop ended, as a sentence. */
export function loopEnd(
  fold: SessionFold,
  entry: Entry,
  target: number | null,
  contract: LoopContract,
  t: Translate,
  locale: string,
): string {
  const end = entry.end;
  if (!end) return "";
  const best = fold.best(entry);
  const goal = end.target ?? (end.reason === "score_threshold_reached" ? end.threshold : null) ?? target;
  const values = {
    count: end.rounds,
    value: end.value === null ? "–" : scoreText(end.value, locale),
    threshold: end.threshold === null ? "–" : amount(end.reason, end.threshold, locale),
    target: goal === null ? "–" : scoreText(goal, locale),
    best: best?.score == null ? "–" : scoreText(best.score, locale),
    bestRound: best?.round ?? "–",
  };
  const missed = end.bounded && goal !== null;
  const known = t(`end.${end.reason}`, values);
  const unsaid = missed && end.reason === "max_rounds_reached" ? t("end.max_rounds_missed", values) : known;
  const why = unsaid !== known && best?.score == null ? unsaid + t("end.stop") : unsaid;
  const parts = [why];
  if (missed && best?.score != null) parts.push(t("end.best", values));
  if (end.bounded || end.reason === "stagnated") {
    const handed = handedOn(end.bestRound, end.rounds, contract);
    if (handed !== null) parts.push(t("end.handed_on", { round: handed }));
  }
  return parts.join(t("end.space"));
}

function amount(reason: string, value: number, locale: string): string {
  return reason === "budget_exhausted" && value < 10 ? money(value, locale) : number(value, locale);
}

function handedOn(best: number | null, rounds: number, contract: LoopContract): number | null {
  if (contract.on_limit === "fail") return null;
  if (contract.on_limit === "last") return rounds;
  return best ?? rounds;
}

/** Where the whole session stands, as a sentence. */
export function sessionWords(fold: SessionFold, t: Translate): string {
  if (fold.status === "failed" && fold.message) return t("state.failed_because", { message: fold.message });
  if (fold.status === "failed") return t("state.failed_because", { message: fold.reason });
  if (fold.status === "paused" && fold.reason === "round_end") return t("state.paused_round_end");
  if (fold.status === "waiting") {
    const asking = [...fold.questions.values()].map((question) => question.node).join(", ");
    return asking ? t("state.waiting_for", { who: asking }) : t("state.waiting");
  }
  return t(`state.${fold.status}_words`);
}

/** How the last debate of a session ended, as a sentence; empty where there was none. */
export function debateEnd(fold: SessionFold, t: Translate): string {
  const [address, turns] = [...fold.turns].at(-1) ?? ["", []];
  const reason = fold.steps.get(address)?.exitReason;
  if (!reason || fold.status !== "completed") return "";
  return t(`end.${reason}`, { count: turns.at(-1)?.round ?? 1 });
}
