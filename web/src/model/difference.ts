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
  return diffArrays(left, right).map((part) => ({
    kind: part.added ? "added" : part.removed ? "removed" : "same",
    text: part.value.join(""),
  }));
}

/** How many words came and went. */
export function tally(pieces: Piece[]): { added: number; removed: number } {
  const count = (kind: Piece["kind"]): number =>
    pieces
      .filter((piece) => piece.kind === kind)
      .reduce((sum, piece) => sum + wordsOf(piece.text).filter((word) => /[\p{L}\p{N}]/u.test(word)).length, 0);
  return { added: count("added"), removed: count("removed") };
}
