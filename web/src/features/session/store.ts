/** One session as this window knows it: its events folded, live, drawn at most once a frame. */

import { useEffect, useMemo, useSyncExternalStore } from "react";
import { follow, type Connection } from "../../api/stream";
import { SessionFold } from "../../model/fold";
import type { RondelEvent } from "../../model/events";

export class SessionStore {
  readonly fold = new SessionFold();
  connection: Connection = "connecting";
  private readonly listeners = new Set<() => void>();
  private version = 0;
  private scheduled = false;
  private close: (() => void) | null = null;

  constructor(readonly id: string) {}

  open(): void {
    this.close ??= follow(`/sessions/${encodeURIComponent(this.id)}/events`, {
      onEvent: (event) => {
        if (this.fold.take(event as RondelEvent)) this.changed();
      },
      onConnection: (state) => {
        this.connection = state;
        this.changed();
      },
      isOver: () => this.fold.over,
    });
  }

  shut(): void {
    this.close?.();
    this.close = null;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): number => this.version;

  private changed(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    const draw = (): void => {
      this.scheduled = false;
      this.version += 1;
      for (const listener of this.listeners) listener();
    };
    if (document.hidden) setTimeout(draw, 100);
    else requestAnimationFrame(draw);
  }
}

export function useSessionStore(id: string): SessionStore {
  const store = useMemo(() => new SessionStore(id), [id]);
  useEffect(() => {
    store.open();
    return () => store.shut();
  }, [store]);
  useSyncExternalStore(store.subscribe, store.snapshot);
  return store;
}
