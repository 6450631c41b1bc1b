/** A debate as a sheet: a row a speaker, a column a round. */

import { useSpeech } from "../../app/i18n";
import type { DebateSection } from "../../model/sheet";
import { Shape } from "../../parts/State";
import { useScene } from "./context";

const FIRST = 168;
const WIDTH = 190;

export function DebateSheet({ section }: { section: DebateSection }) {
  const { select, selected } = useScene();
  const { t } = useSpeech();
  const rounds = Array.from({ length: section.rounds }, (_, index) => index + 1);
  const row = { width: `${FIRST + section.rounds * WIDTH}px` };
  const place = (round: number) => ({ transform: `translateX(${FIRST + (round - 1) * WIDTH}px)`, width: `${WIDTH}px` });
  return (
    <div className="sheet debate" role="grid" aria-label={t("sheet.debate", { node: section.address })} tabIndex={0}>
      <div className="sheet-row header" role="row" style={row}>
        <div className="name" role="columnheader">
          {t("sheet.round")}
        </div>
        {rounds.map((round) => (
          <div key={round} className="cell empty-cell" role="columnheader" style={place(round)}>
            <span className="value">{round}</span>
          </div>
        ))}
      </div>
      {section.speakers.map((speaker) => (
        <div key={speaker} className="sheet-row" role="row" style={row}>
          <div className="name" role="rowheader">
            <span>{speaker}</span>
          </div>
          {rounds.map((round) => {
            const turn = section.turns.find((other) => other.agent === speaker && other.round === round);
            return (
              <div
                key={round}
                className={`cell${turn ? "" : " empty-cell"}${selected === section.address ? " of-selected" : ""}`}
                role="gridcell"
                title={turn?.content}
                style={place(round)}
                onClick={() => turn && select(section.address)}
              >
                {turn && <Shape status="completed" />}
                <span className="value said">{turn?.content ?? ""}</span>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}
