/** What the graph can take at most, proven before it runs, and what is wrong with it. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { post } from "../../api/client";
import type { CheckResult, Estimate, Finding } from "../../api/types";
import { money, number } from "../../model/format";
import type { GraphBody } from "../../model/graph";
import type { Selection } from "./GraphFlow";

interface Props {
  check: CheckResult | null;
  checking: boolean;
  text: string;
  body: GraphBody | null;
  onGo: (selection: Selection | null, line: number | null) => void;
}

export function Certificate({ check, checking, text, body, onGo }: Props) {
  const { t } = useSpeech();
  const findings = [...(check?.errors ?? []), ...(check?.warnings ?? [])];
  const errors = check?.errors.length ?? 0;
  return (
    <footer className="strip" aria-label={t("certificate.label")} aria-live="polite" aria-busy={checking} data-valid={check?.valid}>
      {!check && <span className="quiet">{t("certificate.checking")}</span>}
      {check && errors === 0 && <Bounds check={check} text={text} />}
      {check && errors > 0 && <strong className="is-failed">{t("certificate.errors", { count: errors })}</strong>}
      {check && (check.warnings?.length ?? 0) > 0 && (
        <span className="is-waiting">{t("certificate.warnings", { count: check.warnings.length })}</span>
      )}
      {findings.length > 0 && (
        <ul>
          {findings.slice(0, 30).map((finding, index) => (
            <li key={index}>
              <button type="button" className="link" onClick={() => onGo(placeOf(finding, body), finding.line ?? null)}>
                {finding.line ? `${finding.line}` : "·"}
              </button>
              <span>
                {finding.message}
                {finding.hint ? <span className="quiet"> {finding.hint}</span> : ""}
              </span>
            </li>
          ))}
        </ul>
      )}
    </footer>
  );
}

function Bounds({ check, text }: { check: CheckResult; text: string }) {
  const { t, locale } = useSpeech();
  const worst = check.worst_case;
  if (!worst) return null;
  const rounds = check.loops.filter((loop) => loop.parent === null).reduce((sum, loop) => sum + (loop.worst_case.rounds ?? 0), 0);
  const parts = [
    ["rounds", rounds > 0 ? rounds : null],
    ["steps", worst.steps],
    ["calls", worst.model_calls],
    ["tokens", worst.tokens],
  ].filter(([, count]) => count !== null) as [string, number][];
  const words = parts.map(([name, count]) => t(`certificate.${name}`, { count, number: number(count, locale) }));
  if (worst.usd !== null) words.push(money(worst.usd, locale));
  return (
    <>
      <span title={check.unbounded.join("\n")}>
        {t("certificate.at_most")} <b>{words.join(t("certificate.comma"))}</b>
        {worst.tokens === null && <span className="quiet"> · {t("certificate.unbounded")}</span>}
      </span>
      <Expected text={text} />
    </>
  );
}

/** What a run will probably cost; asked for when the text has rested. */
function Expected({ text }: { text: string }) {
  const { t, locale } = useSpeech();
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), 800);
    return () => clearTimeout(timer);
  }, [text]);
  const { data } = useQuery({
    queryKey: ["estimate", rested],
    queryFn: () => post<Estimate>("/graphs/estimate", { graph: rested }),
    retry: false,
    placeholderData: (before) => before,
  });
  if (data?.expected.usd == null || data.expected.usd === 0) return null;
  return <span>{t("certificate.expected", { cost: money(data.expected.usd, locale) })}</span>;
}

/** The node, edge or loop that a finding speaks of. */
function placeOf(finding: Finding, body: GraphBody | null): Selection | null {
  const path = finding.path ?? "";
  const index = /(nodes|edges)(?:\[|\.)(\d+)/.exec(path);
  if (index) {
    const at = Number(index[2]);
    if (index[1] === "edges") return { kind: "edge", index: at };
    const id = body?.nodes?.[at]?.id;
    return id ? { kind: "node", id } : null;
  }
  const loop = /loops\.([^.[]+)/.exec(path);
  if (loop) return { kind: "loop", head: loop[1]! };
  const named = (body?.nodes ?? []).find((node) => finding.message.includes(`'${node.id}'`));
  return named ? { kind: "node", id: named.id } : null;
}
