/** The graph under edit: its text, what can be undone, and what the server says of it. */

import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { checkGraph } from "../../app/queries";
import type { CheckResult } from "../../api/types";
import type { GraphBody } from "../../model/graph";
import { structureOf, type Structure } from "../../model/structure";
import { edited, readBody, type Draft } from "./document";

interface History {
  past: string[];
  text: string;
  future: string[];
}

export interface GraphDraft {
  text: string;
  body: GraphBody | null;
  structure: Structure | null;
  broken: boolean;
  check: CheckResult | null;
  checking: boolean;
  edit: (change: (draft: Draft) => void) => void;
  write: (text: string) => void;
  undo: () => void;
  redo: () => void;
  canUndo: boolean;
  canRedo: boolean;
  load: (text: string) => void;
}

/** Keystrokes in one field within this time are one thing to undo. */
const TOGETHER = 700;

export function useGraphDraft(first: string): GraphDraft {
  const [history, setHistory] = useState<History>({ past: [], text: first, future: [] });
  const lastWrite = useRef(0);
  const { text } = history;
  const write = useCallback((next: string) => {
    const together = Date.now() - lastWrite.current < TOGETHER;
    lastWrite.current = Date.now();
    setHistory((before) => {
      if (before.text === next) return before;
      const past = together && before.past.length > 0 ? before.past : [...before.past.slice(-199), before.text];
      return { past, text: next, future: [] };
    });
  }, []);
  const edit = useCallback(
    (change: (draft: Draft) => void) => {
      setHistory((before) => {
        const next = edited(before.text, change);
        if (next === before.text) return before;
        const together = Date.now() - lastWrite.current < TOGETHER;
        const past = together && before.past.length > 0 ? before.past : [...before.past.slice(-199), before.text];
        return { past, text: next, future: [] };
      });
      lastWrite.current = Date.now();
    },
    [],
  );
  const undo = useCallback(() => {
    lastWrite.current = 0;
    setHistory(({ past, text: now, future }) =>
      past.length === 0 ? { past, text: now, future } : { past: past.slice(0, -1), text: past.at(-1)!, future: [now, ...future] },
    );
  }, []);
  const redo = useCallback(() => {
    lastWrite.current = 0;
    setHistory(({ past, text: now, future }) =>
      future.length === 0 ? { past, text: now, future } : { past: [...past, now], text: future[0]!, future: future.slice(1) },
    );
  }, []);
  const load = useCallback((next: string) => setHistory({ past: [], text: next, future: [] }), []);
  const read = useMemo(() => readBody(text), [text]);
  const lastBody = useRef<GraphBody | null>(null);
  if (read) lastBody.current = read;
  const body = read ?? lastBody.current;
  const structure = useMemo(() => (body ? structureOf(body) : null), [body]);
  const { check, checking } = useCheck(text);
  return {
    text,
    body,
    structure,
    broken: read === null,
    check,
    checking,
    edit,
    write,
    undo,
    redo,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    load,
  };
}

/** The server's findings on a text, asked for as soon as it rests for a moment. */
function useCheck(text: string): { check: CheckResult | null; checking: boolean } {
  const [check, setCheck] = useState<CheckResult | null>(null);
  const [checking, setChecking] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      setChecking(true);
      checkGraph(text, abort.signal)
        .then((found) => {
          setCheck(found);
          setChecking(false);
        })
        .catch(() => {
          if (!abort.signal.aborted) setChecking(false);
        });
    }, 60);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return { check, checking };
}
