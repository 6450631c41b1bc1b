/** Walking the sheet with the keyboard. */

import { placeOf, roundOf } from "../../model/address";
import type { Row } from "../../model/sheet";

export interface Here {
  round: number;
  row: string | null;
}

export function selectedIn(selected: string | null, path: string): Here | null {
  if (!selected) return null;
  const whole = roundOf(selected);
  if (whole?.entry === path) return { round: whole.round, row: null };
  const place = placeOf(selected);
  const round = roundOf(place.scope);
  return round?.entry === path ? { round: round.round, row: place.row } : null;
}

export function rowIndex(rows: Row[], row: string): number {
  return Math.max(0, rows.findIndex((other) => other.row === row));
}

/** Where a key leads from a cell; a column stands for `size` rounds. */
export function walk(key: string, here: Here | null, rows: Row[], count: number, size = 1): { round: number; row: number } | null {
  const round = here?.round ?? count;
  const row = here?.row ? rowIndex(rows, here.row) : 0;
  const clamp = (value: number, most: number): number => Math.min(Math.max(value, 0), most);
  const at = (by: number): number => clamp(round + by - 1, count - 1) + 1;
  switch (key) {
    case "ArrowRight":
      return { round: here ? at(size) : round, row };
    case "ArrowLeft":
      return { round: here ? at(-size) : round, row };
    case "ArrowDown":
      return { round, row: here?.row ? clamp(row + 1, rows.length - 1) : 0 };
    case "ArrowUp":
      return { round, row: clamp(row - 1, rows.length - 1) };
    case "Home":
      return { round: 1, row };
    case "End":
      return { round: count, row };
    case "PageDown":
      return { round: at(10 * size), row };
    case "PageUp":
      return { round: at(-10 * size), row };
    default:
      return null;
  }
}
