/** Stored graphs: run one, change one, see how they do; or start from a template. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { createGraph, useGraphs, useInsights, useTemplates } from "../../app/queries";
import { Link, navigate } from "../../app/router";
import { useMayAct, useMayEdit } from "../../app/Entrance";
import type { GraphRow } from "../../api/types";
import { Dialog } from "../../parts/Dialog";
import { Failure } from "../../parts/Failure";
import { StatusCounts } from "./StatusCounts";
import { StartDialog } from "./StartDialog";

export function Graphs() {
  const { t } = useSpeech();
  const mayEdit = useMayEdit();
  const mayAct = useMayAct();
  const query = useGraphs();
  const [starting, setStarting] = useState<GraphRow | null>(null);
  const [choosing, setChoosing] = useState(false);
  const graphs = query.data ?? [];
  const statuses = new Map(useInsights(null).data?.graphs.map((one) => [one.graph_id, one.statuses]) ?? []);
  useEffect(() => {
    document.title = `${t("nav.graphs")} · Rondel`;
  }, [t]);
  return (
    <main className="page">
      <div className="page-head">
        <h1>{t("nav.graphs")}</h1>
        {mayEdit && (
          <button type="button" className="button primary" onClick={() => setChoosing(true)}>
            {t("graphs.new")}
          </button>
        )}
      </div>
      <Failure error={query.error} />
      {query.data && graphs.length === 0 && (
        <div className="empty">
          <h2>{t("graphs.empty")}</h2>
          <p>{t("graphs.about")}</p>
        </div>
      )}
      <div className="cards">
        {graphs.map((graph) => (
          <article className="card" key={graph.id}>
            <h2>
              <Link href={`/graphs/${encodeURIComponent(graph.id)}`}>{graph.id}</Link>
            </h2>
            {graph.description && <p>{graph.description}</p>}
            {graph.name !== `${graph.id}.yaml` && <p className="quiet small mono">{graph.name}</p>}
            <StatusCounts counts={statuses.get(graph.id) ?? {}} />
            <div className="row">
              {mayAct && (
                <button type="button" className="button small primary" onClick={() => setStarting(graph)}>
                  {t("action.run")}
                </button>
              )}
              <Link className="button small" href={`/graphs/${encodeURIComponent(graph.id)}`}>
                {mayEdit ? t("action.edit") : t("action.open")}
              </Link>
              <span className="links small">
                <Link href={`/sessions?graph=${encodeURIComponent(graph.id)}`}>{t("nav.sessions")}</Link>
                <Link href={`/graphs/${encodeURIComponent(graph.id)}/versions`}>{t("graphs.versions")}</Link>
                <Link href={`/graphs/${encodeURIComponent(graph.id)}/insights`}>{t("graphs.insights")}</Link>
              </span>
            </div>
          </article>
        ))}
      </div>
      {starting && <StartDialog graphId={starting.id} onClose={() => setStarting(null)} />}
      {choosing && <NewGraph onClose={() => setChoosing(false)} taken={graphs.map((graph) => graph.id)} />}
    </main>
  );
}

/** Gives a template's text an id that is not taken. */
export function withFreshId(text: string, taken: string[]): string {
  const found = /^(\s*id:\s*)(.+?)\s*$/m.exec(text);
  const base = found?.[2]?.replace(/^["']|["']$/g, "") ?? "graph";
  let id = base;
  for (let number = 2; taken.includes(id); number += 1) id = `${base}_${number}`;
  return found && id !== base ? text.replace(found[0], `${found[1]}${id}`) : text;
}

const BLANK = "version: 1\ngraph:\n  id: untitled\n  nodes: []\n  edges: []\n";

function NewGraph({ onClose, taken }: { onClose: () => void; taken: string[] }) {
  const { t } = useSpeech();
  const templates = useTemplates().data ?? [];
  const queries = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const take = async (text: string): Promise<void> => {
    try {
      const graph = await createGraph(withFreshId(text, taken));
      await queries.invalidateQueries({ queryKey: ["graphs"] });
      navigate(`/graphs/${encodeURIComponent(graph.id)}`);
    } catch (cause) {
      setError(cause);
    }
  };
  const blank = (): void => {
    sessionStorage.setItem("rondel.new-graph", withFreshId(BLANK, taken));
    navigate("/graphs/new");
  };
  return (
    <Dialog title={t("graphs.new")} onClose={onClose} wide>
      <Failure error={error} />
      <div className="cards">
        <button type="button" className="card as-button" onClick={blank}>
          <h2>{t("graphs.blank")}</h2>
          <p className="quiet">{t("graphs.blank_about")}</p>
        </button>
        {templates.map((template) => (
          <button type="button" className="card as-button" key={template.name} onClick={() => void take(template.text)}>
            <h2>{template.name}</h2>
            <p className="quiet">{template.summary}</p>
          </button>
        ))}
      </div>
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          {t("action.cancel")}
        </button>
      </div>
    </Dialog>
  );
}
