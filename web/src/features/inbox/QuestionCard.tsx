/** One question: who asks, what is to be looked at, what changed since, and the ways to answer. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSpeech } from "../../app/i18n";
import { fetchSteps, useControl } from "../../app/queries";
import { Link } from "../../app/router";
import { useMayAct } from "../../app/Entrance";
import type { QuestionItem } from "../../api/types";
import { roundBefore, roundsAround } from "../../model/address";
import { textOf } from "../../model/events";
import { Difference } from "../../parts/Difference";
import { useDraft } from "../../parts/drafts";
import { Failure } from "../../parts/Failure";
import { Moment, TimeLeft } from "../../parts/Moment";

interface Props {
  question: QuestionItem;
  /** Within the page of its session, which need not be named. */
  bare?: boolean;
}

export function QuestionCard({ question, bare }: Props) {
  const { t } = useSpeech();
  const mayAct = useMayAct();
  const control = useControl(question.session_id);
  const [text, setText] = useDraft(`${question.session_id}.${question.address}`);
  const round = roundsAround(question.address).at(-1)?.round ?? null;
  const answer = (value: string): void => {
    control.mutate(
      { verb: "answer", body: { text: value, node: question.node_id } },
      { onSuccess: () => setText("") },
    );
  };
  const busy = control.isPending || control.isSuccess;
  return (
    <article className={bare ? "question bare" : "question"} aria-label={t("inbox.asks", { node: question.node_id })}>
      <header>
        <h2>{t("inbox.asks", { node: question.node_id })}</h2>
        <span className="quiet">{round !== null ? t("detail.round", { round }) : ""}</span>
        <span className="grow" />
        {question.deadline && <TimeLeft until={question.deadline} />}
      </header>
      <p className="quiet small" hidden={bare}>
        <Link href={`/sessions/${question.session_id}?at=${encodeURIComponent(question.address)}`}>{question.graph_id}</Link>
        {" · "}
        {t("inbox.since")} <Moment at={question.asked_at} />
      </p>
      {question.description && <p className="asked">{question.description.trim()}</p>}
      <Review question={question} />
      {mayAct && (
        <>
          <label>
            <span className="hidden-text">{t("inbox.your_answer")}</span>
            <textarea
              className="field"
              placeholder={question.actions.length > 0 ? t("inbox.comment") : t("inbox.your_answer")}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          </label>
          <div className="answers">
            {question.actions.map((action, index) => (
              <button
                key={action}
                type="button"
                className={index === 0 ? "button primary" : "button"}
                disabled={busy}
                onClick={() => answer(text.trim() ? `${action}: ${text.trim()}` : action)}
              >
                {t(`inbox.action.${action}`, { defaultValue: action })}
              </button>
            ))}
            <button
              type="button"
              className={question.actions.length > 0 ? "button plain" : "button primary"}
              disabled={busy || !text.trim()}
              title={question.actions.length > 0 ? t("inbox.send_about") : undefined}
              onClick={() => answer(text.trim())}
            >
              {t("inbox.send")}
            </button>
          </div>
        </>
      )}
      <Failure error={control.error} />
    </article>
  );
}

/** What is under review; where it was seen a round before, with what has changed since. */
function Review({ question }: { question: QuestionItem }) {
  const { t } = useSpeech();
  const [whole, setWhole] = useState(false);
  const now = textsOf(question.messages);
  const before = roundBefore(question.address);
  const { data: last } = useQuery({
    queryKey: ["seen", question.session_id, before],
    queryFn: async () => {
      const steps = await fetchSteps(question.session_id, before!);
      return textsOf(steps.find((step) => step.address === before)?.inputs ?? []);
    },
    enabled: before !== null,
    staleTime: Infinity,
  });
  if (!now) return null;
  const differs = Boolean(last) && !whole;
  return (
    <div>
      <div className="review" tabIndex={0} role="region" aria-label={t("inbox.review")}>
        {differs ? <Difference before={last!} after={now} /> : <div className="text">{now}</div>}
      </div>
      {last && (
        <button type="button" className="button plain small" onClick={() => setWhole(!whole)}>
          {whole ? t("inbox.show_changes") : t("inbox.show_whole")}
        </button>
      )}
    </div>
  );
}

function textsOf(messages: { content: unknown }[]): string {
  return messages
    .map((message) => textOf(message.content))
    .filter(Boolean)
    .join("\n\n");
}
