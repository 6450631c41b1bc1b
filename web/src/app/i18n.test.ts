import i18next from "i18next";
import { describe, expect, it } from "vitest";
import en from "../locales/en.json";
import zh from "../locales/zh.json";
import { LANGUAGES, useLanguageOf } from "./i18n";

function keysOf(part: object, before = ""): string[] {
  return Object.entries(part).flatMap(([name, value]) =>
    typeof value === "string" ? [`${before}${name}`] : keysOf(value as object, `${before}${name}.`),
  );
}

describe("a text of any language", () => {
  it.each(LANGUAGES)("is never its own name: %s", async (language) => {
    await useLanguageOf(language);
    const keys = keysOf(language === "zh" ? zh : en);
    expect(keys.filter((key) => i18next.t(key) === key)).toEqual([]);
  });
});
