/** What the sessions of a graph show together: rounds, ends, scores, cost, waits, the breaker. */

import { useEffect } from "react";
import { useSpeech } from "../../app/i18n";
import { useInsights } from "../../app/queries";
import type { GraphInsight, LoopInsight } from "../../api/types";
import { duration, money, number, score } from "../../model/format";
import { Failure } from "../../parts/Failure";
import { State } from "../../parts/State";
import { GraphHead } from "./GraphHead";
import { ScoreBand } from "./ScoreBand";

export default function Insights({ graph }: { graph: string }) {
  const { t } = useSpeech();
  const query = useInsights(graph);
  useEffect(() => {
    document.title = `${t("insights.title", { graph })} · Rondel`;
  }, [graph, t]);
  const found = query.data?.graphs.find((one) => one.graph_id === graph) ?? null;
  return (
    <main className="page">
      <GraphHead graph={graph} current="insights" />
      <Failure error={query.error} />
      {query.data && (!found || found.sessions === 0) && <p className="quiet">{t("insights.none")}</p>}
      {found && found.sessions > 0 && <Findings insight={found} />}
    </main>
  );
}

function Findings({ insight }: { insight: GraphInsight }) {
  const { t, locale } = useSpeech();
  const { cost } = insight;
  return (
    <div className="insights">
      <section className="card">
        <h2>{t("insights.status")}</h2>
        <Bars counts={insight.statuses} name={(status) => <State status={status} />} />
      </section>
      <section className="card">
        <h2>{t("insights.cost")}</h2>
        <dl className="pairs figures-list">
          <dt>{t("insights.sessions")}</dt>
          <dd>{number(insight.sessions, locale)}</dd>
          <dt>{t("sheet.cost")}</dt>
          <dd>{money(cost.usd, locale)}</dd>
          <dt>{t("insights.per_success")}</dt>
          <dd>{cost.usd_per_success === null ? "–" : money(cost.usd_per_success, locale)}</dd>
          <dt>{t("sheet.tokens")}</dt>
          <dd>{number(cost.tokens, locale)}</dd>
          <dt>{t("usage.calls")}</dt>
          <dd>{number(cost.model_calls, locale)}</dd>
        </dl>
      </section>
      {insight.loops.map((loop) => (
        <section className="card" key={loop.loop}>
          <h2>{t("sheet.loop", { head: loop.loop })}</h2>
          <h3>{t("insights.reasons")}</h3>
          <Bars counts={loop.exit_reasons} name={(reason) => t(`reason.${reason}`, { defaultValue: reason })} />
          {loop.scores.length > 0 && <Scores loop={loop} />}
        </section>
      ))}
      {insight.waits.length > 0 && (
        <section className="card">
          <h2>{t("insights.waiting")}</h2>
          <dl className="pairs">
            {insight.waits.map((wait) => (
              <div key={wait.node_id} style={{ display: "contents" }}>
                <dt>{wait.node_id}</dt>
                <dd>{duration(wait.mean * 1000, locale)}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      {Object.keys(insight.breaker.trips).length > 0 && (
        <section className="card">
          <h2>{t("insights.breaker")}</h2>
          <Bars counts={insight.breaker.trips} name={(reason) => t(`breaker.${reason}`, { defaultValue: reason })} />
        </section>
      )}
    </div>
  );
}

function Bars({ counts, name }: { counts: Record<string, number>; name: (key: string) => React.ReactNode }) {
  const { locale } = useSpeech();
  const most = Math.max(1, ...Object.values(counts));
  return (
    <div className="bars">
      {Object.entries(counts).map(([key, count]) => (
        <div key={key} className="bar">
          <span>{name(key)}</span>
          <progress max={most} value={count} aria-label={key} />
          <span className="num">{number(count, locale)}</span>
        </div>
      ))}
    </div>
  );
}

function Scores({ loop }: { loop: LoopInsight }) {
  const { t, locale } = useSpeech();
  return (
    <>
      <h3>{t("insights.scores")}</h3>
      <ScoreBand scores={loop.scores} />
      <table className="table">
        <thead>
          <tr>
            <th className="num">{t("sheet.round")}</th>
            <th className="num">{t("insights.entries")}</th>
            <th className="num">{t("insights.least")}</th>
            <th className="num">{t("insights.mean")}</th>
            <th className="num">{t("insights.most")}</th>
          </tr>
        </thead>
        <tbody>
          {loop.scores.slice(0, 50).map((one) => (
            <tr key={one.round}>
              <td className="num">{one.round}</td>
              <td className="num">{number(one.count, locale)}</td>
              <td className="num">{score(one.min, locale)}</td>
              <td className="num">{score(one.mean, locale)}</td>
              <td className="num">{score(one.max, locale)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
