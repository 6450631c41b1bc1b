/** The scores of a loop by round, over all its entries: the mean as a line, least to most as a band. */

import { useSpeech } from "../../app/i18n";
import type { LoopInsight } from "../../api/types";
import { score } from "../../model/format";

const [WIDTH, HEIGHT, LEFT, FOOT] = [320, 120, 34, 18];

export function ScoreBand({ scores }: { scores: LoopInsight["scores"] }) {
  const { t, locale } = useSpeech();
  if (scores.length < 2) return null;
  const low = Math.min(...scores.map((one) => one.min));
  const high = Math.max(...scores.map((one) => one.max));
  const room = Math.max((high - low) * 0.1, 1);
  const last = scores.at(-1)!.round;
  const x = (round: number): number => LEFT + ((round - 1) / Math.max(1, last - 1)) * (WIDTH - LEFT - 8);
  const y = (value: number): number => ((high + room - value) / (high - low + 2 * room)) * (HEIGHT - FOOT);
  const path = (value: (one: (typeof scores)[number]) => number): string =>
    scores.map((one) => `${x(one.round).toFixed(1)},${y(value(one)).toFixed(1)}`).join(" ");
  const back = [...scores].reverse().map((one) => `${x(one.round).toFixed(1)},${y(one.min).toFixed(1)}`).join(" ");
  return (
    <svg className="score-band" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t("insights.chart")}>
      {[low, high].map((value) => (
        <g key={value}>
          <line x1={LEFT} x2={WIDTH} y1={y(value)} y2={y(value)} className="grid" />
          <text x={LEFT - 6} y={y(value) + 4} textAnchor="end">
            {score(value, locale)}
          </text>
        </g>
      ))}
      <polygon points={`${path((one) => one.max)} ${back}`} className="band" />
      <polyline points={path((one) => one.mean)} className="mean" />
      {scores.length <= 12 && scores.map((one) => <circle key={one.round} cx={x(one.round)} cy={y(one.mean)} r="2.6" className="dot" />)}
      <text x={x(1)} y={HEIGHT - 4} textAnchor="middle">
        1
      </text>
      <text x={x(last)} y={HEIGHT - 4} textAnchor="end">
        {last}
      </text>
    </svg>
  );
}
