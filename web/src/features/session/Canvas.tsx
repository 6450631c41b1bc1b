/** The session's graph with the newest state of every node; the same selection as the sheet. */

import { ReactFlowProvider } from "@xyflow/react";
import { useMemo } from "react";
import { useSpeech } from "../../app/i18n";
import { placeOf } from "../../model/address";
import { score } from "../../model/format";
import { structureOf } from "../../model/structure";
import { GraphFlow, type Selection } from "../editor/GraphFlow";
import { loopBounds, useScene } from "./context";

export default function Canvas() {
  const { fold, body, detail, selected, select } = useScene();
  const { t, locale } = useSpeech();
  const structure = useMemo(() => (body ? structureOf(body) : null), [body]);
  const states = useMemo(() => {
    const found = new Map<string, { status: string; note: string }>();
    const visits = new Map<string, number>();
    for (const step of fold.steps.values()) {
      visits.set(step.node, (visits.get(step.node) ?? 0) + 1);
      found.set(step.node, { status: step.status, note: visits.get(step.node)! > 1 ? `${visits.get(step.node)}×` : "" });
    }
    return found;
  }, [fold, fold.version]);
  const chips = useMemo(() => {
    const words = new Map<string, string>();
    for (const loop of structure?.loops ?? []) {
      const { most, target } = loopBounds({ detail, body }, loop.head);
      const parts = [most !== null ? `≤ ${most}` : "", target !== null ? `≥ ${score(target, locale)}` : ""];
      words.set(loop.head, parts.filter(Boolean).join(" · "));
    }
    return words;
  }, [structure, body, detail, locale]);
  if (!body || !structure) return <div className="canvas-frame" />;
  const node = selected ? placeOf(selected).row : null;
  const choose = (selection: Selection | null): void => {
    if (selection?.kind !== "node") return;
    const newest = [...fold.steps.values()].findLast((step) => step.node === selection.id);
    select(newest?.address ?? null);
  };
  return (
    <div className="canvas-frame" aria-label={t("tab.canvas")}>
      <ReactFlowProvider>
        <GraphFlow
          body={body}
          structure={structure}
          chips={chips}
          states={states}
          selection={node ? { kind: "node", id: node } : null}
          onSelect={choose}
          fitKey="session"
          layoutKey="session"
        />
      </ReactFlowProvider>
    </div>
  );
}
