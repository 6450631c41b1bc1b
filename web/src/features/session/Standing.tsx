/** Where a session stands, in words, and what it wants of the reader. */

import { useState } from "react";
import { useSpeech } from "../../app/i18n";
import { useControl } from "../../app/queries";
import { Link } from "../../app/router";
import { placeOf, roundsAround } from "../../model/address";
import type { Entry } from "../../model/fold";
import { exact } from "../../model/format";
import { debateEnd, lockWords, loopEnd, sessionWords } from "../../model/words";
import { Failure } from "../../parts/Failure";
import { Breaker } from "./Breaker";
import { loopBounds, useScene } from "./context";

interface Props {
  entry: Entry | null;
  onFork: (address: string) => void;
}

const TONE: Record<string, string> = {
  completed: "good",
  bounded: "wait",
  failed: "bad",
  waiting: "wait",
  paused: "wait",
  suspended_locked: "lock",
};

export function Standing({ entry, onFork }: Props) {
  const { fold, mayAct, past } = useScene();
  const { t } = useSpeech();
  const words = useEnding(entry);
  const [unlocking, setUnlocking] = useState(false);
  if (past) return <PastLine />;
  if (fold.status === "running" || fold.status === "pending") return <RunningLine />;
  return (
    <div className={`note standing ${TONE[fold.status] ?? ""}`} role="status">
      <p>{words}</p>
      {mayAct && fold.status === "paused" && fold.reason === "round_end" && <RoundEnd entry={entry} onFork={onFork} />}
      {fold.status === "waiting" && <Answer />}
      {mayAct && fold.lock && (
        <button type="button" className="button" onClick={() => setUnlocking(true)}>
          {t("breaker.look")}
        </button>
      )}
      {unlocking && fold.lock && <Breaker lock={fold.lock} onClose={() => setUnlocking(false)} />}
    </div>
  );
}

function RunningLine() {
  const { fold } = useScene();
  const { t } = useSpeech();
  const at = fold.running;
  const round = at ? roundsAround(at).at(-1)?.round : undefined;
  const node = at ? placeOf(at).row : "";
  const words = !at ? t("session.starting") : round ? t("session.now_at", { node, round }) : t("session.now_at_once", { node });
  return (
    <div className="note standing run">
      <p className="clip">
        {words} {at && round && <code className="quiet">{at}</code>}
      </p>
    </div>
  );
}

/** The way to the question, for who has chosen a cell or has no room for the pane beside the sheet. */
function Answer() {
  const { id } = useScene();
  const { t } = useSpeech();
  return (
    <Link className="button" href={`/inbox/${id}`}>
      {t("action.answer")}
    </Link>
  );
}

function PastLine() {
  const { past, fold } = useScene();
  const { t, locale } = useSpeech();
  if (!past) return null;
  const at = fold.latest === null ? "" : exact(fold.latest, locale);
  return (
    <div className="note standing past" role="status">
      <p>{t("slider.past", { seq: past.seq, last: past.last, at })}</p>
      <button type="button" className="button" onClick={past.toNow}>
        {t("slider.to_now")}
      </button>
    </div>
  );
}

function useEnding(entry: Entry | null): string {
  const scene = useScene();
  const { fold } = scene;
  const { t, locale } = useSpeech();
  const state = fold.lock
    ? lockWords(fold.lock, t)
    : sessionWords(fold, t);
  const debate = fold.over && !entry ? debateEnd(fold, t) : "";
  if (!fold.over || !entry?.end || fold.status === "failed") return debate || state;
  const { target, contract } = loopBounds(scene, entry.head);
  return loopEnd(fold, entry, target, contract, t, locale) || state;
}

/** A debug stop: the round is over, and the next one waits for a word. */
function RoundEnd({ entry, onFork }: Props) {
  const { id } = useScene();
  const { t } = useSpeech();
  const control = useControl(id);
  const last = entry?.rounds.at(-1);
  return (
    <div className="dialog-foot">
      <button type="button" className="button primary" disabled={control.isPending} onClick={() => control.mutate({ verb: "resume" })}>
        {t("debug.one_more")}
      </button>
      <button
        type="button"
        className="button"
        disabled={control.isPending}
        onClick={() => control.mutate({ verb: "resume", body: { free: true } })}
      >
        {t("debug.go_on")}
      </button>
      {last && (
        <button type="button" className="button" onClick={() => onFork(last.address)}>
          {t("debug.edit")}
        </button>
      )}
      <Failure error={control.error} />
    </div>
  );
}
