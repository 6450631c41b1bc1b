/** What the server tells of a session: one envelope, many kinds of event. */

export interface RondelEvent {
  seq: number | null;
  event: string;
  timestamp: string;
  session_id: string;
  node_id: string | null;
  address: string | null;
  data: Record<string, unknown>;
}

export const ENDED: ReadonlySet<string> = new Set(["completed", "bounded", "failed", "cancelled"]);

export type { Message } from "../api/types";

/** The readable text of a message: plain, or the text parts of one with attachments. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join("\n");
  if (content && typeof content === "object") {
    const part = content as Record<string, unknown>;
    if (typeof part.text === "string") return part.text;
    if (typeof part.name === "string") return `[${part.name}]`;
    return JSON.stringify(content);
  }
  return content == null ? "" : String(content);
}

export function asNumber(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function asText(value: unknown): string {
  return typeof value === "string" ? value : value == null ? "" : String(value);
}
