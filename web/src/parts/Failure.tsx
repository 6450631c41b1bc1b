/** What went wrong, in the server's own sentence, or that it cannot be reached. */

import { Refused } from "../api/client";
import { useSpeech } from "../app/i18n";

export function useSentence(): (error: unknown) => string {
  const { t } = useSpeech();
  return (error) => (error instanceof Refused ? error.message : t("error.unreachable"));
}

export function Failure({ error }: { error: unknown }) {
  const sentence = useSentence();
  if (!error) return null;
  const more = error instanceof Refused ? (error.problem.errors ?? []) : [];
  return (
    <div className="note bad" role="alert">
      {sentence(error)}
      {more.length > 0 && (
        <ul>
          {more.map((item, index) => (
            <li key={index}>{item.line ? `${item.line}: ${item.message}` : item.message}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
