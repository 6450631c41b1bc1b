/** Two versions of a text in one: what came is underlined, what went is struck through. */

import { useMemo } from "react";
import { useSpeech } from "../app/i18n";
import { difference, tally } from "../model/difference";

export function Difference({ before, after }: { before: string; after: string }) {
  const { t } = useSpeech();
  const pieces = useMemo(() => difference(before, after), [before, after]);
  const { added, removed } = useMemo(() => tally(pieces), [pieces]);
  if (before === after) return <p className="quiet">{t("diff.same")}</p>;
  return (
    <>
      <p className="quiet small">{t("diff.tally", { added, removed })}</p>
      <div className="text">
        {pieces.map((piece, index) =>
          piece.kind === "added" ? (
            <ins key={index}>{piece.text}</ins>
          ) : piece.kind === "removed" ? (
            <del key={index}>{piece.text}</del>
          ) : (
            <span key={index}>{piece.text}</span>
          ),
        )}
      </div>
    </>
  );
}
