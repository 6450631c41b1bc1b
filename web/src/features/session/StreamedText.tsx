/** Text as it comes: the reader's scroll position wins over new text. */

import { useLayoutEffect, useRef } from "react";
import { useSpeech } from "../../app/i18n";

export function StreamedText({ text }: { text: string }) {
  const { t } = useSpeech();
  const ref = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const pane = ref.current?.parentElement;
    if (!pane) return;
    const onScroll = (): void => {
      atEnd.current = pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 24;
    };
    pane.addEventListener("scroll", onScroll, { passive: true });
    return () => pane.removeEventListener("scroll", onScroll);
  }, []);
  useLayoutEffect(() => {
    const pane = ref.current?.parentElement;
    if (pane && atEnd.current) pane.scrollTop = pane.scrollHeight;
  }, [text]);
  return (
    <div ref={ref} className="text" aria-busy="true" aria-label={t("cell.streaming")}>
      {text}
    </div>
  );
}
