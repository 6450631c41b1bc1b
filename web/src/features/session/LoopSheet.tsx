/** The grid of one entry of a loop, with its chart; only the columns in view are drawn. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, type KeyboardEvent, type RefObject } from "react";
import { useSpeech } from "../../app/i18n";
import { setParameters, useParameter } from "../../app/router";
import type { Entry } from "../../model/fold";
import { cellStep, groupRounds, loopRows, type Row } from "../../model/sheet";
import { useScene } from "./context";
import { FIGURES, FigureCell, figureText } from "./figures";
import { COLUMN, firstColumn, fits } from "./geometry";
import { GroupCell, GroupHead, RoundCell, RoundHead } from "./RoundCells";
import { ScoreChart } from "./ScoreChart";
import { LoopView, useOpenEntries } from "./Sheet";
import { useScoreRow } from "./scores";
import { rowIndex, selectedIn, walk } from "./walking";

/** From more rounds than this on, a column stands for ten unless asked otherwise. */
const BY_TENS = 1000;
/** Rounds that may still come are shown as empty columns, if they are not more than this. */
const TO_COME = 20;

/** How many rounds a column stands for; kept in the address of the page. */
export function useSize(entry: Entry | null): number {
  const [by] = useParameter("by");
  const count = entry?.rounds.length ?? 0;
  return by === "10" || (by !== "1" && count > BY_TENS) ? 10 : 1;
}

interface Props {
  path: string;
  head: string;
  entry: Entry | null;
  most: number | null;
  target: number | null;
}

export function LoopSheet({ path, head, entry, most, target }: Props) {
  const { id, fold, structure, selected, select } = useScene();
  const scoreRow = useScoreRow(id, entry);
  const { t, locale } = useSpeech();
  const [open, toggle] = useOpenEntries();
  const frame = useRef<HTMLDivElement>(null);
  const name = useId();
  const rows = loopRows(fold, structure, path, head);
  const rounds = entry?.rounds.length ?? 0;
  const size = useSize(entry);
  const groups = useGroups(entry, size);
  const mayCome = entry?.end || fold.over || most === null || most > TO_COME ? 0 : most;
  const count = groups ? groups.length : Math.max(rounds, mayCome);
  const first = firstColumn();
  const columns = useVirtualizer({
    horizontal: true,
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => COLUMN,
    overscan: 4,
    scrollPaddingStart: first,
    paddingStart: 0,
  });
  useNewestInView(frame, groups ? groups.length : rounds);
  const here = selectedIn(selected, path);
  useEffect(() => {
    if (here && here.round >= 1) columns.scrollToIndex(Math.floor((here.round - 1) / size), { align: "auto" });
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [selected, size]);

  const onKey = (event: KeyboardEvent): void => {
    const next = walk(event.key, here, rows, rounds, size);
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
  const active = here && here.row !== null && !groups ? `${name}-${here.round}-${rowIndex(rows, here.row)}` : undefined;
  const best = entry ? fold.best(entry) : null;
  const whole = Math.max(target ?? 0, best?.score ?? 0) || null;
  const openRound = (round: number): void => setParameters({ by: "1", at: `${path}[${round}]` });
  const figures = FIGURES.filter((figure) => figure.shown(entry) && (figure.name !== "score" || scoreRow === null));
  const charted = entry !== null && (target !== null || best !== null || !fits(rounds, frame.current?.clientWidth ?? Infinity));
  return (
    <div className="board">
      {charted && <ScoreChart entry={entry} target={target} frame={frame} size={size} />}
      <div
        ref={frame}
        className="sheet"
        role="grid"
        tabIndex={0}
        aria-label={t("sheet.label", { head })}
        aria-rowcount={rows.length + figures.length + 1}
        aria-colcount={count + 1}
        aria-activedescendant={active}
        onKeyDown={onKey}
      >
        <div className="sheet-row header" role="row" style={body}>
          <div className="name" role="columnheader">
            {t("sheet.round")}
          </div>
          {items.map((item) =>
            groups ? (
              <GroupHead key={item.key} group={groups[item.index]!} left={first + item.start} best={best?.round ?? null} onOpen={openRound} />
            ) : (
              <RoundHead key={item.key} entry={entry} index={item.index} left={first + item.start} />
            ),
          )}
        </div>
        {rows.map((row, index) => (
          <RowView key={row.row} row={row} path={path} style={body} open={openPath(open, path, row)} onToggle={(at) => toggle(at)} latest={rounds}>
            {items.map((item) =>
              groups ? (
                <GroupCell
                  key={item.key}
                  path={path}
                  row={row}
                  group={groups[item.index]!}
                  left={first + item.start}
                  scored={row.row === scoreRow}
                  chosen={here?.row === row.row && Math.floor((here.round - 1) / size) === item.index}
                  onOpen={openRound}
                />
              ) : (
                <RoundCell
                  key={item.key}
                  id={`${name}-${item.index + 1}-${index}`}
                  path={path}
                  row={row}
                  round={item.index + 1}
                  left={first + item.start}
                  scored={row.row === scoreRow}
                  whole={whole}
                  onToggle={toggle}
                />
              ),
            )}
          </RowView>
        ))}
        <div className="sheet-figures" role="rowgroup">
          {figures.map((figure) => (
            <div key={figure.name} className="sheet-row" role="row" style={body}>
              <div className="name" role="rowheader">
                {t(`sheet.${figure.name}`)}
              </div>
              {items.map((item) => (
                <FigureCell
                  key={item.key}
                  text={groups ? figure.sum(groups[item.index]!, locale) : figureText(figure, entry?.rounds[item.index], locale)}
                  best={figure.name === "score" && !groups && best !== null && best === entry?.rounds[item.index]}
                  left={first + item.start}
                />
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The rounds by tens, or null where every round has its own column. */
function useGroups(entry: Entry | null, size: number) {
  const rounds = entry?.rounds.length ?? 0;
  const ended = entry?.rounds.at(-1)?.ended ?? null;
  // eslint-disable-next-line react-hooks/exhaustive-deps
  return useMemo(() => (size > 1 && entry ? groupRounds(entry.rounds, size) : null), [entry, size, rounds, ended]);
}

/** Keeps the newest round in view while the reader is at the end, and only then. */
function useNewestInView(frame: RefObject<HTMLDivElement | null>, count: number): void {
  const before = useRef(0);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element || count === before.current) return;
    const place = (columns: number): number => Math.max(0, firstColumn() + columns * COLUMN - element.clientWidth);
    const wasAtEnd = element.scrollLeft >= place(before.current) - COLUMN;
    if (wasAtEnd || before.current === 0) element.scrollLeft = place(count);
    before.current = count;
  }, [frame, count]);
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
