/** The score of every round, with the goal, the best round and where it fell back. */

import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useSpeech } from "../../app/i18n";
import type { Entry } from "../../model/fold";
import { score } from "../../model/format";
import { chartOf } from "../../model/sheet";
import { useScene } from "./context";

interface Props {
  entry: Entry;
  target: number | null;
}

export function ScoreChart({ entry, target }: Props) {
  const { fold, select } = useScene();
  const { t, locale } = useSpeech();
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ entry, target, best: fold.best(entry), select });
  latest.current = { entry, target, best: fold.best(entry), select };
  const theme = useThemeCount();
  const scored = entry.rounds.filter((round) => round?.score != null).length;

  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const chart = new uPlot(options(element, () => latest.current), dataOf(latest.current), element);
    plot.current = chart;
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth - 16, height: 158 }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      chart.destroy();
      plot.current = null;
    };
  }, [entry.path, theme, target]);

  useEffect(() => {
    plot.current?.setData(dataOf(latest.current));
  }, [scored, entry.rounds.length, entry.end]);

  const best = fold.best(entry);
  const label = t("chart.label", {
    count: scored,
    best: best?.score != null ? score(best.score, locale) : "–",
    round: best?.round ?? "–",
  });
  return (
    <div
      ref={frame}
      className="chart"
      role="img"
      aria-label={label}
      onClick={() => {
        const index = plot.current?.cursor.idx;
        const round = index == null ? null : entry.rounds[index];
        if (round) select(round.address);
      }}
    />
  );
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
}

function dataOf({ entry }: Latest): uPlot.AlignedData {
  const { rounds, scores } = chartOf(entry);
  return [rounds, scores];
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(element: HTMLElement, latest: () => Latest): uPlot.Options {
  const ink = colour("--ink-3");
  const grid = { stroke: colour("--line"), width: 1 };
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const many = latest().entry.rounds.length > 120;
  return {
    width: element.clientWidth - 16,
    height: 158,
    padding: [12, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 9 }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: (_, low, high) => widened(low, high) },
      y: { range: (_, low, high) => padded(low, high, latest().target) },
    },
    axes: [
      { stroke: ink, font, grid: { show: false }, ticks: { show: false }, size: 24, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
      { stroke: ink, font, grid, ticks: { show: false }, size: 44 },
    ],
    series: [
      {},
      {
        stroke: colour("--accent"),
        width: 1.75,
        spanGaps: true,
        points: { show: !many, size: 7, fill: colour("--surface"), stroke: colour("--accent"), width: 1.75 },
      },
    ],
    hooks: { draw: [(chart) => drawMarks(chart, latest())] },
  };
}

function widened(low: number | null, high: number | null): [number, number] {
  return [Math.max(0, (low ?? 1) - 0.5), Math.max((high ?? 1) + 0.5, 4.5)];
}

function padded(low: number | null, high: number | null, target: number | null): [number, number] {
  const least = Math.min(low ?? 0, target ?? Infinity);
  const most = Math.max(high ?? 1, target ?? -Infinity);
  const room = Math.max((most - least) * 0.12, 1);
  return [least - room, most + room];
}

/** The goal as a line, a star over the best round, a wedge over a regression. */
function drawMarks(chart: uPlot, { entry, best, target }: Latest): void {
  const context = chart.ctx;
  const ratio = devicePixelRatio;
  context.save();
  if (target !== null) {
    const y = Math.round(chart.valToPos(target, "y", true));
    context.strokeStyle = colour("--ink-3");
    context.setLineDash([3 * ratio, 4 * ratio]);
    context.beginPath();
    context.moveTo(chart.bbox.left, y);
    context.lineTo(chart.bbox.left + chart.bbox.width, y);
    context.stroke();
    context.setLineDash([]);
  }
  context.textAlign = "center";
  context.font = `${13 * ratio}px sans-serif`;
  for (const round of entry.rounds) {
    if (round?.score == null) continue;
    const isBest = best?.round === round.round;
    if (!isBest && !round.regression) continue;
    const x = chart.valToPos(round.round, "x", true);
    const y = chart.valToPos(round.score, "y", true);
    context.fillStyle = colour(isBest ? "--good" : "--bad");
    context.fillText(isBest ? "★" : "▼", x, y - 7 * ratio);
  }
  context.restore();
}
