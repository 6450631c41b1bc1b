/** The breaker's dialog: why it locked, what repeats, and what opens it. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSpeech } from "../../app/i18n";
import { fetchSteps, useControl } from "../../app/queries";
import { inRound, roundsAround } from "../../model/address";
import type { Lock } from "../../model/fold";
import { number } from "../../model/format";
import { lockWords } from "../../model/words";
import { Dialog } from "../../parts/Dialog";
import { useDraft } from "../../parts/drafts";
import { Failure } from "../../parts/Failure";
import { useScene } from "./context";
import { said } from "./Detail";

const CHECKS = ["outputs", "cost", "effects"] as const;

export function Breaker({ lock, onClose }: { lock: Lock; onClose: () => void }) {
  const { id } = useScene();
  const { t, locale } = useSpeech();
  const control = useControl(id);
  const [why, setWhy] = useDraft(`unlock.${id}`);
  const [checked, setChecked] = useState<Record<string, boolean>>({});
  const allChecked = CHECKS.every((name) => checked[name]);
  const valid = why.trim() !== "" || allChecked;
  const figures = Object.entries(lock.figures).filter(([, value]) => typeof value === "number" || typeof value === "string");
  const unlock = (): void => {
    const body = {
      risk_justification: why.trim(),
      safety_checks: allChecked ? CHECKS.map(() => true) : [],
    };
    control.mutate(
      { verb: "unlock", body },
      {
        onSuccess: () => {
          setWhy("");
          onClose();
        },
      },
    );
  };
  return (
    <Dialog title={t("breaker.title")} onClose={onClose}>
      <p>
        {lockWords(lock, t)}
      </p>
      <dl className="pairs">
        {figures.map(([name, value]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{t(`breaker.figure.${name}`, { defaultValue: name })}</dt>
            <dd>{typeof value === "number" ? number(value, locale) : String(value)}</dd>
          </div>
        ))}
      </dl>
      <Repeated lock={lock} />
      <label>
        <h3>{t("breaker.because")}</h3>
        <textarea className="field" value={why} onChange={(event) => setWhy(event.target.value)} autoFocus />
      </label>
      <fieldset className="checks" style={{ border: 0, padding: 0, margin: 0 }}>
        <legend>
          <h3>{t("breaker.or_checks")}</h3>
        </legend>
        {CHECKS.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={checked[name] ?? false}
              onChange={(event) => setChecked({ ...checked, [name]: event.target.checked })}
            />
            {t(`breaker.check.${name}`)}
          </label>
        ))}
      </fieldset>
      <Failure error={control.error} />
      <div className="dialog-foot">
        {!valid && <span className="quiet small">{t("breaker.needed")}</span>}
        <button type="button" className="button" onClick={onClose}>
          {t("action.close")}
        </button>
        <button type="button" className="button primary" disabled={!valid || control.isPending} onClick={unlock}>
          {t("breaker.unlock")}
        </button>
      </div>
    </Dialog>
  );
}

/** The outputs that the breaker found to be the same, side by side. */
function Repeated({ lock }: { lock: Lock }) {
  const { id } = useScene();
  const { t } = useSpeech();
  const address = typeof lock.figures.address === "string" ? lock.figures.address : null;
  const round = address ? (roundsAround(address).at(-1)?.round ?? null) : null;
  const count = typeof lock.figures.repeats === "number" ? Math.min(lock.figures.repeats, 4) : 3;
  const { data } = useQuery({
    queryKey: ["repeated", id, address],
    queryFn: async () => {
      const rounds = Array.from({ length: count }, (_, back) => round! - count + 1 + back).filter((one) => one >= 1);
      return Promise.all(
        rounds.map(async (one) => {
          const at = inRound(address!, one)!;
          const steps = await fetchSteps(id, at);
          return { round: one, text: said(steps.find((step) => step.address === at) ?? null) };
        }),
      );
    },
    enabled: lock.reason === "LOOP_DETECTED" && round !== null,
    staleTime: Infinity,
  });
  if (!data) return null;
  return (
    <div className="side-by-side">
      {data.map((one) => (
        <figure key={one.round}>
          <figcaption>{t("detail.round", { round: one.round })}</figcaption>
          <div className="text">{one.text}</div>
        </figure>
      ))}
    </div>
  );
}
