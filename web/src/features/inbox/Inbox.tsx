/** Every question of every session, oldest first; made for a phone and for people who know no graphs. */

import { useEffect } from "react";
import { useSpeech } from "../../app/i18n";
import { useQuestions } from "../../app/queries";
import { Link } from "../../app/router";
import { Failure } from "../../parts/Failure";
import { QuestionCard } from "./QuestionCard";

interface Props {
  /** Only one session's questions, or only one question: where a link of a webhook lands. */
  session: string | null;
  address: string | null;
}

export function Inbox({ session, address }: Props) {
  const { t } = useSpeech();
  const query = useQuestions();
  const all = query.data ?? [];
  const shown = all.filter(
    (question) => (!session || question.session_id === session) && (!address || question.address === address),
  );
  useEffect(() => {
    document.title = `${t("nav.inbox")}${all.length > 0 ? ` (${all.length})` : ""} · Rondel`;
  }, [t, all.length]);
  return (
    <main className="page">
      <div className="page-head">
        <h1>{t("nav.inbox")}</h1>
        {session && (
          <>
            <Link href={`/sessions/${session}`}>{t("inbox.session")}</Link>
            <Link href="/inbox">{t("inbox.all", { count: all.length })}</Link>
          </>
        )}
      </div>
      <Failure error={query.error} />
      {query.data && shown.length === 0 && (
        <div className="empty">
          <h2>{session ? t("inbox.answered") : t("inbox.empty")}</h2>
          <p>{t("inbox.about")}</p>
        </div>
      )}
      <div className="inbox">
        {shown.map((question) => (
          <QuestionCard key={`${question.session_id} ${question.address}`} question={question} />
        ))}
      </div>
    </main>
  );
}
