/** Where the columns of a sheet are, in pixels: the chart above stands over the same columns. */

export const COLUMN = 90;

export function firstColumn(): number {
  return window.innerWidth <= 900 ? 108 : 168;
}

/** Whether so many columns fit beside the first one without scrolling. */
export function fits(columns: number, width: number): boolean {
  return columns * COLUMN <= width - firstColumn();
}

export interface Span {
  from: number;
  to: number;
}

/** The rounds in view, from 0 to `rounds`, in a sheet whose columns are `size` rounds each. */
export function inView(scrollLeft: number, clientWidth: number, rounds: number, size: number): Span {
  const from = Math.min(rounds, (scrollLeft / COLUMN) * size);
  const to = Math.min(rounds, ((scrollLeft + clientWidth - firstColumn()) / COLUMN) * size);
  return { from, to: Math.max(from, to) };
}

/** How far to scroll so that a round stands in the middle. */
export function scrollTo(round: number, clientWidth: number, size: number): number {
  return Math.max(0, (round / size) * COLUMN - (clientWidth - firstColumn()) / 2);
}
