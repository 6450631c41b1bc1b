/** A new session from a point of this one: with another text, another answer, or another contract. */

import { useMemo, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { useControl, useStep } from "../../app/queries";
import { navigate } from "../../app/router";
import { placeOf, roundOf, roundsAround } from "../../model/address";
import type { SessionFold } from "../../model/fold";
import { Dialog } from "../../parts/Dialog";
import { Failure } from "../../parts/Failure";
import { useScene } from "./context";
import { said } from "./Detail";

interface Props {
  address: string;
  onClose: () => void;
}

export function Fork({ address: first, onClose }: Props) {
  const { id, fold, body } = useScene();
  const { t } = useSpeech();
  const control = useControl(id);
  const places = useMemo(() => forkPlaces(fold), [fold, fold.version]);
  const [address, setAddress] = useState(first);
  const step = fold.steps.get(address) ?? null;
  const node = step ? (body?.nodes ?? []).find((one) => one.id === step.node) : undefined;
  const isAnswer = node?.type === "human";
  const query = useStep(id, step ? address : null, `${step?.status}-${step?.ended ?? ""}`);
  const before = said(query.data ?? null);
  const [text, setText] = useState<string | null>(null);
  const loops = roundsAround(address).map((round) => round.loop);
  const head = (roundOf(address)?.entry ?? roundsAround(address).at(-1)?.address.replace(/\[\d+\]$/, "") ?? "").split("/").at(-1) ?? "";
  const contract = body?.loops?.[head] ?? {};
  const [rounds, setRounds] = useState("");
  const [goal, setGoal] = useState("");
  const start = (): void => {
    const set: Record<string, unknown> = {};
    if (text !== null && text !== before) set[isAnswer ? "answer" : "output"] = text;
    if (rounds.trim()) set[`loops.${head}.max_rounds`] = Number(rounds);
    if (goal.trim()) set[`loops.${head}.exit_on_score`] = Number(goal);
    control.mutate(
      { verb: "fork", body: { at: address, set } },
      {
        onSuccess: (child) => {
          onClose();
          navigate(`/sessions/${child.id}`);
        },
      },
    );
  };
  return (
    <Dialog title={t("fork.title")} onClose={onClose}>
      <p className="quiet">{t("fork.about")}</p>
      <label>
        <h3>{t("fork.at")}</h3>
        <select
          className="field"
          value={address}
          onChange={(event) => {
            setAddress(event.target.value);
            setText(null);
          }}
        >
          {!places.includes(address) && <option value={address}>{address}</option>}
          {places.map((place) => (
            <option key={place} value={place}>
              {place}
            </option>
          ))}
        </select>
      </label>
      {step && query.data && (
        <label>
          <h3>{isAnswer ? t("fork.answer") : t("fork.text", { node: placeOf(address).row })}</h3>
          <textarea className="field" rows={7} value={text ?? before} onChange={(event) => setText(event.target.value)} />
        </label>
      )}
      {loops.length > 0 && (
        <div className="choice" style={{ flexWrap: "wrap" }}>
          <label className="choice">
            {t("loop.max_rounds")}
            <input
              className="field"
              type="number"
              min={1}
              style={{ width: "6em" }}
              placeholder={String(contract.max_rounds ?? "")}
              value={rounds}
              onChange={(event) => setRounds(event.target.value)}
            />
          </label>
          <label className="choice">
            {t("loop.exit_on_score")}
            <input
              className="field"
              type="number"
              style={{ width: "6em" }}
              placeholder={String(contract.exit_on_score ?? "")}
              value={goal}
              onChange={(event) => setGoal(event.target.value)}
            />
          </label>
        </div>
      )}
      <Failure error={control.error} />
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          {t("action.cancel")}
        </button>
        <button type="button" className="button primary" disabled={control.isPending} onClick={start}>
          {t("fork.start")}
        </button>
      </div>
    </Dialog>
  );
}

/** The points one may fork from, newest first, at most a few hundred. */
function forkPlaces(fold: SessionFold): string[] {
  return [...fold.steps.values()]
    .filter((step) => step.status !== "skipped")
    .map((step) => step.address)
    .reverse()
    .slice(0, 300);
}
