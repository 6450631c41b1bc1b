/** The grid of one entry of a loop; only the columns in view are drawn. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useId, useLayoutEffect, useRef, type KeyboardEvent } from "react";
import { useSpeech } from "../../app/i18n";
import { placeOf, roundOf } from "../../model/address";
import type { Entry, Round } from "../../model/fold";
import { duration, money, number, score, signed } from "../../model/format";
import { cellEntry, cellStep, loopRows, marksOf, type Row } from "../../model/sheet";
import { Cell, CountCell } from "./Cell";
import { useScene } from "./context";
import { LoopView, useOpenEntries } from "./Sheet";
import { useScoreRow } from "./scores";

interface Props {
  path: string;
  head: string;
  entry: Entry | null;
}

export function LoopSheet({ path, head, entry }: Props) {
  const { id, fold, structure, selected, select } = useScene();
  const scoreRow = useScoreRow(id, entry);
  const { t, locale } = useSpeech();
  const [open, toggle] = useOpenEntries();
  const frame = useRef<HTMLDivElement>(null);
  const name = useId();
  const rows = loopRows(fold, structure, path, head);
  const count = entry?.rounds.length ?? 0;
  const narrow = window.innerWidth <= 900;
  const width = 90;
  const first = narrow ? 108 : 168;
  const columns = useVirtualizer({
    horizontal: true,
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => width,
    overscan: 4,
    scrollPaddingStart: first,
    paddingStart: 0,
  });
  useNewestInView(frame, count, width);
  const here = selectedIn(selected, path);
  useEffect(() => {
    if (here && here.round >= 1) columns.scrollToIndex(here.round - 1, { align: "auto" });
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [selected]);

  const onKey = (event: KeyboardEvent): void => {
    const next = walk(event.key, here, rows, count);
    if (!next || event.altKey || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    event.stopPropagation();
    const row = rows[next.row];
    if (!row) return;
    const step = row.kind === "node" ? cellStep(fold, path, next.round, row.row) : null;
    select(step?.address ?? `${path}[${next.round}]/${row.row}`);
  };

  const items = columns.getVirtualItems();
  const body = { width: `${first + columns.getTotalSize()}px` };
  const active = here && here.row !== null ? `${name}-${here.round}-${rowIndex(rows, here.row)}` : undefined;
  return (
    <div
      ref={frame}
      className="sheet"
      role="grid"
      tabIndex={0}
      aria-label={t("sheet.label", { head })}
      aria-rowcount={rows.length + 5}
      aria-colcount={count + 1}
      aria-activedescendant={active}
      onKeyDown={onKey}
    >
      <div className="sheet-row header" role="row" style={body}>
        <div className="name" role="columnheader">
          {t("sheet.round")}
        </div>
        {items.map((item) => (
          <RoundHead key={item.key} entry={entry!} index={item.index} left={first + item.start} />
        ))}
      </div>
      {rows.map((row, index) => (
        <RowView
          key={row.row}
          row={row}
          path={path}
          style={body}
          open={openPath(open, path, row)}
          onToggle={(at) => toggle(at)}
          latest={count}
        >
          {items.map((item) => (
            <RoundCell
              key={item.key}
              id={`${name}-${item.index + 1}-${index}`}
              path={path}
              row={row}
              round={item.index + 1}
              left={first + item.start}
              scored={row.row === scoreRow}
              onToggle={toggle}
            />
          ))}
        </RowView>
      ))}
      <div className="sheet-figures" role="rowgroup">
        {FIGURES.filter((figure) => figure.shown(entry)).map((figure) => (
          <div key={figure.name} className="sheet-row" role="row" style={body}>
            <div className="name" role="rowheader">
              {t(`sheet.${figure.name}`)}
            </div>
            {items.map((item) => (
              <FigureCell
                key={item.key}
                text={figureText(figure, entry!.rounds[item.index], locale)}
                best={isBest(fold.best(entry!), entry!.rounds[item.index], figure)}
                left={first + item.start}
              />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Keeps the newest round in view while the reader is at the end, and only then. */
function useNewestInView(frame: React.RefObject<HTMLDivElement | null>, count: number, width: number): void {
  const before = useRef(0);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element || count === before.current) return;
    const added = (count - before.current) * width;
    const wasAtEnd = element.scrollLeft + element.clientWidth >= element.scrollWidth - added - width;
    if (wasAtEnd || before.current === 0) element.scrollLeft = element.scrollWidth;
    before.current = count;
  }, [frame, count, width]);
}

interface Here {
  round: number;
  row: string | null;
}

function selectedIn(selected: string | null, path: string): Here | null {
  if (!selected) return null;
  const whole = roundOf(selected);
  if (whole?.entry === path) return { round: whole.round, row: null };
  const place = placeOf(selected);
  const round = roundOf(place.scope);
  return round?.entry === path ? { round: round.round, row: place.row } : null;
}

function rowIndex(rows: Row[], row: string): number {
  return Math.max(0, rows.findIndex((other) => other.row === row));
}

function walk(key: string, here: Here | null, rows: Row[], count: number): { round: number; row: number } | null {
  const round = here?.round ?? count;
  const row = here?.row ? rowIndex(rows, here.row) : 0;
  const clamp = (value: number, most: number): number => Math.min(Math.max(value, 0), most);
  const at = (by: number): number => clamp(round + by - 1, count - 1) + 1;
  switch (key) {
    case "ArrowRight":
      return { round: here ? at(1) : round, row };
    case "ArrowLeft":
      return { round: here ? at(-1) : round, row };
    case "ArrowDown":
      return { round, row: here?.row ? clamp(row + 1, rows.length - 1) : 0 };
    case "ArrowUp":
      return { round, row: clamp(row - 1, rows.length - 1) };
    case "Home":
      return { round: 1, row };
    case "End":
      return { round: count, row };
    case "PageDown":
      return { round: at(10), row };
    case "PageUp":
      return { round: at(-10), row };
    default:
      return null;
  }
}

function openPath(open: Set<string>, path: string, row: Row): string | null {
  if (row.kind !== "loop") return null;
  for (const at of open) {
    if (at.startsWith(`${path}[`) && at.endsWith(`]/${row.row}`) && !at.slice(path.length).slice(1, -row.row.length - 2).includes("/")) {
      return at;
    }
  }
  return null;
}

interface RowProps {
  row: Row;
  path: string;
  style: { width: string };
  open: string | null;
  onToggle: (path: string) => void;
  latest: number;
  children: React.ReactNode;
}

function RowView({ row, path, style, open, onToggle, latest, children }: RowProps) {
  const { t } = useSpeech();
  const indent = row.row.split("/").length - 1;
  return (
    <>
      <div className="sheet-row" role="row" style={style}>
        <div className="name" role="rowheader" title={row.row}>
          {row.kind === "loop" && (
            <button
              type="button"
              className="twist"
              aria-expanded={open !== null}
              aria-label={t("sheet.open_loop", { head: row.head })}
              onClick={() => onToggle(open ?? `${path}[${latest}]/${row.row}`)}
            >
              {open ? "⌄" : "›"}
            </button>
          )}
          {indent > 0 && <span className="indent">{"· ".repeat(indent)}</span>}
          <span>{row.row.split("/").at(-1)}</span>
        </div>
        {children}
      </div>
      {open !== null && row.kind === "loop" && (
        <div className="nested" role="row">
          <div role="gridcell">
            <LoopView path={open} head={row.head} />
          </div>
        </div>
      )}
    </>
  );
}

function RoundHead({ entry, index, left }: { entry: Entry; index: number; left: number }) {
  const { fold, select, selected } = useScene();
  const { t } = useSpeech();
  const round = entry.rounds[index];
  if (!round) return null;
  const marks = marksOf(fold, entry, round);
  const chosen = selected === round.address;
  return (
    <div
      className={`cell${chosen ? " selected" : ""}`}
      role="columnheader"
      style={{ transform: `translateX(${left}px)` }}
      onClick={() => select(round.address)}
    >
      {marks.best && <Mark sign="★" kind="best-mark" name={t("mark.best")} />}
      {marks.regressed && <Mark sign="▼" kind="down" name={t("mark.regressed")} />}
      {marks.rolledBack && <Mark sign="↩" kind="back" name={t("mark.rolled_back")} />}
      {marks.nudged && <Mark sign="✎" kind="nudge" name={t("mark.nudged")} />}
      <span className="value">{round.round}</span>
    </div>
  );
}

function Mark({ sign, kind, name }: { sign: string; kind: string; name: string }) {
  return (
    <span className={`mark ${kind}`} role="img" aria-label={name} title={name}>
      {sign}
    </span>
  );
}

interface CellProps {
  id: string;
  path: string;
  row: Row;
  round: number;
  left: number;
  scored: boolean;
  onToggle: (path: string) => void;
}

function RoundCell({ id, path, row, round, left, scored, onToggle }: CellProps) {
  const { fold, selected, select } = useScene();
  if (row.kind === "loop") {
    const inner = cellEntry(fold, path, round, row.row);
    return <CountCell id={id} entry={inner} left={left} best={inner ? fold.best(inner) : null} onOpen={onToggle} />;
  }
  const step = cellStep(fold, path, round, row.row);
  return (
    <Cell
      id={id}
      address={step?.address ?? ""}
      status={step?.status ?? "none"}
      given={scored ? (fold.entries.get(path)?.rounds[round - 1]?.score ?? null) : null}
      took={step?.ended != null ? step.ended - step.began : null}
      asks={step !== null && fold.questions.has(step.address)}
      locked={fold.lock !== null && step !== null && fold.lock.figures.address === step.address}
      streaming={step?.status === "running" && fold.streams.has(step.address)}
      selected={step !== null && selected === step.address}
      left={left}
      onSelect={select}
    />
  );
}

interface Figure {
  name: string;
  shown: (entry: Entry | null) => boolean;
  text: (round: Round, locale: string) => string;
}

const FIGURES: Figure[] = [
  {
    name: "score",
    shown: (entry) => entry?.rounds.some((round) => round?.score !== null) ?? false,
    text: (round, locale) => (round.score === null ? "–" : score(round.score, locale)),
  },
  {
    name: "delta",
    shown: (entry) => entry?.rounds.some((round) => round?.delta != null) ?? false,
    text: (round, locale) => (round.delta === null ? "" : signed(round.delta, locale)),
  },
  {
    name: "tokens",
    shown: (entry) => entry?.rounds.some((round) => round?.tokens > 0) ?? false,
    text: (round, locale) => (round.tokens === 0 ? "" : number(round.tokens, locale)),
  },
  {
    name: "cost",
    shown: (entry) => entry?.rounds.some((round) => round?.usd > 0) ?? false,
    text: (round, locale) => (round.usd === 0 ? "" : money(round.usd, locale)),
  },
  {
    name: "time",
    shown: (entry) => entry !== null,
    text: (round, locale) => (round.ended === null ? "" : duration(round.ended - round.began, locale)),
  },
];

function figureText(figure: Figure, round: Round | undefined, locale: string): string {
  return round && round.ended !== null ? figure.text(round, locale) : "";
}

function isBest(best: Round | null, round: Round | undefined, figure: Figure): boolean {
  return figure.name === "score" && best !== null && best === round;
}

interface FigureProps {
  text: string;
  best: boolean;
  left: number;
}

const FigureCell = memo(function FigureCell({ text, best, left }: FigureProps) {
  return (
    <div
      className={`cell empty-cell${best ? " best" : ""}`}
      role="gridcell"
      style={{ transform: `translateX(${left}px)` }}
    >
      <span className="value">{text}</span>
    </div>
  );
});
