/** A state, by shape and colour, and in words for who cannot see either. */

import { memo, type ReactNode } from "react";
import { useSpeech } from "../app/i18n";

const SHAPES: Record<string, ReactNode> = {
  running: <path d="M5 1a4 4 0 1 1-4 4" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />,
  pending: <circle cx="5" cy="5" r="3.5" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  completed: <rect x="1" y="1" width="8" height="8" rx="1.5" fill="currentColor" />,
  bounded: <path d="M1 2h8M1 5h8M1 8h5" stroke="currentColor" strokeWidth="1.8" fill="none" />,
  failed: <path d="M1.5 1.5l7 7m0-7l-7 7" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />,
  skipped: <path d="M1.5 5h7" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" />,
  cancelled: <path d="M1.5 8.5l7-7" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />,
  waiting: <path d="M5 .8L9.2 5 5 9.2.8 5z" fill="currentColor" />,
  suspended: <path d="M5 .8L9.2 5 5 9.2.8 5z" fill="currentColor" />,
  paused: <path d="M3 1.5v7m4-7v7" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />,
  suspended_locked: (
    <path d="M2 4.6h6V9H2zM3.2 4.6V3.2a1.8 1.8 0 0 1 3.6 0v1.4" fill="currentColor" stroke="currentColor" strokeWidth="1" fillOpacity="0.9" />
  ),
};

export const Shape = memo(function Shape({ status }: { status: string }) {
  const turning = status === "running" ? " turning" : "";
  return (
    <svg className={`shape is-${status}${turning}`} viewBox="0 0 10 10" aria-hidden="true">
      {SHAPES[status] ?? SHAPES.pending}
    </svg>
  );
});

export function State({ status }: { status: string }) {
  const { t } = useSpeech();
  return (
    <span className={`state is-${status}`}>
      <Shape status={status} />
      {t(`status.${status}`)}
    </span>
  );
}
