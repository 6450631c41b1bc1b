/** What a column of the sheet shows of a round, or of ten: its head, and a cell for each row. */

import { useSpeech } from "../../app/i18n";
import { rowKey, type Entry } from "../../model/fold";
import { duration, score } from "../../model/format";
import { cellEntry, cellStep, groupSteps, marksOf, type Row, type RoundGroup } from "../../model/sheet";
import { Shape } from "../../parts/State";
import { Cell, CountCell } from "./Cell";
import { useScene } from "./context";

/** Below this, how long steps took says nothing: they are not drawn as bars. */
const WORTH_A_BAR = 50;

export function RoundHead({ entry, index, left }: { entry: Entry | null; index: number; left: number }) {
  const { fold, select, selected } = useScene();
  const { t } = useSpeech();
  const round = entry?.rounds[index];
  const place = { transform: `translateX(${left}px)` };
  if (!round || !entry) {
    return (
      <div className="cell empty-cell to-come" role="columnheader" style={place} title={t("sheet.to_come")}>
        <span className="value">{index + 1}</span>
      </div>
    );
  }
  const marks = marksOf(fold, entry, round);
  const chosen = selected === round.address;
  return (
    <div className={`cell${chosen ? " selected" : ""}`} role="columnheader" style={place} onClick={() => select(round.address)}>
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

interface HeadProps {
  group: RoundGroup;
  left: number;
  best: number | null;
  onOpen: (round: number) => void;
}

/** Ten rounds: which, and whether the best one or a mark is among them. */
export function GroupHead({ group, left, best, onOpen }: HeadProps) {
  const { t } = useSpeech();
  return (
    <div
      className="cell"
      role="columnheader"
      style={{ transform: `translateX(${left}px)` }}
      title={t("sheet.open_rounds", { first: group.first, last: group.last })}
      onClick={() => onOpen(group.first)}
    >
      {best !== null && best >= group.first && best <= group.last && <Mark sign="★" kind="best-mark" name={t("mark.best")} />}
      {group.marked && <Mark sign="▼" kind="down" name={t("mark.regressed")} />}
      <span className="value">{group.first === group.last ? group.first : `${group.first}–${group.last}`}</span>
    </div>
  );
}

interface GroupProps {
  path: string;
  row: Row;
  group: RoundGroup;
  left: number;
  scored: boolean;
  chosen: boolean;
  onOpen: (round: number) => void;
}

/** A node over ten rounds: the worst of its states, and its best score or its mean time. */
export function GroupCell({ path, row, group, left, scored, chosen, onOpen }: GroupProps) {
  const { fold } = useScene();
  const { t, locale } = useSpeech();
  const sum = groupSteps(fold, path, row.row, group);
  const place = { transform: `translateX(${left}px)` };
  if (sum.count === 0) return <div className="cell empty-cell" role="gridcell" style={place} />;
  const text = scored && group.best !== null ? score(group.best, locale) : sum.mean === null ? "" : duration(sum.mean, locale);
  const label = `${row.row} ${group.first}–${group.last}: ${t(`step.${sum.status}`)}, ${text}`;
  return (
    <div
      className={`cell${scored ? " scored" : ""}${chosen ? " selected" : ""}`}
      role="gridcell"
      aria-label={label}
      title={label}
      data-rounds={`${group.first}-${group.last}`}
      style={place}
      onClick={() => onOpen(group.first)}
    >
      <Shape status={sum.status} />
      <span className="value">{text}</span>
    </div>
  );
}

interface CellProps {
  id: string;
  path: string;
  row: Row;
  round: number;
  left: number;
  scored: boolean;
  /** What a whole bar stands for in the row of scores. */
  whole: number | null;
  onToggle: (path: string) => void;
}

export function RoundCell({ id, path, row, round, left, scored, whole, onToggle }: CellProps) {
  const { fold, selected, select } = useScene();
  if (row.kind === "loop") {
    const inner = cellEntry(fold, path, round, row.row);
    return <CountCell id={id} entry={inner} left={left} best={inner ? fold.best(inner) : null} onOpen={onToggle} />;
  }
  const step = cellStep(fold, path, round, row.row);
  const entry = fold.entries.get(path);
  const given = scored ? (entry?.rounds[round - 1]?.score ?? null) : null;
  const took = step?.ended != null ? step.ended - step.began : null;
  const longest = step ? (fold.longest.get(rowKey(step.scope, step.row)) ?? 0) : 0;
  const part = given !== null && whole ? given / whole : took !== null && longest >= WORTH_A_BAR ? took / longest : 0;
  const held = fold.lock !== null && step?.status === "running";
  return (
    <Cell
      id={id}
      address={step?.address ?? ""}
      status={held ? "suspended_locked" : (step?.status ?? "none")}
      given={given}
      best={given !== null && entry !== undefined && fold.best(entry)?.round === round}
      took={took}
      part={Math.max(0, Math.min(1, part))}
      asks={step !== null && fold.questions.has(step.address)}
      locked={fold.lock !== null && step !== null && fold.lock.figures.address === step.address}
      streaming={step?.status === "running" && fold.streams.has(step.address)}
      waitsUntil={step?.status === "running" ? (fold.waits.get(step.address)?.until ?? null) : null}
      selected={step !== null && selected === step.address}
      left={left}
      onSelect={select}
    />
  );
}
