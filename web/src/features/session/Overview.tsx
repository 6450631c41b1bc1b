/** The right pane while no cell is chosen: what is being written, what is asked, or what came out. */

import { useSpeech } from "../../app/i18n";
import type { SessionDetail } from "../../api/types";
import { placeOf, roundsAround } from "../../model/address";
import { money, number } from "../../model/format";
import { Moment } from "../../parts/Moment";
import { Shape } from "../../parts/State";
import { QuestionCard } from "../inbox/QuestionCard";
import { useScene } from "./context";
import { taskOf } from "./Header";
import { questionsOf } from "./questions";
import { StreamedText } from "./StreamedText";
import { Waiting } from "./Waiting";

export function Overview() {
  const { t } = useSpeech();
  const { fold, detail, past } = useScene();
  const over = fold.over && !past;
  const title = over ? t("overview.result") : past ? t("overview.then") : t("overview.now");
  return (
    <aside className="detail overview" aria-label={t("detail.label")}>
      <div className="detail-head">
        <h2>{title}</h2>
      </div>
      <div className="detail-body" tabIndex={0} role="region" aria-label={title}>
        {over ? <Result detail={detail} /> : <Now />}
        {detail && <Given detail={detail} />}
        {over && detail && <Facts detail={detail} />}
      </div>
      <div className="detail-foot">
        <span className="grow">{t("detail.nothing")}</span>
      </div>
    </aside>
  );
}

function Result({ detail }: { detail: SessionDetail | null }) {
  const { t } = useSpeech();
  const { fold } = useScene();
  if (!detail) return null;
  if (detail.output) return <div className="text">{detail.output}</div>;
  return <p className="quiet">{fold.status === "failed" ? t("overview.failed") : t("overview.no_output")}</p>;
}

/** The step under way, as it is written; or what waits for a person. */
function Now() {
  const { id, fold, detail, past } = useScene();
  const { t } = useSpeech();
  const questions = past ? [] : questionsOf(fold, id, detail?.graph_id ?? "");
  if (questions.length > 0) {
    return questions.map((question) => <QuestionCard key={question.address} question={question} bare />);
  }
  const step = fold.running ? fold.steps.get(fold.running) : undefined;
  if (!step) return <p className="quiet">{t("session.starting")}</p>;
  const round = roundsAround(step.address).at(-1)?.round;
  const stream = fold.streams.get(step.address);
  const wait = fold.waits.get(step.address);
  return (
    <section className="now-writing">
      <h3>
        <Shape status={fold.lock ? "suspended_locked" : step.status} /> {placeOf(step.address).row}
        {round !== undefined && <span className="quiet"> {t("detail.round", { round })}</span>}
      </h3>
      {wait ? (
        <Waiting wait={wait} />
      ) : stream ? (
        <StreamedText text={stream} />
      ) : (
        <p className="quiet">{step.status === "running" ? t("detail.silent_running") : t("overview.next")}</p>
      )}
    </section>
  );
}

function Given({ detail }: { detail: SessionDetail }) {
  const { t } = useSpeech();
  const task = taskOf(detail.inputs);
  if (!task) return null;
  return (
    <section>
      <h3>{t("overview.given")}</h3>
      <p className="given">{task}</p>
    </section>
  );
}

function Facts({ detail }: { detail: SessionDetail }) {
  const { t, locale } = useSpeech();
  const { usage } = detail;
  const facts: [string, React.ReactNode][] = [
    [t("overview.began"), <Moment key="began" at={detail.created_at} />],
    [t("overview.steps"), number(detail.steps, locale)],
    [t("usage.calls"), number(usage.model_calls, locale)],
    [t("usage.input"), number(usage.input_tokens, locale)],
    [t("usage.output"), number(usage.output_tokens, locale)],
    [t("sheet.cost"), money(usage.usd, locale)],
  ];
  return (
    <section>
      <h3>{t("overview.facts")}</h3>
      <dl className="pairs figures-list">
        {facts.map(([name, value]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
