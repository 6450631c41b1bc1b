/** The right pane: one step, or one round, with everything that is known of it. */

import { useEffect, useMemo, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { useStep } from "../../app/queries";
import { useParameter } from "../../app/router";
import { useKeys } from "../../app/keyboard";
import type { StepRecord } from "../../api/types";
import { inRound, placeOf, roundOf, roundsAround } from "../../model/address";
import { textOf, type Message } from "../../model/events";
import type { Round, Step } from "../../model/fold";
import { duration, money, number, score, signed } from "../../model/format";
import { Difference } from "../../parts/Difference";
import { State } from "../../parts/State";
import { Tabs } from "../../parts/Tabs";
import { useScene } from "./context";
import { Overview } from "./Overview";
import { StreamedText } from "./StreamedText";
import { Waiting } from "./Waiting";

const TABS = ["text", "diff", "saw", "data", "usage", "events"] as const;

interface Props {
  onFork: (address: string) => void;
}

export function Detail({ onFork }: Props) {
  const { fold, selected } = useScene();
  if (!selected) return <Overview />;
  const place = roundOf(selected);
  const round = place ? (fold.entries.get(place.entry)?.rounds[place.round - 1] ?? null) : null;
  if (round && place) return <RoundDetail address={selected} round={round} onFork={onFork} />;
  return <StepDetail key={selected} address={selected} onFork={onFork} />;
}

function Close() {
  const { select } = useScene();
  const { t } = useSpeech();
  return (
    <button type="button" className="button plain small back-button" onClick={() => select(null)}>
      {t("action.close")}
    </button>
  );
}

function StepDetail({ address, onFork }: Props & { address: string }) {
  const { id, fold } = useScene();
  const { t } = useSpeech();
  const [tab, setTab] = useParameter("tab");
  const step = fold.steps.get(address) ?? null;
  const query = useStep(id, step ? address : null, stepState(step));
  const current = TABS.find((name) => name === tab) ?? "text";
  const around = roundsAround(address);
  const inner = around.at(-1);
  const tabs = useMemo(
    () => TABS.filter((name) => name !== "diff" || inner).map((name) => ({ id: name, name: t(`detail.${name}`) })),
    [t, inner !== undefined],
  );
  useTabKeys(tabs.map((one) => one.id), current, (next) => setTab(next));
  const place = placeOf(address);
  return (
    <aside className="detail" aria-label={t("detail.label")}>
      <div className="detail-head">
        <h2 title={address}>{place.row}</h2>
        {inner && <span className="quiet">{t("detail.round", { round: inner.round })}</span>}
        {step && <State status={step.status} />}
        <Close />
      </div>
      <Tabs tabs={tabs} current={current} onChoose={(next) => setTab(next)} label={t("detail.label")} />
      <div className="detail-body" role="tabpanel" tabIndex={0}>
        {!step && <p className="quiet">{t("detail.not_yet")}</p>}
        {step && <Body tab={current} step={step} record={query.data ?? null} loading={query.isLoading} />}
      </div>
      <Foot step={step} onFork={onFork} />
    </aside>
  );
}

function useTabKeys(tabs: string[], current: string, choose: (tab: string) => void): void {
  const keys = useMemo(() => {
    const go = (by: number) => () => {
      const at = tabs.indexOf(current);
      choose(tabs[(at + by + tabs.length) % tabs.length]!);
    };
    return { "]": go(1), "[": go(-1) };
  }, [tabs.join(), current]);
  useKeys(keys);
}

function stepState(step: Step | null): string {
  return step ? `${step.status}-${step.ended ?? ""}` : "";
}

interface BodyProps {
  tab: string;
  step: Step;
  record: StepRecord | null;
  loading: boolean;
}

function Body({ tab, step, record, loading }: BodyProps) {
  switch (tab) {
    case "diff":
      return <DifferenceTab step={step} record={record} />;
    case "saw":
      return <Saw record={record} />;
    case "data":
      return <Data record={record} />;
    case "usage":
      return <UsageTab step={step} record={record} />;
    case "events":
      return <StepEvents address={step.address} />;
    default:
      return <TextTab step={step} record={record} loading={loading} />;
  }
}

export function said(record: StepRecord | null): string {
  return (record?.outputs ?? []).map((message) => textOf(message.content)).join("\n\n");
}

function TextTab({ step, record, loading }: Omit<BodyProps, "tab">) {
  const { fold } = useScene();
  const { t } = useSpeech();
  const stream = fold.streams.get(step.address);
  const turns = fold.turns.get(step.address);
  const wait = fold.waits.get(step.address);
  if (step.status === "running" && wait) return <Waiting wait={wait} />;
  if (step.status === "running" && stream !== undefined) return <StreamedText text={stream} />;
  const text = said(record);
  return (
    <>
      {step.error && <div className="note bad">{step.error}</div>}
      {step.exitReason && <p className="quiet small">{t(`reason.${step.exitReason}`)}</p>}
      {turns && (
        <div className="turns">
          {turns.map((turn, index) => (
            <div className="message" key={index}>
              <span className="who">{t("detail.turn", { agent: turn.agent, round: turn.round })}</span>
              <div className="text">{turn.content}</div>
            </div>
          ))}
        </div>
      )}
      {text ? (
        <div className="text">{text}</div>
      ) : (
        stream === undefined && !loading && !step.error && <p className="quiet">{t(`detail.silent_${silence(step)}`)}</p>
      )}
      {!text && stream !== undefined && <div className="text">{stream}</div>}
    </>
  );
}

function silence(step: Step): string {
  return ["running", "suspended", "skipped"].includes(step.status) ? step.status : "done";
}

function DifferenceTab({ step, record }: { step: Step; record: StepRecord | null }) {
  const { id, fold } = useScene();
  const { t } = useSpeech();
  const inner = roundsAround(step.address).at(-1);
  const [base, setBase] = useState((inner?.round ?? 1) - 1);
  useEffect(() => setBase((inner?.round ?? 1) - 1), [step.address]);
  const other = base >= 1 ? inRound(step.address, base) : null;
  const before = useStep(id, other && fold.steps.has(other) ? other : null, stepState(other ? (fold.steps.get(other) ?? null) : null));
  const count = inner ? (fold.entries.get(inner.address.replace(/\[\d+\]$/, ""))?.rounds.length ?? 1) : 1;
  if (!inner || count < 2) return <p className="quiet">{t("diff.first")}</p>;
  return (
    <>
      <label className="choice small">
        {t("diff.against")}
        <select className="field" style={{ width: "auto" }} value={base} onChange={(event) => setBase(Number(event.target.value))}>
          {base < 1 && <option value={base}>–</option>}
          {Array.from({ length: count }, (_, index) => index + 1)
            .filter((round) => round !== inner.round)
            .slice(-400)
            .map((round) => (
              <option key={round} value={round}>
                {t("detail.round", { round })}
              </option>
            ))}
        </select>
      </label>
      {base < 1 ? (
        <p className="quiet">{t("diff.first")}</p>
      ) : (
        before.data && record && <Difference before={said(before.data)} after={said(record)} />
      )}
    </>
  );
}

function Saw({ record }: { record: StepRecord | null }) {
  const { t } = useSpeech();
  const shown = [...(record?.recalled ?? []), ...(record?.inputs ?? [])];
  if (!record) return null;
  if (shown.length === 0) return <p className="quiet">{t("detail.saw_nothing")}</p>;
  return (
    <>
      {record.recalled?.length > 0 && <h3>{t("detail.recalled")}</h3>}
      {record.recalled?.map((message, index) => <MessageView key={`r${index}`} message={message} />)}
      {record.inputs.length > 0 && <h3>{t("detail.received")}</h3>}
      {record.inputs.map((message, index) => (
        <MessageView key={`i${index}`} message={message} />
      ))}
    </>
  );
}

export function MessageView({ message }: { message: Message }) {
  const { t } = useSpeech();
  const data = Object.keys(message.data ?? {}).length > 0 ? JSON.stringify(message.data, null, 2) : "";
  return (
    <div className="message">
      <span className="who">
        {message.source} <span className="quiet">{t(`role.${message.role}`, { defaultValue: message.role })}</span>
      </span>
      <div className="text">{textOf(message.content)}</div>
      {data && <pre className="quiet">{data}</pre>}
    </div>
  );
}

function Data({ record }: { record: StepRecord | null }) {
  const { t } = useSpeech();
  const data = (record?.outputs ?? []).map((message) => message.data).filter((one) => Object.keys(one ?? {}).length > 0);
  if (!record) return null;
  if (data.length === 0) return <p className="quiet">{t("detail.no_data")}</p>;
  return (
    <>
      {data.map((one, index) => (
        <pre key={index}>{JSON.stringify(one, null, 2)}</pre>
      ))}
    </>
  );
}

function UsageTab({ step, record }: { step: Step; record: StepRecord | null }) {
  const { t, locale } = useSpeech();
  const usage = record?.usage;
  return (
    <dl className="pairs">
      <dt>{t("usage.model")}</dt>
      <dd>{step.model || "–"}</dd>
      <dt>{t("usage.calls")}</dt>
      <dd>{number(usage?.model_calls ?? step.calls, locale)}</dd>
      <dt>{t("usage.input")}</dt>
      <dd>{usage ? number(usage.input_tokens, locale) : "–"}</dd>
      <dt>{t("usage.output")}</dt>
      <dd>{usage ? number(usage.output_tokens, locale) : "–"}</dd>
      <dt>{t("sheet.cost")}</dt>
      <dd>{money(usage?.usd ?? step.usd, locale)}</dd>
      <dt>{t("sheet.time")}</dt>
      <dd>{record ? duration(record.duration * 1000, locale) : "–"}</dd>
    </dl>
  );
}

function StepEvents({ address }: { address: string }) {
  const { fold } = useScene();
  const events = fold.events.filter((event) => event.address === address);
  return (
    <>
      {events.map((event) => (
        <div className="message" key={event.seq}>
          <span className="who">
            {event.seq} · {event.event}
          </span>
          <pre className="quiet">{JSON.stringify(event.data, null, 2)}</pre>
        </div>
      ))}
    </>
  );
}

function Foot({ step, onFork }: Props & { step: Step | null }) {
  const { mayAct } = useScene();
  const { t, locale } = useSpeech();
  const [copied, setCopied] = useState(false);
  useEffect(() => setCopied(false), [step?.address]);
  if (!step) return <div className="detail-foot" />;
  const figures = [
    step.tokens > 0 ? t("usage.tokens", { count: step.tokens, number: number(step.tokens, locale) }) : "",
    step.usd > 0 ? money(step.usd, locale) : "",
    step.ended !== null ? duration(step.ended - step.began, locale) : "",
    step.model,
  ].filter(Boolean);
  return (
    <div className="detail-foot">
      <span className="grow">{figures.join(" · ")}</span>
      {mayAct && (
        <button type="button" className="button small" onClick={() => onFork(step.address)}>
          {t("action.fork_here")}
        </button>
      )}
      <button
        type="button"
        className="button small"
        onClick={() => void navigator.clipboard?.writeText(step.address).then(() => setCopied(true))}
      >
        {copied ? t("action.copied") : t("action.copy_address")}
      </button>
    </div>
  );
}

function RoundDetail({ address, round, onFork }: Props & { address: string; round: Round }) {
  const { mayAct } = useScene();
  const { t, locale } = useSpeech();
  const [, setCompare] = useParameter("compare");
  const place = roundOf(address)!;
  const facts: [string, string][] = [
    [t("sheet.score"), round.score === null ? "–" : score(round.score, locale)],
    [t("sheet.delta"), round.delta === null ? "–" : signed(round.delta, locale)],
    [t("sheet.tokens"), number(round.tokens, locale)],
    [t("sheet.cost"), money(round.usd, locale)],
    [t("sheet.time"), round.ended === null ? "–" : duration(round.ended - round.began, locale)],
    [t("sheet.novelty"), round.entropy === null ? "–" : number(round.entropy, locale)],
  ];
  return (
    <aside className="detail" aria-label={t("detail.label")}>
      <div className="detail-head">
        <h2>{t("detail.round_of", { round: round.round, head: place.entry })}</h2>
        <Close />
      </div>
      <div className="detail-body">
        <dl className="pairs">
          {facts.map(([name, value]) => (
            <div key={name} style={{ display: "contents" }}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {round.regression && <p>{t(`detail.regression_${round.regression}`)}</p>}
        {round.stagnation && <p>{t(`detail.stagnation_${round.stagnation}`)}</p>}
      </div>
      <div className="detail-foot">
        <span className="grow" />
        {round.round > 1 && (
          <button
            type="button"
            className="button small"
            onClick={() => setCompare(`${place.entry}~${round.round - 1}~${round.round}`, false)}
          >
            {t("action.compare_before")}
          </button>
        )}
        {mayAct && (
          <button type="button" className="button small" onClick={() => onFork(address)}>
            {t("action.fork_here")}
          </button>
        )}
      </div>
    </aside>
  );
}
