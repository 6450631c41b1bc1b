/** What one can change of a node, an edge and a loop. */

import { useState } from "react";
import { useSpeech } from "../../app/i18n";
import type { EdgeDoc, GraphBody, LoopContract, NodeDoc } from "../../model/graph";
import type { Draft } from "./document";
import { useKindWords } from "./Palette";
import { plain, SchemaForm, type Schema } from "./SchemaForm";

export type Edit = (change: (draft: Draft) => void) => void;

interface NodeProps {
  node: NodeDoc;
  body: GraphBody;
  schema: Schema;
  edit: Edit;
  onRenamed: (id: string) => void;
  onRemove: () => void;
}

export function NodeForm({ node, body, schema, edit, onRenamed, onRemove }: NodeProps) {
  const { t } = useSpeech();
  const [id, setId] = useState(node.id);
  const words = useKindWords()(node.type);
  const config = schema.$defs?.[`node.${node.type}`] ?? { properties: {} };
  const general = schema.$defs?.Node ?? {};
  const set = (path: (string | number)[], value: unknown): void =>
    edit((draft) => draft.set(["nodes", draft.nodeIndex(node.id), ...path], value));
  const rename = (): void => {
    const next = id.trim();
    if (!next || next === node.id || body.nodes?.some((other) => other.id === next)) return setId(node.id);
    edit((draft) => draft.renameNode(node.id, next));
    onRenamed(next);
  };
  return (
    <div className="form">
      <h2>
        {t("editor.node")} <span className="quiet">{node.type}</span>
      </h2>
      {words && <p className="quiet small">{words}</p>}
      <label>
        <span className="name">{t("editor.id")}</span>
        <input
          className="field"
          value={id}
          onChange={(event) => setId(event.target.value)}
          onBlur={rename}
          onKeyDown={(event) => event.key === "Enter" && rename()}
        />
      </label>
      <SchemaForm schema={config} root={schema} value={node.config ?? {}} onChange={(key, value) => set(["config", key], value)} />
      <details>
        <summary>{t("editor.general")}</summary>
        <SchemaForm schema={general} root={schema} value={node} onChange={(key, value) => set([key], value)} skip={["id", "type", "config"]} />
      </details>
      <Ends node={node.id} body={body} edit={edit} />
      <div>
        <button type="button" className="button small danger" onClick={onRemove}>
          {t("editor.delete_node")}
        </button>
      </div>
    </div>
  );
}

function asList(value: string | string[] | undefined): string[] {
  return typeof value === "string" ? [value] : (value ?? []);
}

/** Whether the graph starts here, and whether its result is taken from here. */
function Ends({ node, body, edit }: { node: string; body: GraphBody; edit: Edit }) {
  const { t } = useSpeech();
  const toggle = (name: "start" | "end"): void => {
    const before = asList(body[name]);
    const next = before.includes(node) ? before.filter((id) => id !== node) : [...before, node];
    edit((draft) => draft.set([name], next.length > 0 ? next : undefined));
  };
  return (
    <div className="two">
      {(["start", "end"] as const).map((name) => (
        <label className="choice" key={name}>
          <input type="checkbox" checked={asList(body[name]).includes(node)} onChange={() => toggle(name)} />
          {t(`editor.${name}`)}
        </label>
      ))}
    </div>
  );
}

interface EdgeProps {
  edge: EdgeDoc;
  index: number;
  edit: Edit;
  onRemove: () => void;
}

type Kind = "always" | "never" | "keyword" | "expr" | "function";

function kindOf(condition: unknown): Kind {
  if (condition === false || condition === "false") return "never";
  if (condition && typeof condition === "object") return ((condition as { type?: Kind }).type ?? "always") as Kind;
  return "always";
}

const FRESH: Record<Kind, unknown> = {
  always: undefined,
  never: false,
  keyword: { type: "keyword", config: { any: [] } },
  expr: { type: "expr", config: { expr: "data.score >= 90" } },
  function: { type: "function", config: { name: "" } },
};

export function EdgeForm({ edge, index, edit, onRemove }: EdgeProps) {
  const { t } = useSpeech();
  const set = (path: (string | number)[], value: unknown): void => edit((draft) => draft.set(["edges", index, ...path], value));
  const kind = kindOf(edge.condition);
  const config = ((edge.condition as { config?: Record<string, unknown> } | undefined)?.config ?? {}) as Record<string, unknown>;
  return (
    <div className="form">
      <h2>
        {edge.from} → {edge.to}
      </h2>
      <label>
        <span className="name">{t("editor.label_field")}</span>
        <input className="field" value={edge.label ?? ""} onChange={(event) => set(["label"], event.target.value || undefined)} />
      </label>
      <label>
        <span className="name">{t("editor.condition")}</span>
        <select className="field" value={kind} onChange={(event) => set(["condition"], FRESH[event.target.value as Kind])}>
          {(Object.keys(FRESH) as Kind[]).map((name) => (
            <option key={name} value={name}>
              {t(`editor.${name}`)}
            </option>
          ))}
        </select>
      </label>
      {kind === "keyword" &&
        (["any", "none", "regex"] as const).map((name) => (
          <Lines key={name} name={t(`editor.${name}`)} value={config[name]} onChange={(value) => set(["condition", "config", name], value)} />
        ))}
      {kind === "expr" && (
        <label>
          <span className="name">{t("editor.expression")}</span>
          <input className="field mono" value={String(config.expr ?? "")} onChange={(event) => set(["condition", "config", "expr"], event.target.value)} />
        </label>
      )}
      {kind === "function" && (
        <label>
          <span className="name">{t("editor.name")}</span>
          <input className="field mono" value={String(config.name ?? "")} onChange={(event) => set(["condition", "config", "name"], event.target.value)} />
        </label>
      )}
      {(["trigger", "carry_data", "keep_message"] as const).map((name) => {
        const usual = name !== "keep_message";
        return (
          <label className="choice" key={name}>
            <input
              type="checkbox"
              checked={(edge[name] as boolean | undefined) ?? usual}
              onChange={(event) => set([name], event.target.checked === usual ? undefined : event.target.checked)}
            />
            {t(`editor.${name}`)}
          </label>
        );
      })}
      <div>
        <button type="button" className="button small danger" onClick={onRemove}>
          {t("editor.delete_edge")}
        </button>
      </div>
    </div>
  );
}

function Lines({ name, value, onChange }: { name: string; value: unknown; onChange: (value: string[] | undefined) => void }) {
  const [text, setText] = useState(Array.isArray(value) ? value.join("\n") : "");
  return (
    <label>
      <span className="name">{name}</span>
      <textarea
        className="field"
        rows={2}
        style={{ minHeight: 0 }}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          const words = event.target.value.split("\n").filter((word) => word.trim() !== "");
          onChange(words.length > 0 ? words : undefined);
        }}
      />
    </label>
  );
}

interface LoopProps {
  head: string;
  contract: LoopContract;
  /** Nodes inside that decide about the loop too. */
  steering: string[];
  edit: Edit;
  schema: Schema;
}

const USUAL_ROUNDS = 3;

/** The loop form of the requirement documents: the one form that is written by hand. */
export function LoopForm({ head, contract, steering, edit, schema }: LoopProps) {
  const { t } = useSpeech();
  const set = (path: string[], value: unknown): void => edit((draft) => draft.set(["loops", head, ...path], value));
  const rounds = contract.max_rounds ?? USUAL_ROUNDS;
  const early = contract.exit_on_score !== undefined ? "score" : contract.until !== undefined ? "until" : "nothing";
  const chooseEarly = (kind: string): void => {
    edit((draft) => {
      draft.set(["loops", head, "exit_on_score"], kind === "score" ? (contract.exit_on_score ?? 90) : undefined);
      draft.set(["loops", head, "until"], kind === "until" ? (contract.until ?? "data.done == true") : undefined);
    });
  };
  const limits = plain(schema.$defs?.Loop?.properties?.on_limit ?? {}, schema).enum ?? ["last", "best", "human", "fail"];
  return (
    <div className="form">
      <h2>{t("loop.title", { head })}</h2>
      {steering.length > 0 && <p className="quiet small">{t("loop.also", { nodes: steering.join(", ") })}</p>}
      <div>
        <label className="name" htmlFor="max-rounds">
          {t("loop.max_rounds")}
        </label>
        <div className="pair">
          <input
            id="max-rounds"
            type="range"
            min={1}
            max={10}
            value={Math.min(10, rounds)}
            onChange={(event) => set(["max_rounds"], Number(event.target.value))}
          />
          <input
            className="field num"
            type="number"
            min={1}
            aria-label={t("loop.max_rounds")}
            value={contract.max_rounds ?? ""}
            placeholder={String(USUAL_ROUNDS)}
            onChange={(event) => {
              const value = Math.round(Number(event.target.value));
              set(["max_rounds"], event.target.value === "" ? undefined : Math.max(1, value));
            }}
          />
        </div>
      </div>
      <label>
        <span className="name">{t("loop.exit_condition")}</span>
        <select className="field" value={early} onChange={(event) => chooseEarly(event.target.value)}>
          {["nothing", "score", "until"].map((name) => (
            <option key={name} value={name}>
              {t(`loop.by_${name}`)}
            </option>
          ))}
        </select>
      </label>
      {early === "score" && <NumberField name={t("loop.exit_on_score")} value={contract.exit_on_score} onChange={(value) => set(["exit_on_score"], value ?? 0)} />}
      {early === "until" && (
        <label>
          <span className="name">{t("loop.until")}</span>
          <input className="field mono" value={String(contract.until ?? "")} onChange={(event) => set(["until"], event.target.value)} />
        </label>
      )}
      <div className="two">
        <NumberField name={t("loop.patience")} value={contract.patience?.rounds} off={t("loop.off")} onChange={(value) => (value === undefined ? set(["patience"], undefined) : set(["patience", "rounds"], value))} />
        <NumberField name={t("loop.min_delta")} value={contract.patience?.min_delta} off="0" disabled={!contract.patience} onChange={(value) => set(["patience", "min_delta"], value)} />
      </div>
      <div className="two">
        <NumberField name={t("loop.budget_usd")} value={contract.budget?.usd} off={t("loop.off")} onChange={(value) => set(["budget", "usd"], value)} />
        <NumberField name={t("loop.budget_tokens")} value={contract.budget?.tokens} off={t("loop.off")} onChange={(value) => set(["budget", "tokens"], value)} />
      </div>
      <label>
        <span className="name">{t("loop.budget_time")}</span>
        <input className="field" value={String(contract.budget?.wall_time ?? "")} placeholder={t("loop.off")} onChange={(event) => set(["budget", "wall_time"], event.target.value || undefined)} />
      </label>
      <label>
        <span className="name">{t("loop.on_limit")}</span>
        <select className="field" value={contract.on_limit ?? ""} onChange={(event) => set(["on_limit"], event.target.value || undefined)}>
          <option value="">{t("loop.default")}</option>
          {limits.map((name) => (
            <option key={String(name)} value={String(name)}>
              {t(`loop.${String(name)}`)}
            </option>
          ))}
        </select>
      </label>
      {schema.$defs?.Loop?.properties?.debug && (
        <label className="choice">
          <input type="checkbox" checked={contract.debug ?? false} onChange={(event) => set(["debug"], event.target.checked || undefined)} />
          {t("loop.debug")}
        </label>
      )}
    </div>
  );
}

interface NumberProps {
  name: string;
  value: number | undefined;
  off?: string;
  disabled?: boolean;
  onChange: (value: number | undefined) => void;
}

function NumberField({ name, value, off, disabled, onChange }: NumberProps) {
  return (
    <label>
      <span className="name">{name}</span>
      <input
        className="field num"
        type="number"
        step="any"
        min={0}
        value={value ?? ""}
        placeholder={off}
        disabled={disabled}
        onChange={(event) => onChange(event.target.value === "" ? undefined : Number(event.target.value))}
      />
    </label>
  );
}
