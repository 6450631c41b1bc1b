/** Tabs that arrow keys walk through. */

import { useRef } from "react";

interface Tab {
  id: string;
  name: string;
}

interface Props {
  tabs: Tab[];
  current: string;
  onChoose: (id: string) => void;
  label: string;
}

export function Tabs({ tabs, current, onChoose, label }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const walk = (by: number): void => {
    const at = tabs.findIndex((tab) => tab.id === current);
    const next = tabs[(at + by + tabs.length) % tabs.length]!;
    onChoose(next.id);
    ref.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div
      ref={ref}
      className="tabs"
      role="tablist"
      aria-label={label}
      onKeyDown={(event) => {
        if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
        event.preventDefault();
        event.stopPropagation();
        walk(event.key === "ArrowRight" ? 1 : -1);
      }}
    >
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          data-tab={tab.id}
          aria-selected={tab.id === current}
          tabIndex={tab.id === current ? 0 : -1}
          onClick={() => onChoose(tab.id)}
        >
          {tab.name}
        </button>
      ))}
    </div>
  );
}
