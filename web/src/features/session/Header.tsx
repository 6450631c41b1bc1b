/** Who it is, how it stands, what it costs, and what one can do about it. */

import { useSpeech } from "../../app/i18n";
import { useControl, type Verb } from "../../app/queries";
import { Link } from "../../app/router";
import { money, number, score } from "../../model/format";
import type { Entry } from "../../model/fold";
import { Failure } from "../../parts/Failure";
import { Lasted } from "../../parts/Moment";
import { State } from "../../parts/State";
import { loopBounds, useScene } from "./context";

interface Props {
  entry: Entry | null;
  onFork: () => void;
}

export function Header({ entry, onFork }: Props) {
  const { id, fold, detail, mayAct, past } = useScene();
  const { t } = useSpeech();
  const graph = detail?.graph_id ?? "";
  const draft = detail && Object.keys(detail.inputs).length > 0 ? taskOf(detail.inputs) : "";
  return (
    <header>
      <div className="session-head">
        <div className="title">
          <h1>{graph ? <Link href={`/graphs/${encodeURIComponent(graph)}`}>{graph}</Link> : t("session.title")}</h1>
          <code className="quiet" title={id}>
            {id.slice(0, 8)}
          </code>
        </div>
        <span role="status" aria-live="polite">
          <State status={fold.status} />
        </span>
        <Figures entry={entry} />
        {mayAct && !past && <Controls onFork={onFork} />}
      </div>
      {(draft || detail?.parent) && (
        <p className="quiet small clip">
          {draft}
          {detail?.parent && (
            <>
              {draft ? " · " : ""}
              <Link href={`/sessions/${detail.parent}`}>{t("session.fork_of", { id: detail.parent.slice(0, 8) })}</Link>
            </>
          )}
        </p>
      )}
    </header>
  );
}

export function taskOf(inputs: Record<string, unknown>): string {
  if (typeof inputs.task === "string") return inputs.task;
  return Object.entries(inputs)
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" · ");
}

function Figures({ entry }: { entry: Entry | null }) {
  const scene = useScene();
  const { fold, detail, past } = scene;
  const { t, locale } = useSpeech();
  const { most, target, contract } = loopBounds(scene, entry?.head ?? "");
  const newest = entry?.rounds.findLast((round) => round?.score != null);
  const limit = costLimit(detail?.limits?.usd?.limit ?? null, contract.budget?.usd ?? null);
  return (
    <div className="figures">
      {entry && (
        <span className="figure">
          {most !== null
            ? t("figure.round_of", { round: entry.rounds.length, most })
            : t("figure.round", { round: entry.rounds.length })}
        </span>
      )}
      {newest?.score != null && (
        <span className="figure">
          {t("sheet.score")} <b>{score(newest.score, locale)}</b>
          {target !== null && ` → ${score(target, locale)}`}
        </span>
      )}
      {fold.calls > 0 && (
        <span className="figure" title={t("usage.tokens", { count: fold.tokens, number: number(fold.tokens, locale) })}>
          {limit !== null
            ? t("figure.cost_of", { cost: money(fold.usd, locale), limit: money(limit, locale) })
            : money(fold.usd, locale)}
        </span>
      )}
      {fold.tokens > 0 && (
        <span className="figure">{t("usage.tokens", { count: fold.tokens, number: number(fold.tokens, locale) })}</span>
      )}
      {fold.began !== null && (
        <span className="figure">
          <Lasted from={fold.began} to={past ? fold.latest : fold.ended} />
        </span>
      )}
    </div>
  );
}

function costLimit(one: number | null, other: number | null): number | null {
  if (one === null) return other;
  return other === null ? one : Math.min(one, other);
}

function Controls({ onFork }: { onFork: () => void }) {
  const { id, fold } = useScene();
  const { t } = useSpeech();
  const control = useControl(id);
  const act = (verb: Verb) => () => control.mutate({ verb });
  const { status } = fold;
  const runs = status === "running" || status === "pending";
  const stopped = (status === "paused" && fold.reason !== "round_end") || (status === "failed" && fold.reason !== "no_output");
  return (
    <div className="controls">
      {runs && (
        <button type="button" className="button" onClick={act("pause")} disabled={control.isPending}>
          {t("action.pause")}
        </button>
      )}
      {stopped && (
        <button type="button" className="button" onClick={act("resume")} disabled={control.isPending}>
          {t("action.resume")}
        </button>
      )}
      {!fold.over && (
        <button
          type="button"
          className="button danger"
          disabled={control.isPending}
          onClick={() => {
            if (confirm(t("session.stop_sure"))) control.mutate({ verb: "stop" });
          }}
        >
          {t("action.stop")}
        </button>
      )}
      <button type="button" className="button" onClick={onFork} disabled={fold.steps.size === 0}>
        {t("action.fork")}
      </button>
      {control.error && <Failure error={control.error} />}
    </div>
  );
}
