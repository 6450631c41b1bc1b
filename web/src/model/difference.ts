/** The difference of two texts, word by word, in any script. */

import { diffArrays } from "diff";

export interface Piece {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Texts longer than this are compared line by line. */
const MANY_WORDS = 6000;

export function wordsOf(text: string): string[] {
  if (typeof Intl.Segmenter === "function") {
    return Array.from(new Intl.Segmenter(undefined, { granularity: "word" }).segment(text), (part) => part.segment);
  }
  return text.match(/\p{L}+|\p{N}+|\s+|./gu) ?? [];
}

export function difference(before: string, after: string): Piece[] {
  if (before === after) return before ? [{ kind: "same", text: before }] : [];
  let left = wordsOf(before);
  let right = wordsOf(after);
  if (left.length + right.length > MANY_WORDS) {
    left = before.split(/(?<=\n)/);
    right = after.split(/(?<=\n)/);
  }
  const parts = diffArrays(left, right);
  return together(
    parts.map((part) => ({
      kind: part.added ? "added" : part.removed ? "removed" : "same",
      text: part.value.join(""),
    })),
  );
}

/** Changes that only a space or a comma keeps apart are one change: what went, then what came. */
function together(pieces: Piece[]): Piece[] {
  const result: Piece[] = [];
  let went = "";
  let came = "";
  const flush = (): void => {
    if (went) result.push({ kind: "removed", text: went });
    if (came) result.push({ kind: "added", text: came });
    went = came = "";
  };
  pieces.forEach((piece, index) => {
    if (piece.kind === "removed") went += piece.text;
    else if (piece.kind === "added") came += piece.text;
    else if ((went || came) && index < pieces.length - 1 && !/[\p{L}\p{N}\n]/u.test(piece.text)) {
      went += piece.text;
      came += piece.text;
    } else {
      flush();
      result.push(piece);
    }
  });
  flush();
  return result;
}

/** How many words came and went. */
export function tally(pieces: Piece[]): { added: number; removed: number } {
  const count = (kind: Piece["kind"]): number =>
    pieces
      .filter((piece) => piece.kind === kind)
      .reduce((sum, piece) => sum + wordsOf(piece.text).filter((word) => /[\p{L}\p{N}]/u.test(word)).length, 0);
  return { added: count("added"), removed: count("removed") };
}
