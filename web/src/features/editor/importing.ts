/** A file that was dropped: a graph as it is, or one of another program, translated by the server. */

import { post } from "../../api/client";
import type { Translated } from "../../api/types";
import { readBody } from "./document";

export async function importDropped(file: File): Promise<string> {
  const text = await file.text();
  if (readBody(text)?.nodes?.every((node) => typeof node?.type === "string" && !("data" in node)) && !isForeign(text)) return text;
  const { text: translated } = await post<Translated>("/graphs/import", { text, name: file.name });
  return translated;
}

/** Whether a text looks like ChatDev's or Council's. */
function isForeign(text: string): boolean {
  return /"start_node_id"|^\s*(is_majority_voting|log_level|tooling|thinking):/m.test(text);
}
