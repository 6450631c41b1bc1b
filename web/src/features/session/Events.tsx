/** Every event as it is, for those who need it: filterable and exportable. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { BASE } from "../../api/client";
import { useScene } from "./context";

export function Events() {
  const { id, fold, select } = useScene();
  const { t } = useSpeech();
  const [kind, setKind] = useState("");
  const [text, setText] = useState("");
  const frame = useRef<HTMLDivElement>(null);
  const kinds = useMemo(() => [...new Set(fold.events.map((event) => event.event))].sort(), [fold.lastSeq]);
  const shown = useMemo(() => {
    const needle = text.toLowerCase();
    return fold.events.filter(
      (event) => (!kind || event.event === kind) && (!needle || JSON.stringify(event).toLowerCase().includes(needle)),
    );
  }, [fold, fold.lastSeq, kind, text]);
  const lines = useVirtualizer({
    count: shown.length,
    getScrollElement: () => frame.current,
    estimateSize: () => 26,
    overscan: 12,
  });
  return (
    <div>
      <div className="filters">
        <select className="field" aria-label={t("events.kind")} value={kind} onChange={(event) => setKind(event.target.value)}>
          <option value="">{t("events.all")}</option>
          {kinds.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <input
          className="field"
          data-search
          type="search"
          placeholder={t("events.search")}
          aria-label={t("events.search")}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <span className="quiet small" style={{ alignSelf: "center" }}>
          {t("events.count", { count: shown.length })}
        </span>
        <button type="button" className="button" onClick={() => save(`${id}.events.jsonl`, shown.map((event) => JSON.stringify(event)).join("\n"))}>
          {t("events.save")}
        </button>
        <a className="button" href={`${BASE}/sessions/${encodeURIComponent(id)}/export`} download>
          {t("events.export")}
        </a>
      </div>
      <div className="event-list" ref={frame} tabIndex={0} role="log" aria-label={t("tab.events")} aria-live="off">
        <div style={{ height: `${lines.getTotalSize()}px`, position: "relative" }}>
          {lines.getVirtualItems().map((item) => {
            const event = shown[item.index]!;
            return (
              <div key={item.key} className="event-line" style={{ transform: `translateY(${item.start}px)` }}>
                <span className="num quiet">{event.seq}</span>
                <span className="quiet wide-only">{event.timestamp.slice(11, 23)}</span>
                <span className="mono clip">{event.event}</span>
                <span className="clip">
                  {event.address && (
                    <button type="button" className="link" onClick={() => select(event.address)}>
                      {event.address}
                    </button>
                  )}
                </span>
                <span className="mono quiet clip wide-only" title={JSON.stringify(event.data)}>
                  {JSON.stringify(event.data)}
                </span>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
