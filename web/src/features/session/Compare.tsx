/** Two rounds of one loop, node by node. */

import { useQuery } from "@tanstack/react-query";
import { useSpeech } from "../../app/i18n";
import { fetchSteps } from "../../app/queries";
import { useParameter } from "../../app/router";
import { loopRows } from "../../model/sheet";
import { score, signed } from "../../model/format";
import { Difference } from "../../parts/Difference";
import { Dialog } from "../../parts/Dialog";
import { useScene } from "./context";
import { said } from "./Detail";

export function Compare() {
  const [text, setText] = useParameter("compare");
  const { fold, structure } = useScene();
  const { t, locale } = useSpeech();
  const [path, first, second] = (text ?? "").split("~");
  const entry = path ? fold.entries.get(path) : undefined;
  if (!text || !entry || !path) return null;
  const [one, two] = [Number(first), Number(second)];
  const rows = loopRows(fold, structure, path, entry.head).filter((row) => row.kind === "node");
  const choose = (left: number, right: number): void => setText(`${path}~${left}~${right}`);
  const delta = (entry.rounds[two - 1]?.score ?? NaN) - (entry.rounds[one - 1]?.score ?? NaN);
  return (
    <Dialog title={t("compare.title", { head: path })} onClose={() => setText(null)} wide>
      <div className="choice">
        <RoundChoice label={t("compare.from")} value={one} count={entry.rounds.length} onChoose={(round) => choose(round, two)} />
        <RoundChoice label={t("compare.to")} value={two} count={entry.rounds.length} onChoose={(round) => choose(one, round)} />
        <span className="quiet">
          {[one, two].map((round) => entry.rounds[round - 1]?.score).every((value) => value != null) &&
            `${score(entry.rounds[one - 1]!.score!, locale)} → ${score(entry.rounds[two - 1]!.score!, locale)} (${signed(delta, locale)})`}
        </span>
      </div>
      {rows.map((row) => (
        <Pair key={`${row.row}-${one}-${two}`} row={row.row} before={`${path}[${one}]/${row.row}`} after={`${path}[${two}]/${row.row}`} />
      ))}
      <div className="dialog-foot">
        <button type="button" className="button" onClick={() => setText(null)}>
          {t("action.close")}
        </button>
      </div>
    </Dialog>
  );
}

interface ChoiceProps {
  label: string;
  value: number;
  count: number;
  onChoose: (round: number) => void;
}

function RoundChoice({ label, value, count, onChoose }: ChoiceProps) {
  return (
    <label className="choice">
      {label}
      <input
        type="number"
        className="field"
        style={{ width: "5.5em" }}
        min={1}
        max={count}
        value={value}
        onChange={(event) => {
          const round = Math.round(Number(event.target.value));
          if (round >= 1 && round <= count) onChoose(round);
        }}
      />
    </label>
  );
}

function Pair({ row, before, after }: { row: string; before: string; after: string }) {
  const { id } = useScene();
  const { t } = useSpeech();
  const { data } = useQuery({
    queryKey: ["pair", id, before, after],
    queryFn: async () => {
      const [left, right] = await Promise.all([fetchSteps(id, before), fetchSteps(id, after)]);
      const text = (steps: typeof left, address: string) => said(steps.find((step) => step.address === address) ?? null);
      return { left: text(left, before), right: text(right, after) };
    },
  });
  return (
    <section>
      <h3>{row}</h3>
      {data && !data.left && !data.right ? (
        <p className="quiet">{t("detail.silent_done")}</p>
      ) : (
        data && <Difference before={data.left} after={data.right} />
      )}
    </section>
  );
}
