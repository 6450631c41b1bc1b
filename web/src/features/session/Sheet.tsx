/** The score sheet of a session: what ran once, and every loop round by round. */

import { useMemo } from "react";
import { useSpeech } from "../../app/i18n";
import { useParameter } from "../../app/router";
import type { Entry } from "../../model/fold";
import { duration, score } from "../../model/format";
import { sectionsOf, type DebateSection, type NodeRow, type Section } from "../../model/sheet";
import { Shape } from "../../parts/State";
import { loopBounds, useScene } from "./context";
import { LoopSheet, useSize } from "./LoopSheet";
import { DebateSheet } from "./DebateSheet";
import { WaitsFor } from "./Waiting";

export function Sheet() {
  const { fold, structure } = useScene();
  const sections = sectionsOf(fold, structure);
  return (
    <>
      {sections.map((section, index) => (
        <SectionView key={`${index}-${section.kind}`} section={section} />
      ))}
    </>
  );
}

function SectionView({ section }: { section: Section }) {
  if (section.kind === "straight") return <Straight rows={section.rows} />;
  if (section.kind === "debate") return <DebateView section={section} />;
  return <LoopView path={section.path} head={section.head} />;
}

/** One entry of a loop, with its heading. */
export function LoopView({ path, head }: { path: string; head: string }) {
  const scene = useScene();
  const { t, locale } = useSpeech();
  const entry = scene.fold.entries.get(path) ?? null;
  const { most, target } = loopBounds(scene, head);
  return (
    <section aria-label={t("sheet.loop", { head })}>
      <div className="section-head">
        <h2>{t("sheet.loop", { head })}</h2>
        <span className="quiet small">
          {most !== null && t("sheet.at_most", { count: most })}
          {target !== null && ` · ${t("sheet.goal", { target: score(target, locale) })}`}
        </span>
        {path !== head && <code className="quiet small">{path}</code>}
        <Grouping entry={entry} />
      </div>
      <LoopSheet path={path} head={head} entry={entry} most={most} target={target} />
    </section>
  );
}

/** From so many rounds on, the reader may have them by tens. */
const MANY = 50;

function Grouping({ entry }: { entry: Entry | null }) {
  const { t } = useSpeech();
  const size = useSize(entry);
  const [, setBy] = useParameter("by");
  if ((entry?.rounds.length ?? 0) <= MANY) return null;
  return (
    <div className="choice-bar" role="group" aria-label={t("sheet.grouping")}>
      {[1, 10].map((one) => (
        <button key={one} type="button" aria-pressed={size === one} onClick={() => setBy(String(one))}>
          {one === 1 ? t("sheet.every") : t("sheet.by_tens")}
        </button>
      ))}
    </div>
  );
}

function Straight({ rows }: { rows: NodeRow[] }) {
  const { fold, selected, select } = useScene();
  const { t, locale } = useSpeech();
  return (
    <div className="straight" role="group" aria-label={t("sheet.once")}>
      {rows.map((row) => {
        const step = fold.steps.get(`${row.row}#2`) ?? fold.steps.get(row.row) ?? null;
        const status = step?.status ?? "none";
        const wait = step ? fold.waits.get(step.address) : undefined;
        const took = step?.ended ? duration(step.ended - step.began, locale) : "";
        return (
          <button
            key={row.row}
            type="button"
            className={selected !== null && selected === step?.address ? "selected" : ""}
            data-address={row.row}
            onClick={() => step && select(step.address)}
          >
            <span className="clip">{row.row}</span>
            <span className={`state small is-${status}`}>
              {step && <Shape status={status} />}
              {t(`step.${status}`)}
            </span>
            <span className="quiet small clip">{step?.error}</span>
            <span className="num small">{wait ? <WaitsFor until={wait.until} /> : took}</span>
          </button>
        );
      })}
    </div>
  );
}

function DebateView({ section }: { section: DebateSection }) {
  const { t } = useSpeech();
  const { fold, select } = useScene();
  const reason = fold.steps.get(section.address)?.exitReason;
  return (
    <section aria-label={t("sheet.debate", { node: section.address })}>
      <div className="section-head">
        <h2>
          <button type="button" className="link" data-address={section.address} onClick={() => select(section.address)}>
            {section.address}
          </button>
        </h2>
        <span className="quiet small">
          {t("sheet.debate_about")} · {t("sheet.rounds", { count: section.rounds })}
          {reason && ` · ${t(`reason.${reason}`, { defaultValue: reason })}`}
        </span>
      </div>
      <DebateSheet section={section} />
    </section>
  );
}

/** The entries of inner loops that are open in the sheet, kept in the address of the page. */
export function useOpenEntries(): [Set<string>, (path: string) => void] {
  const [text, setText] = useParameter("open");
  const open = useMemo(() => new Set((text ?? "").split("~").filter(Boolean)), [text]);
  const toggle = (path: string): void => {
    const next = new Set(open);
    if (!next.delete(path)) {
      for (const other of next) if (sameRow(other, path)) next.delete(other);
      next.add(path);
    }
    setText([...next].join("~"));
  };
  return [open, toggle];
}

function sameRow(one: string, other: string): boolean {
  return one.replace(/\[\d+\](?=\/[^/]*$)/, "") === other.replace(/\[\d+\](?=\/[^/]*$)/, "");
}
