/** Times: relative to read, exact on hover. */

import { useEffect, useState } from "react";
import { useSpeech } from "../app/i18n";
import { duration, exact, relative } from "../model/format";

/** The time now, renewed every so often. */
export function useNow(every: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

export function Moment({ at }: { at: string | number }) {
  const { locale } = useSpeech();
  const now = useNow(30_000);
  const moment = typeof at === "number" ? at : Date.parse(at);
  if (Number.isNaN(moment)) return null;
  return (
    <time dateTime={new Date(moment).toISOString()} title={exact(moment, locale)}>
      {relative(moment, Math.max(now, moment), locale)}
    </time>
  );
}

/** How long something has lasted, counting while it goes on. */
export function Lasted({ from, to }: { from: number; to: number | null }) {
  const { locale } = useSpeech();
  const now = useNow(to === null ? 1000 : 3_600_000);
  return <>{duration((to ?? Math.max(now, from)) - from, locale)}</>;
}

/** The time left until a deadline. */
export function TimeLeft({ until }: { until: string }) {
  const { t, locale } = useSpeech();
  const now = useNow(1000);
  const left = Date.parse(until) - now;
  const title = exact(Date.parse(until), locale);
  return (
    <time dateTime={until} title={title} className={left < 600_000 ? "is-waiting" : "quiet"}>
      {left > 0 ? t("inbox.time_left", { time: duration(left, locale) }) : t("inbox.too_late")}
    </time>
  );
}
