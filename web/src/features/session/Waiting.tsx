/** That a model is not asked yet: its provider wants to be left alone. */

import { useSpeech } from "../../app/i18n";
import type { Wait } from "../../model/fold";
import { duration } from "../../model/format";
import { useNow } from "../../parts/Moment";

const MINUTE = 60_000;

/** For how long, as short as a cell; nothing once it is over. */
export function WaitsFor({ until }: { until: number }) {
  const { t, locale } = useSpeech();
  const left = until - useNow(1000);
  if (left <= 0) return null;
  const time = duration(left < MINUTE ? left : Math.ceil(left / MINUTE) * MINUTE, locale);
  return <>{t("cell.waits", { time })}</>;
}

/** For how long, and why. */
export function Waiting({ wait }: { wait: Wait }) {
  const { t, locale } = useSpeech();
  const left = wait.until - useNow(1000);
  if (left <= 0) return <p className="quiet">{t("detail.silent_running")}</p>;
  return (
    <p className="note wait" role="status">
      {t("detail.waits", { time: duration(left, locale), reason: wait.reason })}
    </p>
  );
}
