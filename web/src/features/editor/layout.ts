/** Where nodes and loop regions are drawn: from left to right, a loop's head first. */

import dagre from "@dagrejs/dagre";
import { edgesOf, nodesOf, type EdgeDoc, type GraphBody } from "../../model/graph";
import type { LoopItem, Structure } from "../../model/structure";

export const NODE_WIDTH = 144;
export const NODE_HEIGHT = 50;

export interface Point {
  x: number;
  y: number;
}

/** Whether an edge leads back to the head of a loop that it lies in. */
export function isBackEdge(edge: EdgeDoc, structure: Structure): boolean {
  return structure.loops.some(
    (loop) => loop.head === edge.to && loop.nodes.includes(edge.from) && edge.trigger !== false,
  );
}

export function layoutOf(body: GraphBody, structure: Structure): Map<string, Point> {
  const graph = new dagre.graphlib.Graph({ compound: true, multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 38, ranksep: 36, marginx: 20, marginy: 40 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodesOf(body)) graph.setNode(node.id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const loop of structure.loops) graph.setNode(ground(loop.head), {});
  for (const loop of structure.loops) {
    for (const item of loop.items) graph.setParent(item.kind === "node" ? item.id : ground(item.head), ground(loop.head));
  }
  edgesOf(body).forEach((edge, index) => {
    if (!graph.hasNode(edge.from) || !graph.hasNode(edge.to) || edge.from === edge.to) return;
    if (isBackEdge(edge, structure)) return;
    graph.setEdge(edge.from, edge.to, { weight: edge.trigger === false ? 0 : 2 }, String(index));
  });
  dagre.layout(graph);
  const places = new Map<string, Point>();
  for (const { id } of nodesOf(body)) {
    const node = graph.node(id) as unknown as { x: number; y: number };
    places.set(id, { x: node.x - NODE_WIDTH / 2, y: node.y - NODE_HEIGHT / 2 });
  }
  return places;
}

/** The name under which a loop's own ground is laid out. */
function ground(head: string): string {
  return `loop:${head}`;
}

export interface Region {
  head: string;
  x: number;
  y: number;
  width: number;
  height: number;
  depth: number;
}

/** The shaded ground of every loop, outer ones first. */
export function regionsOf(structure: Structure, places: Map<string, Point>): Region[] {
  return structure.loops.flatMap((loop) => {
    const points = loop.nodes.map((id) => places.get(id)).filter((point) => point !== undefined);
    if (points.length === 0) return [];
    const inner = innerDepth(loop);
    const side = 18 + inner * 16;
    const top = 34 + inner * 34;
    const bottom = 46 + inner * 22;
    const x = Math.min(...points.map((point) => point.x)) - side;
    const y = Math.min(...points.map((point) => point.y)) - top;
    const right = Math.max(...points.map((point) => point.x)) + NODE_WIDTH + side;
    const low = Math.max(...points.map((point) => point.y)) + NODE_HEIGHT + bottom;
    return [{ head: loop.head, x, y, width: right - x, height: low - y, depth: inner }];
  });
}

function innerDepth(loop: LoopItem): number {
  const inner = loop.items.filter((item) => item.kind === "loop").map((item) => innerDepth(item) + 1);
  return Math.max(0, ...inner);
}

/** A condition in a few words. */
export function conditionWords(condition: unknown): string {
  if (condition === undefined || condition === true || condition === "true") return "";
  if (condition === false || condition === "false") return "✕";
  if (!condition || typeof condition !== "object") return String(condition);
  const { type, config } = condition as { type?: string; config?: Record<string, unknown> };
  const words = (value: unknown): string => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));
  if (type === "keyword") {
    const any = words(config?.any);
    const none = words(config?.none);
    const regex = words(config?.regex);
    return [any, regex && `/${regex}/`, none && `¬ ${none}`].filter(Boolean).join(" · ");
  }
  if (type === "expr") return String(config?.expr ?? "");
  return config?.name ? `${config.name}()` : String(type ?? "");
}
