import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { preferredLanguage, useLanguageOf } from "./app/i18n";
import { applyTheme, currentTheme } from "./app/theme";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/graphs.css";
import "./styles/session.css";
import "./styles/inbox.css";

applyTheme(currentTheme());
const language = preferredLanguage();
void useLanguageOf(language).then(() => {
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <App language={language} />
    </StrictMode>,
  );
});
