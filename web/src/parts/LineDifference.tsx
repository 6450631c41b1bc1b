/** Two texts compared line by line, as programmers read it. */

import { useMemo } from "react";
import { useSpeech } from "../app/i18n";
import { linesOf, shortened } from "../model/lines";

const SIGNS = { same: " ", added: "+", removed: "−" };

export function LineDifference({ before, after }: { before: string; after: string }) {
  const { t } = useSpeech();
  const lines = useMemo(() => shortened(linesOf(before, after)), [before, after]);
  if (before === after) return <p className="quiet">{t("diff.same")}</p>;
  return (
    <div className="lines" role="table" aria-label={t("diff.lines")} tabIndex={0}>
      {lines.map((line, index) =>
        line.kind === "gap" ? (
          <div className="line gap" role="row" key={index}>
            <span role="cell">{t("diff.gap", { count: line.count })}</span>
          </div>
        ) : (
          <div className={`line ${line.kind}`} role="row" key={index}>
            <span className="at" role="cell">{line.before ?? ""}</span>
            <span className="at" role="cell">{line.after ?? ""}</span>
            <span className="sign" role="cell" aria-label={line.kind === "same" ? undefined : t(`diff.${line.kind}`)}>
              {SIGNS[line.kind]}
            </span>
            <code role="cell">{line.text}</code>
          </div>
        ),
      )}
    </div>
  );
}
