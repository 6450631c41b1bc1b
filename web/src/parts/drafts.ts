/** What somebody is typing: kept in the browser until it is sent, so that nothing typed is lost. */

import { useState } from "react";

export function useDraft(key: string): [string, (text: string) => void] {
  const name = `rondel.draft.${key}`;
  const [text, setText] = useState(() => localStorage.getItem(name) ?? "");
  const keep = (next: string): void => {
    setText(next);
    if (next) localStorage.setItem(name, next);
    else localStorage.removeItem(name);
  };
  return [text, keep];
}
