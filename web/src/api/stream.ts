/** Server-Sent Events over fetch: resumes where it broke off, as often as it has to. */

import { BASE } from "./client";

export type Connection = "connecting" | "live" | "lost" | "over";

interface Frame {
  id: string | null;
  data: string;
}

/** Cuts a stream of text into frames. */
export class FrameReader {
  private rest = "";
  private held = "";
  retry: number | null = null;

  read(chunk: string): Frame[] {
    const held = this.held + chunk;
    const whole = held.endsWith("\r") ? held.slice(0, -1) : held;  // its line feed may come next
    this.held = held.slice(whole.length);
    const parts = (this.rest + whole.replace(/\r\n?/g, "\n")).split("\n\n");
    this.rest = parts.pop() ?? "";
    return parts.map((part) => this.frame(part)).filter((frame) => frame !== null);
  }

  private frame(part: string): Frame | null {
    let id: string | null = null;
    const data: string[] = [];
    for (const line of part.split("\n")) {
      const colon = line.indexOf(":");
      if (colon <= 0) continue;
      const field = line.slice(0, colon);
      const value = line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") data.push(value);
      else if (field === "id") id = value;
      else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    }
    return data.length > 0 ? { id, data: data.join("\n") } : null;
  }
}

const SHORTEST = 250;
const LONGEST = 8000;

interface Listener {
  onEvent: (event: unknown) => void;
  onConnection: (state: Connection) => void;
  /** Whether nothing more can come, so that a closed stream stays closed. */
  isOver: () => boolean;
}

/** Follows a stream until closed; returns how to close it. */
export function follow(path: string, listener: Listener): () => void {
  const abort = new AbortController();
  void run(path, listener, abort.signal);
  return () => abort.abort();
}

async function run(path: string, listener: Listener, signal: AbortSignal): Promise<void> {
  let last: string | null = null;
  let wait = SHORTEST;
  listener.onConnection("connecting");
  while (!signal.aborted) {
    try {
      const reader = new FrameReader();
      for await (const chunk of chunks(path, last, signal, () => listener.onConnection("live"))) {
        wait = SHORTEST;
        for (const frame of reader.read(chunk)) {
          last = frame.id ?? last;
          listener.onEvent(JSON.parse(frame.data));
        }
      }
      wait = reader.retry ?? wait;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Gone) return listener.onConnection("over");
    }
    if (listener.isOver()) return listener.onConnection("over");
    listener.onConnection("lost");
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST);
  }
}

class Gone extends Error {}

async function* chunks(
  path: string,
  last: string | null,
  signal: AbortSignal,
  onOpen: () => void,
): AsyncGenerator<string> {
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (last !== null) headers["Last-Event-ID"] = last;
  const response = await fetch(BASE + path, { headers, signal, credentials: "same-origin" });
  if ([401, 403, 404].includes(response.status)) throw new Gone(response.statusText);
  if (!response.ok || !response.body) throw new Error(response.statusText);
  onOpen();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    function done(): void {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    }
    window.addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
