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
}

/** Keystrokes in one field within this time are one thing to undo. */
const TOGETHER = 700;

export function useGraphDraft(first: string): GraphDraft {
  const [history, setHistory] = useState<History>({ past: [], text: first, future: [] });
  const newest = useRef(history);
  const lastWrite = useRef(0);
  const { text } = history;
  const put = useCallback((next: History) => {
    newest.current = next;
    setHistory(next);
  }, []);
  const write = useCallback(
    (next: string) => {
      const { past, text: now } = newest.current;
      if (now === next) return;
      const together = Date.now() - lastWrite.current < TOGETHER && past.length > 0;
      lastWrite.current = Date.now();
      put({ past: together ? past : [...past.slice(-199), now], text: next, future: [] });
    },
    [put],
  );
  const edit = useCallback((change: (draft: Draft) => void) => write(edited(newest.current.text, change)), [write]);
  const undo = useCallback(() => {
    lastWrite.current = 0;
    const { past, text: now, future } = newest.current;
    if (past.length > 0) put({ past: past.slice(0, -1), text: past.at(-1)!, future: [now, ...future] });
  }, [put]);
  const redo = useCallback(() => {
    lastWrite.current = 0;
    const { past, text: now, future } = newest.current;
    if (future.length > 0) put({ past: [...past, now], text: future[0]!, future: future.slice(1) });
  }, [put]);
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
