/** Edits of a graph file that keep its comments, its order and every line they do not touch. */

import { diffArrays } from "diff";
import { Document, isMap, isSeq, parseDocument, YAMLMap, YAMLSeq } from "yaml";
import { bodyOf, type GraphBody } from "../../model/graph";

export type Path = (string | number)[];

/** The graph that a text holds, or null where it cannot be read. */
export function readBody(text: string): GraphBody | null {
  try {
    const document = parseDocument(text);
    if (document.errors.length > 0) return null;
    return bodyOf(document.toJS());
  } catch {
    return null;
  }
}

const STYLE = { lineWidth: 0, flowCollectionPadding: false } as const;

function written(document: Document, text: string): string {
  const indentSeq = !/^( *)[\w"']+:[^\S\n]*\n\1- /m.test(text);
  return document.toString({ ...STYLE, indentSeq });
}

/** Carries out an edit; lines that it does not change stay as they were written. */
export function edited(text: string, edit: (draft: Draft) => void): string {
  const document = parseDocument(text);
  const before = written(document, text);
  edit(new Draft(document));
  return patched(text, before, written(document, text));
}

/** What an edit did to one line as the library writes it: whether it stays, and what comes before it. */
interface Fate {
  stays: boolean;
  before: string[];
}

function fatesOf(old: string[], now: string[]): Fate[] {
  const fates: Fate[] = Array.from({ length: old.length + 1 }, () => ({ stays: true, before: [] }));
  let at = 0;
  for (const part of diffArrays(old, now)) {
    if (part.added) fates[at]!.before.push(...part.value);
    else {
      if (part.removed) part.value.forEach((_, index) => (fates[at + index]!.stays = false));
      at += part.value.length;
    }
  }
  return fates;
}

/** The text as its author wrote it, with the change from `before` to `after` carried out in it. */
function patched(text: string, before: string, after: string): string {
  if (before === text) return after;
  const old = before.split("\n");
  const fates = fatesOf(old, after.split("\n"));
  const lines: string[] = [];
  let at = 0;
  for (const [own, written] of blocksOf(text.split("\n"), old)) {
    const part = fates.slice(at, at + written.length);
    const untouched = part.every((fate, index) => fate.stays && (index === 0 || fate.before.length === 0));
    if (untouched) lines.push(...(part[0]?.before ?? []), ...own);
    else part.forEach((fate, index) => lines.push(...fate.before, ...(fate.stays ? [written[index]!] : [])));
    at += written.length;
  }
  return [...lines, ...fates[at]!.before].join("\n");
}

/** Pairs of lines as their author wrote them and as the library writes them, in order. */
function blocksOf(own: string[], written: string[]): [string[], string[]][] {
  const blocks: [string[], string[]][] = [];
  for (const part of diffArrays(own, written)) {
    const last = blocks.at(-1);
    if (part.added && last && last[1].length === 0) last[1] = part.value;
    else if (part.added) blocks.push([[], part.value]);
    else if (part.removed) blocks.push([part.value, []]);
    else part.value.forEach((line) => blocks.push([[line], [line]]));
  }
  return blocks;
}

/** A graph file under edit. */
export class Draft {
  /** Where the graph's own keys are: below `graph`, or at the top. */
  private readonly base: Path;

  constructor(readonly document: Document) {
    if (!isMap(document.contents)) document.contents = new YAMLMap() as never;
    this.base = document.has("graph") || !document.has("nodes") ? ["graph"] : [];
  }

  get body(): GraphBody {
    return (this.document.getIn(this.base, true) as { toJSON?: () => GraphBody } | undefined)?.toJSON?.() ?? { id: "" };
  }

  /** Sets a value below the graph, or removes it where it is undefined; an emptied map goes too. */
  set(path: Path, value: unknown): void {
    const full = [...this.base, ...path];
    if (value === undefined) {
      if (this.document.hasIn(full)) this.document.deleteIn(full);
      this.prune(full.slice(0, -1));
      return;
    }
    this.ensure(full.slice(0, -1));
    const existing = this.document.getIn(full, true) as { value?: unknown } | undefined;
    const isScalar = existing && typeof existing === "object" && "value" in existing && !isObject(value);
    if (isScalar) existing.value = value;
    else this.document.setIn(full, this.document.createNode(value));
  }

  private ensure(path: Path): void {
    for (let length = 1; length <= path.length; length += 1) {
      const part = path.slice(0, length);
      if (!isObject(this.document.getIn(part, true))) {
        this.document.setIn(part, typeof path[length] === "number" ? new YAMLSeq() : new YAMLMap());
      }
    }
  }

  private prune(path: Path): void {
    while (path.length > this.base.length) {
      const node = this.document.getIn(path, true);
      const prunable = path.includes("loops") || path.includes("config") || path.includes("condition");
      if (!isMap(node) || node.items.length > 0 || !prunable) return;
      this.document.deleteIn(path);
      path = path.slice(0, -1);
    }
  }

  private list(name: "nodes" | "edges"): YAMLSeq {
    const found = this.document.getIn([...this.base, name], true);
    if (isSeq(found)) {
      if (found.items.length === 0) found.flow = false;
      return found;
    }
    const made = new YAMLSeq();
    this.document.setIn([...this.base, name], made);
    return made;
  }

  nodeIndex(id: string): number {
    return this.body.nodes?.findIndex((node) => node?.id === id) ?? -1;
  }

  addNode(type: string, config: Record<string, unknown>): string {
    const taken = new Set((this.body.nodes ?? []).map((node) => node?.id));
    const stem = NAMES[type] ?? type;
    let id = stem;
    for (let number = 2; taken.has(id); number += 1) id = `${stem} ${number}`;
    const node = { id, type, ...(Object.keys(config).length > 0 ? { config } : {}) };
    this.list("nodes").add(this.document.createNode(node));
    return id;
  }

  removeNode(id: string): void {
    const edges = this.body.edges ?? [];
    for (let index = edges.length - 1; index >= 0; index -= 1) {
      if (edges[index]?.from === id || edges[index]?.to === id) this.removeEdge(index);
    }
    const index = this.nodeIndex(id);
    if (index >= 0) this.list("nodes").delete(index);
    this.set(["loops", id], undefined);
    this.rename(id, null);
  }

  /** Gives a node another id everywhere it is named. */
  renameNode(id: string, next: string): void {
    const index = this.nodeIndex(id);
    if (index < 0 || !next.trim()) return;
    this.set(["nodes", index, "id"], next);
    (this.body.edges ?? []).forEach((edge, at) => {
      if (edge?.from === id) this.set(["edges", at, "from"], next);
      if (edge?.to === id) this.set(["edges", at, "to"], next);
    });
    const contract = this.body.loops?.[id];
    if (contract !== undefined) {
      const loops = this.document.getIn([...this.base, "loops"], true);
      if (isMap(loops)) {
        const pair = loops.items.find((item) => String((item.key as { value?: unknown })?.value ?? item.key) === id);
        if (pair) pair.key = this.document.createNode(next);
      }
    }
    this.rename(id, next);
  }

  private rename(id: string, next: string | null): void {
    for (const name of ["start", "end"] as const) {
      const value = this.body[name];
      if (value === id) this.set([name], next ?? undefined);
      else if (Array.isArray(value) && value.includes(id)) {
        const kept = value.flatMap((one) => (one === id ? (next === null ? [] : [next]) : [one]));
        this.set([name], kept.length > 0 ? kept : undefined);
      }
    }
  }

  addEdge(from: string, to: string): number {
    const edge = this.document.createNode({ from, to }) as YAMLMap;
    edge.flow = true;
    const list = this.list("edges");
    list.add(edge);
    return list.items.length - 1;
  }

  removeEdge(index: number): void {
    this.list("edges").delete(index);
  }
}

const NAMES: Record<string, string> = {
  agent: "Agent",
  human: "Human",
  loop: "Loop",
  loop_counter: "Loop Guard",
  loop_timer: "Timer",
  passthrough: "Output",
  literal: "Text",
  debate: "Debate",
  vote: "Vote",
  fact_check: "Fact check",
  memory: "Memory",
  python: "Python",
  template: "Template",
  function: "Function",
  subgraph: "Subgraph",
};

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && (isMap(value) || isSeq(value) || Array.isArray(value) || !("value" in value));
}
