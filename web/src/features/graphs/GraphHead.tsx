/** The head of the pages about one graph, and the ways between them. */

import { useSpeech } from "../../app/i18n";
import { Link } from "../../app/router";
import { useMayEdit } from "../../app/Entrance";

interface Props {
  graph: string;
  current: "versions" | "insights";
}

export function GraphHead({ graph, current }: Props) {
  const { t } = useSpeech();
  const mayEdit = useMayEdit();
  const base = `/graphs/${encodeURIComponent(graph)}`;
  const pages = [
    { id: "edit", href: base, name: mayEdit ? t("action.edit") : t("action.open") },
    { id: "sessions", href: `/sessions?graph=${encodeURIComponent(graph)}`, name: t("nav.sessions") },
    { id: "versions", href: `${base}/versions`, name: t("graphs.versions") },
    { id: "insights", href: `${base}/insights`, name: t("graphs.insights") },
  ];
  return (
    <div className="graph-head">
      <p className="quiet small">
        <Link href="/graphs">{t("nav.graphs")}</Link>
      </p>
      <h1>{graph}</h1>
      <nav className="tabs" aria-label={graph}>
        {pages.map((page) => (
          <Link key={page.id} href={page.href} aria-current={page.id === current ? "page" : undefined}>
            {page.name}
          </Link>
        ))}
      </nav>
    </div>
  );
}
