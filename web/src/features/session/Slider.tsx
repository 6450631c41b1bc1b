/** Time travel: the session as it was after any of its events, with a stop at every round. */

import { useMemo } from "react";
import { useSpeech } from "../../app/i18n";
import { exact } from "../../model/format";
import { SessionFold } from "../../model/fold";

/** The fold up to an event; the session's own when it is the newest. */
export function useFoldAt(fold: SessionFold, at: number | null): SessionFold {
  const isNow = at === null || at >= fold.lastSeq;
  return useMemo(() => (isNow ? fold : new SessionFold().takeAll(fold.events.slice(0, at))), [fold, at, isNow]);
}

interface Props {
  fold: SessionFold;
  at: number | null;
  onMove: (at: number | null) => void;
}

export function Slider({ fold, at, onMove }: Props) {
  const { t, locale } = useSpeech();
  const ends = fold.roundEnds;
  const now = at ?? fold.lastSeq;
  const before = ends.findLast((seq) => seq < now) ?? 1;
  const after = ends.find((seq) => seq > now) ?? null;
  const event = fold.events[now - 1];
  if (fold.lastSeq < 2) return null;
  return (
    <div className="slider">
      <span className="slider-name">{t("slider.label")}</span>
      <button type="button" className="button small" onClick={() => onMove(before)} aria-label={t("slider.back")} title={t("slider.back")}>
        ‹
      </button>
      <input
        type="range"
        min={1}
        max={fold.lastSeq}
        value={now}
        aria-label={t("slider.label")}
        aria-valuetext={event ? exact(Date.parse(event.timestamp), locale) : undefined}
        onChange={(change) => {
          const next = Number(change.target.value);
          onMove(next >= fold.lastSeq ? null : next);
        }}
      />
      <button
        type="button"
        className="button small"
        disabled={at === null}
        onClick={() => onMove(after)}
        aria-label={t("slider.forward")}
        title={t("slider.forward")}
      >
        ›
      </button>
      <span className="slider-now">
        {at === null ? t("slider.now") : t("slider.at", { seq: now, last: fold.lastSeq })}
      </span>
    </div>
  );
}
