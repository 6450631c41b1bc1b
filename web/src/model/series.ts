/** What a loop's chart shows: the score or the time of every round; of very many, of every ten. */

import type { Round } from "./fold";
import { groupRounds } from "./sheet";

export type Measure = "score" | "time";

/** From so many rounds on, a point of the chart stands for ten. */
export const MANY = 500;

export interface Series {
  rounds: number[];
  values: (number | null)[];
}

export function seriesOf(rounds: readonly Round[], measure: Measure): Series {
  if (rounds.length > MANY) {
    const groups = groupRounds(rounds, 10);
    return {
      rounds: groups.map((group) => (group.first + group.last) / 2),
      values: groups.map((group) => (measure === "score" ? group.mean : group.time)),
    };
  }
  return {
    rounds: rounds.map((round) => round.round),
    values: rounds.map((round) => (measure === "score" ? round.score : tookOf(round))),
  };
}

export function tookOf(round: Round): number | null {
  return round.ended === null ? null : round.ended - round.began;
}
