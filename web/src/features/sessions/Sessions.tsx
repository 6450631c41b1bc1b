/** All sessions, newest first, with filters in the address; without any, a way to start one. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useSpeech } from "../../app/i18n";
import { useKeys } from "../../app/keyboard";
import { fetchSessions, startSession, useGraphs, useTemplates } from "../../app/queries";
import { Link, navigate, useParameter } from "../../app/router";
import { useMayAct } from "../../app/Entrance";
import type { SessionRow } from "../../api/types";
import { Failure } from "../../parts/Failure";
import { Lasted, Moment } from "../../parts/Moment";
import { State } from "../../parts/State";
import { taskOf } from "../session/Header";

const STATUSES = [
  "running",
  "waiting",
  "paused",
  "suspended_locked",
  "completed",
  "bounded",
  "failed",
  "cancelled",
] as const;

export function Sessions() {
  const { t } = useSpeech();
  const [status, setStatus] = useParameter("status");
  const [graph, setGraph] = useParameter("graph");
  const [text, setText] = useParameter("q");
  const graphs = useGraphs().data ?? [];
  const [version, setVersion] = useParameter("version");
  const filter = { status: status ?? "", graph: graph ?? "", text: text ?? "", version: version ?? "" };
  const query = useInfiniteQuery({
    queryKey: ["sessions", filter],
    queryFn: ({ pageParam }) => fetchSessions(filter, pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next,
    placeholderData: (before) => before,
    refetchInterval: 20_000,
  });
  const rows = (query.data?.pages ?? []).flatMap((page) => page.sessions);
  useEffect(() => {
    document.title = `${t("nav.sessions")} · Rondel`;
  }, [t]);
  const filtered = Boolean(status || graph || text || version);
  if (query.data && rows.length === 0 && !filtered) return <FirstSession />;
  return (
    <main className="page">
      <div className="page-head">
        <h1>{t("nav.sessions")}</h1>
        <Link className="button" href="/graphs">
          {t("sessions.start")}
        </Link>
      </div>
      <div className="filters">
        <input
          className="field"
          type="search"
          data-search
          placeholder={t("sessions.search")}
          aria-label={t("sessions.search")}
          value={text ?? ""}
          onChange={(event) => setText(event.target.value)}
        />
        <select className="field" aria-label={t("sessions.status")} value={status ?? ""} onChange={(event) => setStatus(event.target.value)}>
          <option value="">{t("sessions.any_status")}</option>
          {STATUSES.map((name) => (
            <option key={name} value={name}>
              {t(`status.${name}`)}
            </option>
          ))}
        </select>
        <select className="field" aria-label={t("sessions.graph")} value={graph ?? ""} onChange={(event) => setGraph(event.target.value)}>
          <option value="">{t("sessions.any_graph")}</option>
          {[...new Set([...graphs.map((one) => one.id), ...(graph ? [graph] : [])])].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        {version && (
          <button type="button" className="button" onClick={() => setVersion(null)} title={t("sessions.drop_version")}>
            {t("sessions.version", { version: version.slice(0, 7) })} ×
          </button>
        )}
      </div>
      <Failure error={query.error} />
      <SessionTable rows={rows} />
      {query.data && rows.length === 0 && <p className="quiet">{t("sessions.none_fits")}</p>}
      {query.hasNextPage && (
        <p>
          <button type="button" className="button" onClick={() => void query.fetchNextPage()} disabled={query.isFetching}>
            {t("action.more")}
          </button>
        </p>
      )}
    </main>
  );
}

function SessionTable({ rows }: { rows: SessionRow[] }) {
  const { t } = useSpeech();
  const [current, setCurrent] = useState(-1);
  const at = useRef(-1);
  const go = (by: number): void => {
    at.current = Math.min(Math.max(at.current + by, 0), rows.length - 1);
    setCurrent(at.current);
  };
  useKeys({
    j: () => go(1),
    k: () => go(-1),
    Enter: () => {
      const row = rows[at.current];
      if (row) navigate(`/sessions/${row.id}`);
    },
  });
  if (rows.length === 0) return null;
  return (
    <table className="table sessions">
      <thead>
        <tr>
          <th>{t("sessions.status")}</th>
          <th>{t("sessions.graph")}</th>
          <th>{t("sessions.inputs")}</th>
          <th className="num">{t("sessions.took")}</th>
          <th className="num">{t("sessions.changed")}</th>
          <th className="num">{t("sessions.id")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr
            key={row.id}
            className={index === current ? "current" : ""}
            aria-selected={index === current}
            onClick={(event) => {
              if (!(event.target as Element).closest("a") && !getSelection()?.toString()) navigate(`/sessions/${row.id}`);
            }}
          >
            <td>
              <State status={row.status} />
            </td>
            <td>
              <Link href={`/sessions/${row.id}`}>{row.graph_id}</Link>
            </td>
            <td className="quiet task">
              <span className="clip">{taskOf(row.inputs) || "–"}</span>
            </td>
            <td className="num quiet">
              <Lasted from={Date.parse(row.created_at)} to={row.status === "running" ? null : Date.parse(row.updated_at)} />
            </td>
            <td className="num quiet">
              <Moment at={row.updated_at} />
            </td>
            <td className="num">
              <Link href={`/sessions/${row.id}`} className="mono">
                {row.id.slice(0, 8)}
              </Link>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The page without sessions: what one is, and one click to have one. */
function FirstSession() {
  const { t } = useSpeech();
  const mayAct = useMayAct();
  const templates = useTemplates().data ?? [];
  const [error, setError] = useState<unknown>(null);
  const example = templates[0];
  const start = async (): Promise<void> => {
    if (!example) return;
    try {
      const { id } = await startSession({ graph: example.text, inputs: t("first.task"), provider: "simulated" });
      navigate(`/sessions/${id}`);
    } catch (cause) {
      setError(cause);
    }
  };
  return (
    <main className="page">
      <div className="empty">
        <h1 className="hidden-text">{t("nav.sessions")}</h1>
        <h2>{t("first.title")}</h2>
        <p>{t("first.about")}</p>
        <p>{t("first.sheet")}</p>
        <Failure error={error} />
        <div className="answers">
          {mayAct && (
            <button type="button" className="button primary" onClick={() => void start()} disabled={!example}>
              {t("first.start")}
            </button>
          )}
          <Link className="button" href="/graphs">
            {t("first.graphs")}
          </Link>
        </div>
        <p className="quiet small">{t("first.cost")}</p>
      </div>
    </main>
  );
}
