/** The language of the pages: English or Chinese, chosen once and kept. */

import i18next from "i18next";
import { createContext, useContext } from "react";

export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

const KEY = "rondel.language";

export function preferredLanguage(): Language {
  const asked = new URLSearchParams(location.search).get("lang");
  const wish = asked ?? localStorage.getItem(KEY) ?? navigator.language;
  return wish.toLowerCase().startsWith("zh") ? "zh" : "en";
}

const LOADERS: Record<Language, () => Promise<{ default: object }>> = {
  en: () => import("../locales/en.json"),
  zh: () => import("../locales/zh.json"),
};

export async function useLanguageOf(language: Language): Promise<void> {
  if (!i18next.isInitialized) {
    await i18next.init({ lng: language, fallbackLng: false, interpolation: { escapeValue: false }, returnEmptyString: true, resources: {} });
  }
  if (!i18next.hasResourceBundle(language, "translation")) {
    i18next.addResourceBundle(language, "translation", (await LOADERS[language]()).default);
  }
  await i18next.changeLanguage(language);
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

export async function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem(KEY, language);
  await useLanguageOf(language);
}

export interface Speech {
  language: Language;
  locale: string;
  t: (key: string, values?: Record<string, unknown>) => string;
}

export function speechOf(language: Language): Speech {
  return {
    language,
    locale: language === "zh" ? "zh-CN" : "en",
    t: (key, values) => i18next.t(key, { lng: language, ...values }) as string,
  };
}

export const SpeechContext = createContext<Speech>(speechOf("en"));

export function useSpeech(): Speech {
  return useContext(SpeechContext);
}
