/** The foot of the sheet: how the loop ended, its best round, its budget, and how new its words are. */

import { useSpeech } from "../../app/i18n";
import type { Entry } from "../../model/fold";
import { number, score, share } from "../../model/format";
import { useScene } from "./context";

export function Ending({ entry }: { entry: Entry | null }) {
  const { fold, detail } = useScene();
  const { t, locale } = useSpeech();
  if (!entry) return null;
  const best = fold.best(entry);
  const newest = entry.rounds.findLast((round) => round?.entropy != null);
  const standing = detail?.loops.find((loop) => loop.address === entry.path || loop.loop === entry.head);
  const meters = Object.entries(standing?.budget ?? {}).filter(([, meter]) => meter.limit !== null && meter.limit > 0);
  return (
    <div className="ending">
      <span>
        {t("ending.by")} <b>{entry.end ? t(`reason.${entry.end.reason}`, { defaultValue: entry.end.reason }) : "–"}</b>
      </span>
      {best?.score != null && (
        <span>{t("ending.best", { round: best.round, score: score(best.score, locale) })}</span>
      )}
      {meters.map(([name, meter]) => (
        <span className="meter" key={name}>
          {t(`ending.budget_${name}`)}
          <progress max={1} value={Math.min(1, meter.spent / meter.limit!)} aria-label={t(`ending.budget_${name}`)} />
          {share(meter.spent / meter.limit!, locale)}
        </span>
      ))}
      {newest?.entropy != null && <span>{t("ending.novelty", { value: number(newest.entropy, locale) })}</span>}
    </div>
  );
}
