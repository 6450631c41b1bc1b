/** The score of every round over the columns of the sheet; of a long loop, all of it with a brush. */

import { useEffect, useRef, useState, type RefObject } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useSpeech } from "../../app/i18n";
import type { Entry } from "../../model/fold";
import { duration, score } from "../../model/format";
import { seriesOf, type Measure } from "../../model/series";
import { Brush } from "./Brush";
import { useScene } from "./context";
import { COLUMN, firstColumn, fits } from "./geometry";

const HEIGHT = 150;
/** So many points have room for their figures, wherever the chart is. */
const FEW = 12;

interface Props {
  entry: Entry;
  target: number | null;
  frame: RefObject<HTMLDivElement | null>;
  /** How many rounds a column of the sheet stands for. */
  size: number;
}

export function ScoreChart({ entry, target, frame, size }: Props) {
  const { fold, select } = useScene();
  const { t, locale } = useSpeech();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const width = useWidth(box);
  const count = entry.rounds.length;
  const aligned = size === 1 && (width === 0 || fits(count, width));
  const measure: Measure = entry.rounds.some((round) => round?.score != null) || target !== null ? "score" : "time";
  const best = fold.best(entry);
  const words = {
    goal: target === null ? "" : t("sheet.goal", { target: score(target, locale) }),
    text: (value: number) => (measure === "score" ? score(value, locale) : duration(value, locale)),
  };
  const latest = useRef<Latest>(null!);
  latest.current = { entry, target: measure === "score" ? target : null, best: measure === "score" ? best : null, aligned, measure, words };
  const theme = useThemeCount();
  const drawn = entry.rounds.findLast((round) => round?.ended != null)?.round ?? 0;

  useEffect(() => {
    const element = box.current;
    if (!element || width === 0) return;
    const chart = new uPlot(options(width, () => latest.current), dataOf(latest.current), element);
    plot.current = chart;
    return () => {
      chart.destroy();
      plot.current = null;
    };
  }, [entry.path, theme, target, aligned, measure, width]);

  useEffect(() => {
    plot.current?.setData(dataOf(latest.current));
  }, [drawn, count, entry.end]);

  const label = t("chart.label", {
    count: entry.rounds.filter((round) => round?.score != null).length,
    best: best?.score != null ? score(best.score, locale) : "–",
    round: best?.round ?? "–",
  });
  return (
    <div className="chart">
      <div className="chart-legend" aria-hidden="true">
        <b>{measure === "score" ? t("chart.score") : t("chart.time")}</b>
        {best?.score != null && measure === "score" && (
          <span>
            <span className="mark best-mark">★</span> {t("chart.best", { score: score(best.score, locale), round: best.round })}
          </span>
        )}
        {!aligned && count > FEW && <span>{t("chart.all", { count })}</span>}
      </div>
      <div
        ref={box}
        className="chart-plot"
        role="img"
        aria-label={label}
        onClick={() => {
          const index = plot.current?.cursor.idx;
          const round = index == null || !aligned ? null : entry.rounds[index];
          if (round) select(round.address);
        }}
      />
      {!aligned && count > 0 && <Brush frame={frame} rounds={count} size={size} />}
    </div>
  );
}

function useWidth(ref: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, [ref]);
  return width;
}

function useThemeCount(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const change = (): void => setCount((before) => before + 1);
    const media = matchMedia("(prefers-color-scheme: dark)");
    window.addEventListener("rondel:theme", change);
    media.addEventListener("change", change);
    return () => {
      window.removeEventListener("rondel:theme", change);
      media.removeEventListener("change", change);
    };
  }, []);
  return count;
}

interface Latest {
  entry: Entry;
  target: number | null;
  best: { round: number; score: number | null } | null;
  aligned: boolean;
  measure: Measure;
  words: { goal: string; text: (value: number) => string };
}

function dataOf({ entry, measure }: Latest): uPlot.AlignedData {
  const { rounds, values } = seriesOf(entry.rounds, measure);
  return [rounds, values];
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(width: number, latest: () => Latest): uPlot.Options {
  const ink = colour("--ink-3");
  const grid = { stroke: colour("--line"), width: 1 };
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const { aligned } = latest();
  const first = firstColumn();
  const shown = (width - first) / COLUMN;
  return {
    width,
    height: HEIGHT,
    padding: [10, 0, aligned ? 8 : 0, 0],
    legend: { show: false },
    cursor: { show: aligned, y: false, points: { size: 9 }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: () => [0.5, aligned ? 0.5 + shown : Math.max(latest().entry.rounds.length, 1) + 0.5] },
      y: { range: (_, low, high) => padded(low, high, latest()) },
    },
    axes: [
      { show: !aligned, stroke: ink, font, grid: { show: false }, ticks: { show: false }, size: 22, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] },
      { stroke: ink, font, grid, ticks: { show: false }, size: first, gap: 8, space: 32, values: (_, splits) => splits.map((value) => latest().words.text(value)) },
    ],
    series: [
      {},
      {
        stroke: colour("--accent"),
        width: aligned ? 1.75 : 1.25,
        spanGaps: true,
        points: { show: aligned || latest().entry.rounds.length <= FEW, size: 7, fill: colour("--surface"), stroke: colour("--accent"), width: 1.75 },
      },
    ],
    hooks: { draw: [(chart) => drawMarks(chart, latest())] },
  };
}

function padded(low: number | null, high: number | null, { target, aligned, entry }: Latest): [number, number] {
  const least = Math.min(low ?? target ?? 0, target ?? Infinity);
  const most = Math.max(high ?? target ?? 1, target ?? -Infinity);
  const room = Math.max((most - least) * 0.14, 1);
  return [least - room, most + room * (aligned || entry.rounds.length <= FEW ? 2 : 1)];
}

/** The goal and the first score as lines, a star over the best round, a wedge over a regression. */
function drawMarks(chart: uPlot, latest: Latest): void {
  const { entry, target, words } = latest;
  const context = chart.ctx;
  const ratio = devicePixelRatio;
  context.save();
  context.textBaseline = "alphabetic";
  context.font = `${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  const first = entry.rounds.find((round) => round?.score != null)?.score ?? null;
  if (latest.measure === "score" && first !== null && entry.rounds.length > 1) line(chart, first, colour("--line-strong"), [1, 4], "");
  if (target !== null) line(chart, target, colour("--ink-3"), [4, 4], words.goal);
  context.textAlign = "center";
  const each = latest.aligned || entry.rounds.length <= FEW;
  for (const round of each ? entry.rounds : []) {
    if (round?.score != null) drawRound(chart, latest, round);
  }
  if (!each && latest.best) drawStar(chart, latest.best);
  context.restore();
}

function line(chart: uPlot, value: number, ink: string, dash: number[], words: string): void {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio;
  const y = Math.round(chart.valToPos(value, "y", true));
  ctx.strokeStyle = ink;
  ctx.lineWidth = ratio;
  ctx.setLineDash(dash.map((part) => part * ratio));
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.textAlign = "right";
  ctx.fillStyle = colour("--ink-2");
  if (words) ctx.fillText(words, bbox.left + bbox.width - 10 * ratio, y - 5 * ratio);
}

function drawRound(chart: uPlot, { best, words }: Latest, round: Entry["rounds"][number]): void {
  const isBest = best?.round === round.round;
  const sign = isBest ? "★ " : round.regression ? "▼ " : "";
  const x = chart.valToPos(round.round, "x", true);
  const y = chart.valToPos(round.score!, "y", true);
  chart.ctx.fillStyle = colour(isBest ? "--good" : round.regression ? "--bad" : "--ink-2");
  chart.ctx.fillText(sign + words.text(round.score!), x, y - 9 * devicePixelRatio);
}

function drawStar(chart: uPlot, best: { round: number; score: number | null }): void {
  if (best.score === null) return;
  chart.ctx.fillStyle = colour("--good");
  chart.ctx.fillText("★", chart.valToPos(best.round, "x", true), chart.bbox.top + 9 * devicePixelRatio);
}
