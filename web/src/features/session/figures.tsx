/** The figures below the nodes' rows: what each round scored, cost and took; of ten together. */

import { memo } from "react";
import type { Entry, Round } from "../../model/fold";
import { duration, money, number, score, signed } from "../../model/format";
import type { RoundGroup } from "../../model/sheet";

export interface Figure {
  name: string;
  shown: (entry: Entry | null) => boolean;
  text: (round: Round, locale: string) => string;
  /** Of several rounds together. */
  sum: (group: RoundGroup, locale: string) => string;
}

export const FIGURES: Figure[] = [
  {
    name: "score",
    shown: (entry) => entry?.rounds.some((round) => round?.score != null) ?? false,
    text: (round, locale) => (round.score === null ? "–" : score(round.score, locale)),
    sum: (group, locale) => (group.mean === null ? "–" : `⌀ ${number(group.mean, locale, 1)}`),
  },
  {
    name: "delta",
    shown: (entry) => entry?.rounds.some((round) => round?.delta != null) ?? false,
    text: (round, locale) => (round.delta === null ? "" : signed(round.delta, locale)),
    sum: (group, locale) => (group.delta === null ? "" : signed(group.delta, locale)),
  },
  {
    name: "tokens",
    shown: (entry) => entry?.rounds.some((round) => round?.tokens > 0) ?? false,
    text: (round, locale) => (round.tokens === 0 ? "" : number(round.tokens, locale)),
    sum: (group, locale) => (group.tokens === 0 ? "" : number(group.tokens, locale)),
  },
  {
    name: "cost",
    shown: (entry) => entry?.rounds.some((round) => round?.usd > 0) ?? false,
    text: (round, locale) => (round.usd === 0 ? "" : money(round.usd, locale)),
    sum: (group, locale) => (group.usd === 0 ? "" : money(group.usd, locale)),
  },
  {
    name: "time",
    shown: (entry) => entry !== null,
    text: (round, locale) => (round.ended === null ? "" : duration(round.ended - round.began, locale)),
    sum: (group, locale) => duration(group.time, locale),
  },
];

export function figureText(figure: Figure, round: Round | undefined, locale: string): string {
  return round && round.ended !== null ? figure.text(round, locale) : "";
}

interface Props {
  text: string;
  best: boolean;
  left: number;
}

export const FigureCell = memo(function FigureCell({ text, best, left }: Props) {
  return (
    <div className={`cell empty-cell${best ? " best" : ""}`} role="gridcell" style={{ transform: `translateX(${left}px)` }}>
      <span className="value">{text}</span>
    </div>
  );
});
