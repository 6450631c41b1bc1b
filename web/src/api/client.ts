/** Calls to the server; a refusal is an error with the server's own sentence. */

import type { Problem } from "./types";

export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail ?? problem.title ?? String(problem.status));
  }
}

/** The server could not be reached at all. */
export class Unreachable extends Error {}

export const BASE = "/api/v1";

interface Call {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export async function call<T>(path: string, options: Call = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(BASE + path, {
      method: options.method ?? "GET",
      headers,
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
      signal: options.signal,
      credentials: "same-origin",
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Unreachable(String(error));
  }
  if (!response.ok) throw new Refused(await problemOf(response));
  const text = await response.text();
  return (text && isJson(response) ? JSON.parse(text) : text) as T;
}

function isJson(response: Response): boolean {
  return (response.headers.get("Content-Type") ?? "").includes("json");
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text();
  try {
    return { ...(JSON.parse(text) as object), status: response.status };
  } catch {
    return { status: response.status, title: response.statusText, detail: text.slice(0, 300) || undefined };
  }
}

export function post<T>(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<T> {
  return call<T>(path, { method: "POST", body, headers });
}
