/** Light or dark: as the system has it, or as the reader chose. */

export type Theme = "system" | "light" | "dark";

const KEY = "rondel.theme";

export function currentTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset.theme = theme;
  }
  window.dispatchEvent(new Event("rondel:theme"));
}

export function isDark(): boolean {
  const theme = currentTheme();
  return theme === "dark" || (theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
}
