/** The frame around every page: where one is, where one can go, how it looks. */

import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { Inbox } from "../features/inbox/Inbox";
import { Graphs } from "../features/graphs/Graphs";
import { SessionPage } from "../features/session/SessionPage";
import { Sessions } from "../features/sessions/Sessions";
import { chooseLanguage, speechOf, SpeechContext, useSpeech, type Language } from "./i18n";
import { Help } from "./Help";
import { useShortcuts } from "./keyboard";
import { client, useQuestions } from "./queries";
import { Link, usePath } from "./router";
import { applyTheme, currentTheme, type Theme } from "./theme";
import { useAllSessions } from "./watch";
import { Entrance } from "./Entrance";

const Editor = lazy(() => import("../features/editor/Editor"));
const Versions = lazy(() => import("../features/graphs/Versions"));
const Insights = lazy(() => import("../features/graphs/Insights"));

export function App({ language: first }: { language: Language }) {
  const [language, setLanguage] = useState<Language>(first);
  const choose = (next: Language): void => {
    void chooseLanguage(next).then(() => setLanguage(next));
  };
  return (
    <SpeechContext.Provider value={speechOf(language)}>
      <QueryClientProvider client={client}>
        <Entrance>
          <Frame onLanguage={choose} />
        </Entrance>
      </QueryClientProvider>
    </SpeechContext.Provider>
  );
}

function Frame({ onLanguage }: { onLanguage: (language: Language) => void }) {
  const path = usePath();
  const [help, setHelp] = useState(false);
  const reachable = useAllSessions();
  const { t } = useSpeech();
  useShortcuts(() => setHelp(true));
  return (
    <div className="shell">
      <TopBar path={path} onLanguage={onLanguage} onHelp={() => setHelp(true)} />
      <Suspense fallback={<main className="page wide" aria-busy="true" />}>{pageOf(path)}</Suspense>
      {!reachable && (
        <div className="offline" role="status">
          {t("error.offline")}
        </div>
      )}
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}

function pageOf(path: string): ReactNode {
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const [room, id, view] = parts;
  if (room === "sessions" && id) return <SessionPage key={id} id={id} />;
  if (room === "inbox") return <Inbox session={id ?? null} address={view ?? null} />;
  if (room === "graphs" && id && view === "versions") return <Versions key={id} graph={id} />;
  if (room === "graphs" && id && view === "insights") return <Insights key={id} graph={id} />;
  if (room === "graphs" && id) return <Editor key={id} name={id} />;
  if (room === "graphs") return <Graphs />;
  return <Sessions />;
}

interface BarProps {
  path: string;
  onLanguage: (language: Language) => void;
  onHelp: () => void;
}

function TopBar({ path, onLanguage, onHelp }: BarProps) {
  const { t, language } = useSpeech();
  const waiting = useQuestions().data?.length ?? 0;
  const room = path.split("/")[1] || "sessions";
  return (
    <header className="top">
      <Link href="/sessions" className="brand" aria-label="Rondel">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path
            d="M22.5 10.5A8.5 8.5 0 1 0 24.5 16M24.8 6.5v5.6h-5.6"
            fill="none"
            stroke="currentColor"
            strokeWidth="3.2"
            strokeLinecap="round"
            strokeLinejoin="round"
          />
        </svg>
        <span>Rondel</span>
      </Link>
      <nav aria-label={t("nav.label")}>
        {["sessions", "inbox", "graphs"].map((name) => (
          <Link key={name} href={`/${name}`} aria-current={room === name ? "page" : undefined}>
            {t(`nav.${name}`)}
            {name === "inbox" && waiting > 0 && (
              <span className="count" title={t("nav.waiting", { count: waiting })}>
                {waiting}
              </span>
            )}
          </Link>
        ))}
      </nav>
      <ThemeButton />
      <button
        type="button"
        className="button plain"
        lang={language === "zh" ? "en" : "zh-CN"}
        onClick={() => onLanguage(language === "zh" ? "en" : "zh")}
      >
        {language === "zh" ? "English" : "中文"}
      </button>
      <button type="button" className="button plain optional" onClick={onHelp} aria-label={t("help.title")}>
        ?
      </button>
    </header>
  );
}

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function ThemeButton() {
  const { t } = useSpeech();
  const [theme, setTheme] = useState<Theme>(currentTheme);
  useEffect(() => applyTheme(theme), [theme]);
  return (
    <button type="button" className="button plain" onClick={() => setTheme(NEXT[theme])} title={t("theme.change")}>
      {t(`theme.${theme}`)}
    </button>
  );
}

