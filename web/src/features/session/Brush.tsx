/** The part of a long loop that the sheet shows, on the chart of all of it: drag it, and the sheet follows. */

import { useEffect, useRef, type KeyboardEvent, type PointerEvent, type RefObject } from "react";
import { useSpeech } from "../../app/i18n";
import { COLUMN, firstColumn, inView, scrollTo } from "./geometry";

interface Props {
  frame: RefObject<HTMLDivElement | null>;
  rounds: number;
  size: number;
}

export function Brush({ frame, rounds, size }: Props) {
  const { t } = useSpeech();
  const track = useRef<HTMLDivElement>(null);
  const band = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const sheet = frame.current;
    if (!sheet) return;
    const draw = (): void => {
      const view = inView(sheet.scrollLeft, sheet.clientWidth, rounds, size);
      if (!band.current) return;
      band.current.style.left = `${(view.from / rounds) * 100}%`;
      band.current.style.width = `${Math.max(((view.to - view.from) / rounds) * 100, 0.3)}%`;
      track.current?.setAttribute("aria-valuenow", String(Math.floor(view.from) + 1));
    };
    draw();
    sheet.addEventListener("scroll", draw, { passive: true });
    const watch = new ResizeObserver(draw);
    watch.observe(sheet);
    return () => {
      sheet.removeEventListener("scroll", draw);
      watch.disconnect();
    };
  }, [frame, rounds, size]);

  const goTo = (event: PointerEvent): void => {
    const box = track.current?.getBoundingClientRect();
    const sheet = frame.current;
    if (!box || !sheet || event.buttons === 0) return;
    const round = ((event.clientX - box.left) / box.width) * rounds;
    sheet.scrollLeft = scrollTo(round, sheet.clientWidth, size);
  };
  const onKey = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    const sheet = frame.current;
    if (by === undefined || !sheet) return;
    event.preventDefault();
    sheet.scrollLeft = Number.isFinite(by) ? sheet.scrollLeft + by * COLUMN : by < 0 ? 0 : sheet.scrollWidth;
  };
  return (
    <div
      ref={track}
      className="brush"
      style={{ left: `${firstColumn()}px` }}
      role="slider"
      tabIndex={0}
      aria-label={t("chart.brush")}
      aria-valuemin={1}
      aria-valuemax={rounds}
      aria-valuenow={1}
      title={t("chart.brush")}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        goTo(event);
      }}
      onPointerMove={goTo}
      onKeyDown={onKey}
    >
      <div ref={band} className="brush-band" />
    </div>
  );
}
