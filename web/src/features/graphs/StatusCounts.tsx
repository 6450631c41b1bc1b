/** How many sessions are in each state, in one line. */

import { useSpeech } from "../../app/i18n";
import { number } from "../../model/format";
import { Shape } from "../../parts/State";

const ORDER = ["running", "waiting", "paused", "suspended_locked", "completed", "bounded", "failed", "cancelled"];

export function StatusCounts({ counts }: { counts: Record<string, number> }) {
  const { t, locale } = useSpeech();
  const shown = ORDER.filter((status) => (counts[status] ?? 0) > 0);
  if (shown.length === 0) return null;
  return (
    <p className="status-counts small">
      {shown.map((status) => (
        <span key={status} className={`is-${status}`}>
          <Shape status={status} /> {number(counts[status]!, locale)} {t(`status.${status}`)}
        </span>
      ))}
    </p>
  );
}
