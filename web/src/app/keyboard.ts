/** Keys that work on every page: `?` for help, `/` to search, `g` and a letter to go somewhere. */

import { useEffect, useRef } from "react";
import { navigate } from "./router";

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

const ROOMS: Record<string, string> = { s: "/sessions", i: "/inbox", g: "/graphs" };

export function useShortcuts(onHelp: () => void): void {
  useEffect(() => {
    let going = 0;
    const onKey = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const room = ROOMS[event.key];
      if (Date.now() - going < 1200 && room) {
        going = 0;
        navigate(room);
      } else if (event.key === "g") going = Date.now();
      else if (event.key === "?") onHelp();
      else if (event.key === "/") {
        const field = document.querySelector<HTMLElement>("[data-search]");
        if (field) event.preventDefault();
        field?.focus();
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [onHelp]);
}

/** Calls a handler for single keys, unless somebody is typing. */
export function useKeys(keys: Record<string, () => void>): void {
  const newest = useRef(keys);
  newest.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
      const action = newest.current[event.key];
      if (!action || isOnControl(event)) return;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

/** Enter on a button or a link is that button's or link's own. */
function isOnControl(event: KeyboardEvent): boolean {
  const target = event.target;
  return event.key === "Enter" && target instanceof HTMLElement && target.closest("a, button, summary") !== null;
}
