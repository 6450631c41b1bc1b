/** The loops of a graph and the logical order of its nodes, as the engine sees them. */

import { edgesOf, nodesOf, startsOf, type EdgeDoc, type GraphBody } from "./graph";

export interface LoopItem {
  kind: "loop";
  head: string;
  /** All nodes inside, inner loops' too, in logical order. */
  nodes: string[];
  items: Item[];
}

export interface NodeItem {
  kind: "node";
  id: string;
}

export type Item = LoopItem | NodeItem;

export interface Structure {
  items: Item[];
  /** Every loop, outer ones before those inside them. */
  loops: LoopItem[];
}

export function structureOf(body: GraphBody): Structure {
  const ids = nodesOf(body).map((node) => node.id);
  const triggers = edgesOf(body).filter((edge) => edge.trigger !== false);
  const loops: LoopItem[] = [];
  const named = new Set(Object.keys(body.loops ?? {}));
  const starts = new Set(startsOf(body));
  const items = scope(ids, triggers, { starts, named, all: triggers }, loops);
  return { items, loops };
}

interface Hints {
  starts: Set<string>;
  named: Set<string>;
  all: EdgeDoc[];
}

function scope(ids: string[], edges: EdgeDoc[], hints: Hints, loops: LoopItem[]): Item[] {
  const parts = components(ids, edges);
  const partOf = new Map<string, number>();
  parts.forEach((part, index) => part.forEach((id) => partOf.set(id, index)));
  const order = levels(parts, edges, partOf);
  const looped = new Set(edges.filter((edge) => edge.from === edge.to).map((edge) => edge.from));
  return order.map((index): Item => {
    const part = parts[index]!;
    if (part.length === 1 && !looped.has(part[0]!)) return { kind: "node", id: part[0]! };
    return loopOf(part, edges, hints, loops);
  });
}

function loopOf(part: string[], edges: EdgeDoc[], hints: Hints, loops: LoopItem[]): LoopItem {
  const inside = new Set(part);
  const head = headOf(part, inside, edges, hints);
  const loop: LoopItem = { kind: "loop", head, nodes: [], items: [] };
  loops.push(loop);
  const within = edges.filter((edge) => inside.has(edge.from) && inside.has(edge.to) && edge.to !== head);
  const ordered = [head, ...part.filter((id) => id !== head)];
  loop.items = scope(ordered, within, hints, loops);
  loop.nodes = flatten(loop.items);
  return loop;
}

function headOf(part: string[], inside: Set<string>, edges: EdgeDoc[], hints: Hints): string {
  const entered = new Set(
    edges.filter((edge) => inside.has(edge.to) && !inside.has(edge.from)).map((edge) => edge.to),
  );
  const candidates = [
    part.find((id) => entered.has(id) && hints.named.has(id)),
    part.find((id) => entered.has(id)),
    part.find((id) => hints.starts.has(id)),
    part.find((id) => hints.named.has(id)),
  ];
  return candidates.find((id) => id !== undefined) ?? part[0]!;
}

export function flatten(items: Item[]): string[] {
  return items.flatMap((item) => (item.kind === "node" ? [item.id] : flatten(item.items)));
}

/** Parts in order of their longest path from the beginning, then of their place in the file. */
function levels(parts: string[][], edges: EdgeDoc[], partOf: Map<string, number>): number[] {
  const targets = new Map<number, Set<number>>();
  const waits = new Array<number>(parts.length).fill(0);
  const level = new Array<number>(parts.length).fill(0);
  for (const edge of edges) {
    const from = partOf.get(edge.from);
    const to = partOf.get(edge.to);
    if (from === undefined || to === undefined || from === to) continue;
    const known = targets.get(from) ?? new Set();
    if (!known.has(to)) waits[to]! += 1;
    targets.set(from, known.add(to));
  }
  const ready = parts.map((_, index) => index).filter((index) => waits[index] === 0);
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    for (const target of targets.get(next) ?? []) {
      level[target] = Math.max(level[target]!, level[next]! + 1);
      waits[target]! -= 1;
      if (waits[target] === 0) ready.push(target);
    }
  }
  return parts.map((_, index) => index).sort((a, b) => level[a]! - level[b]! || a - b);
}

/** Strongly connected parts (Tarjan, without recursion), each and all in the order of `ids`. */
function components(ids: string[], edges: EdgeDoc[]): string[][] {
  const place = new Map(ids.map((id, index) => [id, index]));
  const next: number[][] = ids.map(() => []);
  for (const edge of edges) {
    const from = place.get(edge.from);
    const to = place.get(edge.to);
    if (from !== undefined && to !== undefined) next[from]!.push(to);
  }
  const number = new Array<number>(ids.length).fill(-1);
  const low = new Array<number>(ids.length).fill(0);
  const open = new Array<boolean>(ids.length).fill(false);
  const stack: number[] = [];
  const found: number[][] = [];
  let count = 0;
  for (let root = 0; root < ids.length; root += 1) {
    if (number[root] !== -1) continue;
    const work: [number, number][] = [[root, 0]];
    while (work.length > 0) {
      const frame = work[work.length - 1]!;
      const [at, edge] = frame;
      if (edge === 0) {
        number[at] = low[at] = count++;
        stack.push(at);
        open[at] = true;
      }
      const target = next[at]![edge];
      if (target !== undefined) {
        frame[1] += 1;
        if (number[target] === -1) work.push([target, 0]);
        else if (open[target]) low[at] = Math.min(low[at]!, number[target]!);
        continue;
      }
      work.pop();
      const parent = work[work.length - 1];
      if (parent) low[parent[0]] = Math.min(low[parent[0]]!, low[at]!);
      if (low[at] === number[at]) found.push(close(stack, open, at));
    }
  }
  found.forEach((part) => part.sort((a, b) => a - b));
  found.sort((a, b) => a[0]! - b[0]!);
  return found.map((part) => part.map((index) => ids[index]!));
}

function close(stack: number[], open: boolean[], root: number): number[] {
  const part: number[] = [];
  for (;;) {
    const at = stack.pop()!;
    open[at] = false;
    part.push(at);
    if (at === root) return part;
  }
}

/** What the server says of a graph's nodes and loops. */
export interface StructureData {
  nodes: { id: string; name: string; loop: string | null; inside: string | null }[];
  loops: { head: string; nodes: string[]; parent: string | null }[];
}

/** The structure as the server has it: nodes in logical order, each in its innermost loop. */
export function structureFrom(given: StructureData): Structure {
  const loops = new Map<string, LoopItem>();
  const items: Item[] = [];
  const parents = new Map(given.loops.map((loop) => [loop.head, loop.parent]));
  const roomOf = (head: string | null): Item[] => {
    if (head === null || !parents.has(head)) return items;
    let loop = loops.get(head);
    if (!loop) {
      loop = { kind: "loop", head, nodes: [], items: [] };
      loops.set(head, loop);
      roomOf(parents.get(head) ?? null).push(loop);
    }
    return loop.items;
  };
  for (const node of given.nodes) {
    if (node.inside === null) roomOf(node.loop).push({ kind: "node", id: node.id });
  }
  for (const loop of loops.values()) loop.nodes = flatten(loop.items);
  return { items, loops: [...loops.values()] };
}
