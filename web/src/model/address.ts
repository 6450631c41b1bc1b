/** Addresses: the path of loops with their rounds, then the node and its visit. */

export interface Place {
  /** Everything up to the innermost round, as in `Writer[2]/Checker[1]`; empty outside all loops. */
  scope: string;
  /** The rest: the node's id, with the subgraphs around it. */
  row: string;
  visit: number;
}

export interface RoundPlace {
  /** One entry of a loop, as in `Writer[2]/Checker`. */
  entry: string;
  round: number;
}

const ROUND = /^(.*)\[(\d+)\]$/;
const VISIT = /^(.*)#(\d+)$/;

export function placeOf(address: string): Place {
  const at = address.lastIndexOf("]/");
  const scope = at < 0 ? "" : address.slice(0, at + 1);
  const rest = at < 0 ? address : address.slice(at + 2);
  const visited = VISIT.exec(rest);
  if (visited) return { scope, row: visited[1]!, visit: Number(visited[2]) };
  return { scope, row: rest, visit: 1 };
}

export function roundOf(address: string): RoundPlace | null {
  const found = ROUND.exec(address);
  return found ? { entry: found[1]!, round: Number(found[2]) } : null;
}

/** The scope in which an entry of a loop lies, and the loop's row there. */
export function ownerOf(entry: string): { scope: string; row: string } {
  const at = entry.lastIndexOf("]/");
  return at < 0 ? { scope: "", row: entry } : { scope: entry.slice(0, at + 1), row: entry.slice(at + 2) };
}

export function join(scope: string, row: string): string {
  return scope ? `${scope}/${row}` : row;
}

/** The rounds around an address, outermost first. */
export function roundsAround(address: string): { loop: string; round: number; address: string }[] {
  const found: { loop: string; round: number; address: string }[] = [];
  const pattern = /\[(\d+)\]/g;
  let begin = 0;
  for (let match = pattern.exec(address); match; match = pattern.exec(address)) {
    found.push({
      loop: address.slice(begin, match.index),
      round: Number(match[1]),
      address: address.slice(0, match.index + match[0].length),
    });
    begin = match.index + match[0].length + 1;
  }
  return found;
}

/** The same step one round earlier in the innermost loop around it, or null in the first round. */
export function roundBefore(address: string, back = 1): string | null {
  const { scope, row } = placeOf(address);
  const place = roundOf(scope);
  if (!place || place.round - back < 1) return null;
  return join(`${place.entry}[${place.round - back}]`, row);
}

export function inRound(address: string, round: number): string | null {
  const { scope, row } = placeOf(address);
  const place = roundOf(scope);
  return place ? join(`${place.entry}[${round}]`, row) : null;
}
