/** One session: live, in the middle, or long over; everything about it has an address. */

import { lazy, Suspense, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { useSpeech } from "../../app/i18n";
import { useKeys } from "../../app/keyboard";
import { useSessionDetail } from "../../app/queries";
import { setParameters, useParameter } from "../../app/router";
import { useMayAct } from "../../app/Entrance";
import { Refused } from "../../api/client";
import { roundsAround } from "../../model/address";
import type { Entry, SessionFold } from "../../model/fold";
import { bodyOf } from "../../model/graph";
import { structureFrom } from "../../model/structure";
import { Tabs } from "../../parts/Tabs";
import { Compare } from "./Compare";
import { SceneContext, useScene, type Scene } from "./context";
import { Detail } from "./Detail";
import { Ending } from "./Ending";
import { Events } from "./Events";
import { Fork } from "./Fork";
import { Header } from "./Header";
import { Sheet } from "./Sheet";
import { Slider, useFoldAt } from "./Slider";
import { Standing } from "./Standing";
import { useSessionStore } from "./store";
import { Transcript } from "./Transcript";

const Canvas = lazy(() => import("./Canvas"));
const VIEWS = ["sheet", "canvas", "transcript", "events"] as const;

export function SessionPage({ id }: { id: string }) {
  const { t } = useSpeech();
  const store = useSessionStore(id);
  const live = store.fold;
  const query = useSessionDetail(id, `${live.status}-${live.entries.size}`);
  const [atText] = useParameter("seq");
  const at = atText === null ? null : Number(atText);
  const fold = useFoldAt(live, at);
  const [selected, setSelected] = useParameter("at");
  const [forking, setForking] = useState<string | null>(null);
  const mayAct = useMayAct();
  const detail = query.data ?? null;
  const structure = useMemo(() => (detail?.graph ? structureFrom(detail.graph) : null), [detail?.graph]);
  const body = useMemo(() => bodyOf(detail?.graph?.document), [detail?.graph]);
  const select = useCallback((address: string | null) => setSelected(address), [setSelected]);
  useEffect(() => {
    document.title = `${detail?.graph_id ?? id.slice(0, 8)} · ${t(`status.${live.status}`)} · Rondel`;
  }, [detail?.graph_id, live.status, id, t]);
  const entry = mainEntry(fold, selected);
  useKeys(
    useMemo(
      () => ({ Escape: () => setSelected(null), f: () => setForking(selected ?? newestPlace(live)) }),
      [setSelected, selected, live],
    ),
  );
  if (query.error instanceof Refused) {
    return (
      <main className="page">
        <div className="empty">
          <h2>{t("session.missing")}</h2>
          <p>{query.error.message}</p>
        </div>
      </main>
    );
  }
  const past = fold === live ? null : { seq: at!, last: live.lastSeq, toNow: () => setParameters({ seq: null }) };
  const scene: Scene = { id, fold, detail, body, structure, selected, select, mayAct, past };
  return (
    <SceneContext.Provider value={scene}>
      <main className={`page wide session${fold.status === "suspended_locked" ? " locked" : ""}`}>
        <Header entry={entry} onFork={() => setForking(selected ?? newestPlace(live))} />
        <Standing entry={entry} onFork={setForking} />
        <Views entry={entry} onFork={setForking}>
          <Slider fold={live} at={at} onMove={(next) => setParameters({ seq: next === null ? null : String(next) })} />
        </Views>
      </main>
      {forking !== null && <Fork address={forking} onClose={() => setForking(null)} />}
      <Compare />
    </SceneContext.Provider>
  );
}

interface ViewsProps {
  entry: Entry | null;
  onFork: (address: string) => void;
  children: ReactNode;
}

function Views({ entry, onFork, children }: ViewsProps) {
  const { fold, selected } = useScene();
  const { t } = useSpeech();
  const [view, setView] = useParameter("view");
  const current = VIEWS.find((name) => name === view) ?? "sheet";
  const tabs = VIEWS.map((name) => ({ id: name, name: t(`tab.${name}`) }));
  return (
    <>
      <Tabs tabs={tabs} current={current} onChoose={(name) => setView(name === "sheet" ? null : name)} label={t("tab.label")} />
      <div className={`split${selected ? " open" : ""}${current === "canvas" && !selected ? " single" : ""}`}>
        <div className="main-pane">
          {current === "sheet" && (
            <>
              <Sheet />
              <Ending entry={entry} />
            </>
          )}
          {current === "canvas" && (
            <Suspense fallback={<div className="canvas-frame" />}>
              <Canvas />
            </Suspense>
          )}
          {(current === "sheet" || current === "canvas") && children}
          {current === "transcript" && <Transcript />}
          {current === "events" && <Events />}
        </div>
        {(current !== "canvas" || selected) && <Detail onFork={onFork} />}
      </div>
      <p className="hidden-text" role="status" aria-live="polite">
        {entry ? t("sheet.heard", { round: entry.rounds.length, status: t(`status.${fold.status}`) }) : ""}
      </p>
    </>
  );
}


/** The loop that the figures are about: the one selected in, else the outermost that runs, else the last. */
function mainEntry(fold: SessionFold, selected: string | null): Entry | null {
  const outer = selected ? roundsAround(selected)[0] : undefined;
  const chosen = outer ? fold.entries.get(outer.loop) : undefined;
  if (chosen) return chosen;
  const outermost = fold.outermost;
  return outermost.find((entry) => entry.end === null) ?? outermost.at(-1) ?? null;
}

function newestPlace(fold: SessionFold): string {
  return [...fold.steps.keys()].at(-1) ?? "";
}
