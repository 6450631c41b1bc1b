/** The difference of two texts line by line, with a little of what is around each change. */

import { diffArrays } from "diff";

export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
  /** The line's number in the older and in the newer text. */
  before: number | null;
  after: number | null;
}

/** Lines left out between two changes. */
export interface Gap {
  kind: "gap";
  count: number;
}

const AROUND = 3;

export function linesOf(before: string, after: string): Line[] {
  const found: Line[] = [];
  let [left, right] = [0, 0];
  for (const part of diffArrays(rows(before), rows(after))) {
    for (const text of part.value) {
      if (part.removed) found.push({ kind: "removed", text, before: ++left, after: null });
      else if (part.added) found.push({ kind: "added", text, before: null, after: ++right });
      else found.push({ kind: "same", text, before: ++left, after: ++right });
    }
  }
  return found;
}

function rows(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

/** The lines near a change; what lies between is a gap. */
export function shortened(lines: Line[], around = AROUND): (Line | Gap)[] {
  const near = new Set<number>();
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    for (let at = index - around; at <= index + around; at += 1) near.add(at);
  });
  const found: (Line | Gap)[] = [];
  lines.forEach((line, index) => {
    const last = found.at(-1);
    if (near.has(index)) found.push(line);
    else if (last?.kind === "gap") last.count += 1;
    else found.push({ kind: "gap", count: 1 });
  });
  return found;
}
