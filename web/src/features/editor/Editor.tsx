/** The editor: palette, canvas, form, and the certificate below; the text is the one truth. */

import { ReactFlowProvider } from "@xyflow/react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { isTyping } from "../../app/keyboard";
import { createGraph, deleteGraph, fetchGraph, saveGraph, startSession } from "../../app/queries";
import { Link, navigate, useParameter } from "../../app/router";
import { useMayAct, useMayEdit } from "../../app/Entrance";
import { call, Refused } from "../../api/client";
import type { GraphDetail } from "../../api/types";
import { money, score } from "../../model/format";
import { Failure } from "../../parts/Failure";
import { useDraft as useKeptText } from "../../parts/drafts";
import { Tabs } from "../../parts/Tabs";
import { Certificate } from "./Certificate";
import type { Draft } from "./document";
import { useGraphDraft, type GraphDraft } from "./draft";
import { EdgeForm, LoopForm, NodeForm } from "./forms";
import { GraphFlow, type Selection } from "./GraphFlow";
import { ImportNote, type Notice } from "./ImportNote";
import { importDropped } from "./importing";
import type { Point } from "./layout";
import { Palette } from "./Palette";
import { RunPane } from "./RunPane";
import type { Schema } from "./SchemaForm";

const YamlView = lazy(() => import("./YamlView"));
const NEW = "new";

export default function Editor({ name }: { name: string }) {
  const { t } = useSpeech();
  const isNew = name === NEW;
  const fresh = sessionStorage.getItem("rondel.new-graph") ?? "version: 1\ngraph:\n  id: untitled\n  nodes: []\n  edges: []\n";
  const graph = useQuery({
    queryKey: ["graph", name],
    queryFn: () => fetchGraph(name),
    enabled: !isNew,
    staleTime: Infinity,
    gcTime: 0,
  });
  const schema = useQuery({ queryKey: ["schema"], queryFn: () => call<Schema>("/schema"), staleTime: Infinity });
  useEffect(() => {
    document.title = `${name} · Rondel`;
  }, [name]);
  if (graph.error) {
    return (
      <main className="page">
        <h1>{name}</h1>
        <Failure error={graph.error} />
      </main>
    );
  }
  if (!schema.data || (!isNew && !graph.data)) return <main className="editor" aria-busy="true" aria-label={t("editor.label")} />;
  return (
    <ReactFlowProvider>
      <Workshop key={graph.data?.etag ?? NEW} stored={graph.data ?? null} first={graph.data?.text ?? fresh} schema={schema.data} />
    </ReactFlowProvider>
  );
}

interface WorkshopProps {
  stored: GraphDetail | null;
  first: string;
  schema: Schema;
}

function Workshop({ stored, first, schema }: WorkshopProps) {
  const { t } = useSpeech();
  const draft = useGraphDraft(first);
  const [view, setView] = useParameter("view");
  const [selection, setSelection] = useState<Selection | null>(null);
  const [line, setLine] = useState<number | null>(null);
  const [run, setRun] = useState<string | null>(null);
  const [notice, setNotice] = useState<Notice | null>(null);
  const [dropping, setDropping] = useState(false);
  const [moved, setMoved] = useState(new Map<string, Point>());
  const [fit, setFit] = useState(0);
  const [added, setAdded] = useState(0);
  const mayEdit = useMayEdit();
  const saving = useSaving(stored, draft);
  const changed = draft.text !== (saving.base?.text ?? (stored ? first : ""));
  useUnsaved(changed && stored !== null);
  useUndoKeys(draft);
  const types = useMemo(() => nodeTypes(schema), [schema]);
  const chips = useChips(draft);
  const add = useCallback(
    (type: string, place: Point | null) => {
      let id = "";
      draft.edit((made: Draft) => {
        id = made.addNode(type, firstConfig(schema, type));
      });
      if (place) setMoved((before) => new Map(before).set(id, place));
      else setAdded((count) => count + 1);
      setSelection({ kind: "node", id });
    },
    [draft.edit, schema],
  );
  const remove = (gone: Selection): void => {
    draft.edit((made) => {
      if (gone.kind === "node") made.removeNode(gone.id);
      if (gone.kind === "edge") made.removeEdge(gone.index);
    });
    setSelection(null);
  };
  const current = view === "yaml" ? "yaml" : "canvas";
  return (
    <main className="editor" aria-label={t("editor.label")}>
      <Bar draft={draft} stored={stored} changed={changed} saving={saving} onRun={setRun}>
        <Tabs
          tabs={["canvas", "yaml"].map((id) => ({ id, name: t(`editor.${id}`) }))}
          current={current}
          onChoose={(next) => setView(next === "canvas" ? null : next)}
          label={t("editor.label")}
        />
        {current === "canvas" && (
          <button
            type="button"
            className="button plain"
            onClick={() => {
              setMoved(new Map());
              setFit((count) => count + 1);
            }}
          >
            {t("editor.layout")}
          </button>
        )}
      </Bar>
      {notice && <ImportNote notice={notice} onClose={() => setNotice(null)} />}
      <div className={`editor-body${run ? " with-run" : ""}`}>
        <Palette types={mayEdit ? types : []} onAdd={(type) => add(type, null)} />
        <div
          className={`editor-main${dropping ? " dropping" : ""}`}
          data-drop={t("editor.drop")}
          onDragOver={(event) => {
            if (!event.dataTransfer.types.includes("Files")) return;
            event.preventDefault();
            setDropping(true);
          }}
          onDragLeave={(event) => {
            if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDropping(false);
          }}
          onDrop={(event) => {
            setDropping(false);
            const file = event.dataTransfer.files[0];
            if (!file) return;
            event.preventDefault();
            void importDropped(file).then((found) => {
              draft.write(found.text);
              setNotice({ name: file.name, ...found });
              setFit((count) => count + 1);
            }, saving.fail);
          }}
        >
          {current === "yaml" ? (
            <Suspense fallback={<div className="yaml-view" />}>
              <YamlView text={draft.text} check={draft.check} line={line} onWrite={draft.write} readOnly={!mayEdit} />
            </Suspense>
          ) : (
            draft.body &&
            draft.structure && (
              <GraphFlow
                body={draft.body}
                structure={draft.structure}
                chips={chips}
                selection={selection}
                onSelect={setSelection}
                moved={moved}
                fitKey={`${fit}-${added}`}
                layoutKey={String(fit)}
                {...(mayEdit
                  ? {
                      onMove: (id: string, place: Point) => setMoved((before) => new Map(before).set(id, place)),
                      onConnect: (from: string, to: string) => {
                        let index = 0;
                        draft.edit((made) => {
                          index = made.addEdge(from, to);
                        });
                        setSelection({ kind: "edge", index });
                      },
                      onDropType: add,
                      onDelete: remove,
                    }
                  : {})}
              />
            )
          )}
        </div>
        {run ? (
          <RunPane key={run} id={run} onClose={() => setRun(null)} />
        ) : (
          <aside className="editor-side">
            {draft.broken && <div className="note wait">{t("editor.broken")}</div>}
            <Failure error={saving.error} />
            <SideForm draft={draft} selection={selection} schema={schema} onSelect={setSelection} onRemove={remove} />
          </aside>
        )}
      </div>
      <Certificate
        check={draft.check}
        checking={draft.checking}
        text={draft.text}
        body={draft.body}
        onGo={(place, at) => {
          if (place) setSelection(place);
          setLine(at);
        }}
      />
    </main>
  );
}

interface SideProps {
  draft: GraphDraft;
  selection: Selection | null;
  schema: Schema;
  onSelect: (selection: Selection | null) => void;
  onRemove: (selection: Selection) => void;
}

function SideForm({ draft, selection, schema, onSelect, onRemove }: SideProps) {
  const { t } = useSpeech();
  const { body, edit } = draft;
  if (!selection || !body) return <GraphForm draft={draft} />;
  if (selection.kind === "node") {
    const node = body.nodes?.find((one) => one.id === selection.id);
    if (!node) return null;
    return (
      <NodeForm
        key={node.id}
        node={node}
        body={body}
        schema={schema}
        edit={edit}
        onRenamed={(id) => onSelect({ kind: "node", id })}
        onRemove={() => onRemove(selection)}
      />
    );
  }
  if (selection.kind === "edge") {
    const edge = body.edges?.[selection.index];
    if (!edge) return <p className="quiet">{t("editor.nothing")}</p>;
    return <EdgeForm key={selection.index} edge={edge} index={selection.index} edit={edit} onRemove={() => onRemove(selection)} />;
  }
  return <LoopForm key={selection.head} head={selection.head} contract={body.loops?.[selection.head] ?? {}} steering={steeringIn(draft, selection.head)} edit={edit} schema={schema} />;
}

/** The nodes of a loop that decide about it themselves. */
function steeringIn(draft: GraphDraft, head: string): string[] {
  const items = draft.structure?.loops.find((loop) => loop.head === head)?.items ?? [];
  const inside = new Set(items.flatMap((item) => (item.kind === "node" ? [item.id] : [])));
  return (draft.body?.nodes ?? []).filter((node) => inside.has(node.id) && /^loop/.test(node.type)).map((node) => node.id);
}

function GraphForm({ draft }: { draft: GraphDraft }) {
  const { t } = useSpeech();
  const { body, edit } = draft;
  return (
    <div className="form">
      <h2>{t("editor.graph")}</h2>
      <label>
        <span className="name">{t("editor.id")}</span>
        <input className="field" value={body?.id ?? ""} onChange={(event) => edit((made) => made.set(["id"], event.target.value))} />
      </label>
      <label>
        <span className="name">{t("editor.description")}</span>
        <textarea
          className="field"
          value={body?.description ?? ""}
          onChange={(event) => edit((made) => made.set(["description"], event.target.value || undefined))}
        />
      </label>
      <p className="quiet">{t("editor.nothing")}</p>
    </div>
  );
}

interface Saving {
  base: GraphDetail | null;
  save: (over?: boolean) => void;
  conflict: boolean;
  error: unknown;
  fail: (error: unknown) => void;
  reload: () => void;
}

/** Saves what was loaded plus the change; tells when somebody else saved meanwhile. */
function useSaving(stored: GraphDetail | null, draft: GraphDraft): Saving {
  const queries = useQueryClient();
  const [base, setBase] = useState(stored);
  const [error, setError] = useState<unknown>(null);
  const conflict = error instanceof Refused && error.problem.status === 412;
  const save = (over = false): void => {
    const etag = over ? "*" : `"${base?.etag}"`;
    const done = base
      ? over
        ? fetchGraph(base.id).then((theirs) => saveGraph(base.id, draft.text, `"${theirs.etag}"`))
        : saveGraph(base.id, draft.text, etag)
      : createGraph(draft.text);
    done.then((saved) => {
      setError(null);
      setBase({ ...saved, text: draft.text });
      void queries.invalidateQueries({ queryKey: ["graphs"] });
      if (!base) {
        sessionStorage.removeItem("rondel.new-graph");
        navigate(`/graphs/${encodeURIComponent(saved.id)}`, true);
      }
    }, setError);
  };
  const reload = (): void => {
    void queries.invalidateQueries({ queryKey: ["graph"] });
    setError(null);
  };
  return { base, save, conflict, error: conflict ? null : error, fail: setError, reload };
}

interface BarProps {
  draft: GraphDraft;
  stored: GraphDetail | null;
  changed: boolean;
  saving: Saving;
  onRun: (id: string) => void;
  children: React.ReactNode;
}

function Bar({ draft, stored, changed, saving, onRun, children }: BarProps) {
  const { t } = useSpeech();
  const mayEdit = useMayEdit();
  const mayAct = useMayAct();
  return (
    <div className="editor-bar">
      <h1>{draft.body?.id || stored?.id || t("editor.graph")}</h1>
      <span className="quiet small">{changed ? t("editor.unsaved") : t("editor.saved")}</span>
      {children}
      {stored && (
        <Link className="small" href={`/graphs/${encodeURIComponent(stored.id)}/versions`}>
          {t("graphs.versions")}
        </Link>
      )}
      <span className="grow" />
      {saving.conflict && (
        <span className="note wait">
          {t("editor.conflict")}{" "}
          <button type="button" className="button small" onClick={saving.reload}>
            {t("editor.reload")}
          </button>{" "}
          <button type="button" className="button small" onClick={() => saving.save(true)}>
            {t("editor.overwrite")}
          </button>
        </span>
      )}
      {mayEdit && (
        <>
          <button type="button" className="button plain" onClick={draft.undo} disabled={!draft.canUndo}>
            {t("action.undo")}
          </button>
          <button type="button" className="button plain" onClick={draft.redo} disabled={!draft.canRedo}>
            {t("action.redo")}
          </button>
        </>
      )}
      {mayAct && <RunButton draft={draft} onRun={onRun} onError={saving.fail} />}
      {mayEdit && (
        <button type="button" className="button primary" onClick={() => saving.save()} disabled={!changed && stored !== null}>
          {t("action.save")}
        </button>
      )}
      {mayEdit && stored && (
        <button
          type="button"
          className="button plain danger"
          onClick={() => {
            if (!confirm(t("editor.delete_sure"))) return;
            deleteGraph(stored.id, `"${saving.base?.etag ?? stored.etag}"`).then(() => navigate("/graphs"), saving.fail);
          }}
        >
          {t("action.delete")}
        </button>
      )}
    </div>
  );
}

function RunButton({ draft, onRun, onError }: { draft: GraphDraft; onRun: (id: string) => void; onError: (error: unknown) => void }) {
  const { t } = useSpeech();
  const [task, setTask] = useKeptText(`run.${draft.body?.id ?? ""}`);
  const [real, setReal] = useState(false);
  const start = (): void => {
    startSession({ graph: draft.text, inputs: task, ...(real ? {} : { provider: "simulated" }) }).then(({ id }) => onRun(id), onError);
  };
  return (
    <>
      <input className="field" style={{ width: "17em" }} placeholder={t("editor.task")} aria-label={t("editor.task")} value={task} onChange={(event) => setTask(event.target.value)} />
      <label className="choice small">
        <input type="checkbox" checked={real} onChange={(event) => setReal(event.target.checked)} />
        {t("editor.real_models")}
      </label>
      <button type="button" className="button" onClick={start} disabled={draft.check?.valid !== true}>
        {t("editor.run")}
      </button>
    </>
  );
}

function useChips(draft: GraphDraft): Map<string, string> {
  const { locale } = useSpeech();
  return useMemo(() => {
    const words = new Map<string, string>();
    for (const loop of draft.structure?.loops ?? []) {
      const checked = draft.check?.loops.find((one) => one.head === loop.head);
      const contract = draft.body?.loops?.[loop.head] ?? {};
      const target = contract.exit_on_score ?? checked?.target ?? null;
      const usd = contract.budget?.usd;
      const parts = [
        `≤ ${fewest(contract.max_rounds, checked?.max_rounds) ?? "…"}`,
        target !== null && target !== undefined ? `≥ ${score(target, locale)}` : "",
        usd !== undefined ? money(usd, locale) : "",
      ];
      words.set(loop.head, parts.filter(Boolean).join(" · "));
    }
    return words;
  }, [draft.structure, draft.check, draft.body, locale]);
}

function fewest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

function nodeTypes(schema: Schema): string[] {
  const order = ["agent", "human", "loop", "loop_counter", "passthrough", "literal", "debate", "vote"];
  const all = (schema.$defs?.Node?.properties?.type?.enum ?? []) as string[];
  return [...order.filter((type) => all.includes(type)), ...all.filter((type) => !order.includes(type))];
}

/** What a node of a type cannot do without, with an empty value that a form can fill. */
function firstConfig(schema: Schema, type: string): Record<string, unknown> {
  if (type === "agent") return { role: "" };
  const config = schema.$defs?.[`node.${type}`];
  return Object.fromEntries(
    (config?.required ?? []).map((key) => {
      const kind = config?.properties?.[key]?.type;
      return [key, kind === "array" ? [] : kind === "object" ? {} : ""];
    }),
  );
}

function useUnsaved(changed: boolean): void {
  useEffect(() => {
    if (!changed) return;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [changed]);
}

function useUndoKeys(draft: GraphDraft): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z" || isTyping(event.target)) return;
      event.preventDefault();
      if (event.shiftKey) draft.redo();
      else draft.undo();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [draft.undo, draft.redo]);
}
