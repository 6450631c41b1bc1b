/** A file that was dropped: a graph as it is, or one of another program, translated by the server. */

import { post, Refused } from "../../api/client";
import type { Translated } from "../../api/types";
import { readBody } from "./document";

export interface Dropped {
  text: string;
  /** Whose file it was; null for a graph as it is. */
  source: string | null;
  leftOut: string[];
}

/** What a dropped file holds; the server knows the files of others, and refuses the rest. */
export async function importDropped(file: File): Promise<Dropped> {
  const text = await file.text();
  try {
    const found = await post<Translated>("/graphs/import", { text, name: file.name });
    return { text: found.text, source: found.source, leftOut: found.left_out };
  } catch (error) {
    if (error instanceof Refused && readBody(text)?.nodes) return { text, source: null, leftOut: [] };
    throw error;
  }
}
