/** One step in the sheet: its state by shape and colour, its score or its time as text. */

import { memo } from "react";
import { useSpeech } from "../../app/i18n";
import type { Entry, Round } from "../../model/fold";
import { duration, score } from "../../model/format";
import { Shape } from "../../parts/State";
import { WaitsFor } from "./Waiting";

interface Props {
  id: string;
  address: string;
  status: string;
  /** The score of the round, in the row of the node that gave it. */
  given: number | null;
  /** Whether that is the best of all rounds. */
  best: boolean;
  took: number | null;
  /** The length of the bar, from 0 to 1: the score of the goal, or the time of the longest. */
  part: number;
  asks: boolean;
  locked: boolean;
  streaming: boolean;
  /** Until when it waits for its provider. */
  waitsUntil: number | null;
  selected: boolean;
  left: number;
  onSelect: (address: string) => void;
}

export const Cell = memo(function Cell(props: Props) {
  const { t, locale } = useSpeech();
  const { address, status, given, best, took, part, asks, locked, streaming, waitsUntil, selected, left } = props;
  const place = { transform: `translateX(${left}px)` };
  if (status === "none") {
    return <div id={props.id} className="cell empty-cell" role="gridcell" style={place} />;
  }
  const words = waitsUntil !== null ? t("cell.waiting") : streaming ? t("cell.streaming") : "";
  const text = words || (given !== null ? score(given, locale) : took !== null ? duration(took, locale) : "");
  const label = `${address}: ${t(`step.${status}`)}${text ? `, ${text}` : ""}`;
  return (
    <div
      id={props.id}
      className={`cell${given !== null ? " scored" : ""}${best ? " best" : ""}${selected ? " selected" : ""}${streaming ? " streaming" : ""}`}
      role="gridcell"
      aria-selected={selected}
      aria-label={label}
      data-address={address}
      data-status={status}
      title={label}
      style={place}
      onClick={() => props.onSelect(address)}
    >
      <Shape status={locked ? "suspended_locked" : status} />
      {asks && <span className="mark is-waiting" aria-hidden="true">?</span>}
      <span className="value">{waitsUntil !== null ? <WaitsFor until={waitsUntil} /> : text}</span>
      {part > 0 && <span className="part" style={{ width: `${Math.max(2, part * 100)}%` }} aria-hidden="true" />}
    </div>
  );
});

interface CountProps {
  id: string;
  entry: Entry | null;
  best: Round | null;
  left: number;
  onOpen: (path: string) => void;
}

/** An inner loop in one round of the loop around it: how often it went round. */
export function CountCell({ id, entry, best, left, onOpen }: CountProps) {
  const { t, locale } = useSpeech();
  const place = { transform: `translateX(${left}px)` };
  if (!entry) return <div id={id} className="cell empty-cell" role="gridcell" style={place} />;
  const status = entry.end === null ? "running" : entry.end.bounded ? "bounded" : "completed";
  const words = t("sheet.rounds", { count: entry.rounds.length });
  return (
    <div
      id={id}
      className="cell"
      role="gridcell"
      data-address={entry.path}
      title={best?.score != null ? `${words}, ${t("mark.best")} ${score(best.score, locale)}` : words}
      style={place}
      onClick={() => onOpen(entry.path)}
    >
      <Shape status={status} />
      <span className="value">{words}</span>
    </div>
  );
}
