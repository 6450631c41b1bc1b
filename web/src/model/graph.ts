/** A graph document as the pages read it; only what they draw is typed. */

export interface NodeDoc {
  id: string;
  type: string;
  description?: string;
  config?: Record<string, unknown> | null;
  [key: string]: unknown;
}

export interface EdgeDoc {
  from: string;
  to: string;
  label?: string;
  condition?: unknown;
  trigger?: boolean;
  [key: string]: unknown;
}

export interface LoopContract {
  max_rounds?: number;
  exit_on_score?: number;
  until?: string;
  patience?: { rounds?: number; min_delta?: number };
  budget?: { tokens?: number; usd?: number; wall_time?: string | number };
  on_limit?: string;
  debug?: boolean;
  [key: string]: unknown;
}

export interface GraphBody {
  id: string;
  description?: string;
  start?: string | string[];
  end?: string | string[];
  nodes?: NodeDoc[];
  edges?: EdgeDoc[];
  loops?: Record<string, LoopContract>;
  [key: string]: unknown;
}

export interface GraphDocument {
  version?: number;
  vars?: Record<string, string>;
  graph: GraphBody;
}

/** The body of a document, whatever is around it; null where there is none. */
export function bodyOf(document: unknown): GraphBody | null {
  if (!document || typeof document !== "object") return null;
  const outer = document as Record<string, unknown>;
  const inner = outer.graph && typeof outer.graph === "object" ? outer.graph : outer;
  const body = inner as GraphBody;
  return Array.isArray(body.nodes) || typeof body.id === "string" ? body : null;
}

export function nodesOf(body: GraphBody): NodeDoc[] {
  return (Array.isArray(body.nodes) ? body.nodes : []).filter((node) => node && typeof node.id === "string");
}

export function edgesOf(body: GraphBody): EdgeDoc[] {
  return (Array.isArray(body.edges) ? body.edges : []).filter(
    (edge) => edge && typeof edge.from === "string" && typeof edge.to === "string",
  );
}

export function startsOf(body: GraphBody): string[] {
  const start = body.start;
  if (typeof start === "string") return [start];
  if (Array.isArray(start)) return start.filter((id) => typeof id === "string");
  const entered = new Set(edgesOf(body).map((edge) => edge.to));
  return nodesOf(body)
    .map((node) => node.id)
    .filter((id) => !entered.has(id));
}
