/** Addresses of pages: everything a person looks at can be reloaded and shared. */

import { useCallback, useSyncExternalStore, type AnchorHTMLAttributes, type MouseEvent } from "react";

const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", tell);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function navigate(to: string, replace = false): void {
  if (to === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  tell();
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, () => location.pathname);
}

export function useSearch(): URLSearchParams {
  const search = useSyncExternalStore(subscribe, () => location.search);
  return new URLSearchParams(search);
}

/** One value kept in the address. */
export function useParameter(name: string): [string | null, (value: string | null, replace?: boolean) => void] {
  const value = useSearch().get(name);
  const set = useCallback(
    (next: string | null, replace = true) => {
      const search = new URLSearchParams(location.search);
      if (next === null || next === "") search.delete(name);
      else search.set(name, next);
      const text = search.toString();
      navigate(location.pathname + (text ? `?${text}` : ""), replace);
    },
    [name],
  );
  return [value, set];
}

/** Several values kept in the address, changed together. */
export function setParameters(values: Record<string, string | null>, replace = true): void {
  const search = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === "") search.delete(name);
    else search.set(name, value);
  }
  const text = search.toString();
  navigate(location.pathname + (text ? `?${text}` : ""), replace);
}

function isPlain(event: MouseEvent): boolean {
  return event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
}

export function Link({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  return (
    <a
      href={href}
      onClick={(event) => {
        onClick?.(event);
        if (event.defaultPrevented || !isPlain(event)) return;
        event.preventDefault();
        navigate(href);
        window.scrollTo(0, 0);
      }}
      {...rest}
    />
  );
}
