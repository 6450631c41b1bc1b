/** A run of the draft beside the canvas: its sheet, its questions, its texts. */

import { useCallback, useMemo, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { useSessionDetail } from "../../app/queries";
import { Link } from "../../app/router";
import { useMayAct } from "../../app/Entrance";
import { bodyOf } from "../../model/graph";
import { structureFrom } from "../../model/structure";
import { State } from "../../parts/State";
import { QuestionCard } from "../inbox/QuestionCard";
import { SceneContext, type Scene } from "../session/context";
import { Detail } from "../session/Detail";
import { Ending } from "../session/Ending";
import { Fork } from "../session/Fork";
import { questionsOf } from "../session/questions";
import { Sheet } from "../session/Sheet";
import { Standing } from "../session/Standing";
import { useSessionStore } from "../session/store";

export function RunPane({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useSpeech();
  const store = useSessionStore(id);
  const { fold } = store;
  const query = useSessionDetail(id, `${fold.status}-${fold.entries.size}`);
  const [selected, setSelected] = useState<string | null>(null);
  const [forking, setForking] = useState<string | null>(null);
  const mayAct = useMayAct();
  const detail = query.data ?? null;
  const structure = useMemo(() => (detail?.graph ? structureFrom(detail.graph) : null), [detail?.graph]);
  const body = useMemo(() => bodyOf(detail?.graph?.document), [detail?.graph]);
  const select = useCallback((address: string | null) => setSelected(address), []);
  const outermost = fold.outermost;
  const entry = outermost.find((one) => one.end === null) ?? outermost.at(-1) ?? null;
  const scene: Scene = { id, fold, detail, body, structure, selected, select, mayAct, past: null };
  const questions = questionsOf(fold, id, detail?.graph_id ?? "");
  return (
    <SceneContext.Provider value={scene}>
      <aside className="editor-side run-pane" aria-label={t("editor.running")}>
        <div className="page-head">
          <h2>{t("editor.running")}</h2>
          <State status={fold.status} />
          <Link href={`/sessions/${id}`} className="mono small">
            {id.slice(0, 8)}
          </Link>
          <button type="button" className="button small" onClick={onClose}>
            {t("editor.close_run")}
          </button>
        </div>
        <Standing entry={entry} onFork={setForking} />
        {questions.map((question) => (
          <QuestionCard key={question.address} question={question} />
        ))}
        <Sheet />
        <Ending entry={entry} />
        {selected && <Detail onFork={setForking} />}
        {forking !== null && <Fork address={forking} onClose={() => setForking(null)} />}
      </aside>
    </SceneContext.Provider>
  );
}
