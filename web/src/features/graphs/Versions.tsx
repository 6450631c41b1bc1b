/** The versions that a graph has had, which sessions ran on each, and what changed between two. */

import { useEffect } from "react";
import { useSpeech } from "../../app/i18n";
import { useVersions } from "../../app/queries";
import { Link, setParameters, useParameter } from "../../app/router";
import type { Version } from "../../api/types";
import { Failure } from "../../parts/Failure";
import { LineDifference } from "../../parts/LineDifference";
import { Moment } from "../../parts/Moment";
import { GraphHead } from "./GraphHead";
import { StatusCounts } from "./StatusCounts";

export default function Versions({ graph }: { graph: string }) {
  const { t } = useSpeech();
  const query = useVersions(graph);
  useEffect(() => {
    document.title = `${graph} · ${t("graphs.versions")} · Rondel`;
  }, [graph, t]);
  const versions = query.data?.versions ?? [];
  const [from] = useParameter("from");
  const [to] = useParameter("to");
  const newer = versions.find((one) => one.version === to) ?? versions[0];
  const older = versions.find((one) => one.version === from) ?? versions[versions.indexOf(newer!) + 1] ?? versions.at(-1);
  return (
    <main className="page">
      <GraphHead graph={graph} current="versions" />
      <Failure error={query.error} />
      <p className="quiet small about">{t("versions.about")}</p>
      {query.data && !query.data.complete && <p className="note">{t("versions.incomplete")}</p>}
      <div className="versions">
        <ol className="version-list">
          {versions.map((version, index) => (
            <VersionItem
              key={version.version}
              graph={graph}
              version={version}
              number={versions.length - index}
              older={older?.version === version.version}
              newer={newer?.version === version.version}
              onChoose={(side) =>
                setParameters({
                  from: side === "from" ? version.version : (older?.version ?? null),
                  to: side === "to" ? version.version : (newer?.version ?? null),
                })
              }
            />
          ))}
        </ol>
        {newer && older && (
          <section aria-label={t("versions.difference")}>
            <h2>
              {t("versions.from_to", {
                from: versions.length - versions.indexOf(older),
                to: versions.length - versions.indexOf(newer),
              })}
            </h2>
            {older === newer ? <pre className="lines whole">{newer.text}</pre> : <LineDifference before={older.text} after={newer.text} />}
          </section>
        )}
      </div>
    </main>
  );
}

interface ItemProps {
  graph: string;
  version: Version;
  number: number;
  older: boolean;
  newer: boolean;
  onChoose: (side: "from" | "to") => void;
}

function VersionItem({ graph, version, number, older, newer, onChoose }: ItemProps) {
  const { t } = useSpeech();
  const sessions = `/sessions?graph=${encodeURIComponent(graph)}&version=${version.version}`;
  return (
    <li className={`card version${newer || older ? " chosen" : ""}`}>
      <div className="version-head">
        <h2>{t("versions.number", { number })}</h2>
        <code className="quiet">{version.version.slice(0, 7)}</code>
        {version.current && <span className="badge">{t("versions.current")}</span>}
      </div>
      {version.sessions > 0 ? (
        <p className="small">
          <Link href={sessions}>{t("versions.sessions", { count: version.sessions })}</Link>
          {version.last_used && (
            <span className="quiet">
              {" · "}
              <Moment at={version.last_used} />
            </span>
          )}
        </p>
      ) : (
        <p className="quiet small">{t("versions.unused")}</p>
      )}
      <StatusCounts counts={version.statuses} />
      <div className="choice-bar sides" role="group" aria-label={t("versions.difference")}>
        <button type="button" aria-pressed={older} onClick={() => onChoose("from")}>
          {t("versions.from")}
        </button>
        <button type="button" aria-pressed={newer} onClick={() => onChoose("to")}>
          {t("versions.to")}
        </button>
      </div>
    </li>
  );
}
