import { readdirSync, readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FrameReader } from "../api/stream";
import { plain, type Schema } from "../features/editor/SchemaForm";
import en from "../locales/en.json";
import zh from "../locales/zh.json";

function keysOf(tree: object, before = ""): string[] {
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === "string" ? [`${before}${key}`] : keysOf(value as object, `${before}${key}.`),
  );
}

const withoutPlural = (key: string): string => key.replace(/_(one|other)$/, "");

function sources(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = `${folder}/${name}`;
    if (statSync(path).isDirectory()) return sources(path);
    return /\.tsx?$/.test(name) && !/\.test\./.test(name) ? [path] : [];
  });
}

describe("the languages", () => {
  const english = new Set(keysOf(en).map(withoutPlural));
  const chinese = new Set(keysOf(zh).map(withoutPlural));
  it("say the same things", () => {
    expect([...english].filter((key) => !chinese.has(key))).toEqual([]);
    expect([...chinese].filter((key) => !english.has(key))).toEqual([]);
  });
  it("have every word that the pages ask for, and no other", () => {
    const texts = sources(`${import.meta.dirname}/..`).map((path) => readFileSync(path, "utf8"));
    const asked = new Set<string>();
    const families = new Set<string>();
    for (const text of texts) {
      for (const match of text.matchAll(/\bt\(\s*"([^"]+)"/g)) asked.add(match[1]!);
      for (const match of text.matchAll(/\?\s*t\("([^"]+)"\)|:\s*t\("([^"]+)"\)/g)) asked.add((match[1] ?? match[2])!);
      for (const match of text.matchAll(/\bt\(\s*`([^`$]+)\$\{/g)) families.add(match[1]!);
    }
    expect([...asked].filter((key) => !english.has(key))).toEqual([]);
    const used = (key: string): boolean => asked.has(key) || [...families].some((family) => key.startsWith(family));
    expect([...english].filter((key) => !used(key))).toEqual([]);
  });
  it("leave no English sentence in the code of the pages", () => {
    for (const path of sources(`${import.meta.dirname}/..`).filter((name) => name.endsWith(".tsx"))) {
      const text = readFileSync(path, "utf8");
      expect(text.match(/>\s*[A-Z][a-z]+ [a-z]+[^<>{}=;]*</g) ?? [], path).toEqual([]);
    }
  });
});

describe("event streams", () => {
  it("are cut into frames wherever the network cuts them", () => {
    const text = "retry: 1000\n\nid: 1\ndata: {\"a\":1}\n\n: ping\n\nid: 2\r\ndata: {\"b\":\r\ndata: 2}\r\n\r\n";
    for (let cut = 0; cut <= text.length; cut += 1) {
      const reader = new FrameReader();
      const frames = [...reader.read(text.slice(0, cut)), ...reader.read(text.slice(cut))];
      expect(frames).toEqual([
        { id: "1", data: '{"a":1}' },
        { id: "2", data: '{"b":\n2}' },
      ]);
      expect(reader.retry).toBe(1000);
    }
  });
});

describe("forms from a schema", () => {
  const root: Schema = { $defs: { Variable: { type: "string" }, Mode: { enum: ["a", "b"] } } };
  it("leave out what nobody fills in", () => {
    const field: Schema = { default: 3, anyOf: [{ type: "integer", minimum: 1 }, { $ref: "#/$defs/Variable" }, { type: "null" }] };
    expect(plain(field, root)).toEqual({ type: "integer", minimum: 1, default: 3 });
    expect(plain({ $ref: "#/$defs/Mode" }, root).enum).toEqual(["a", "b"]);
  });
});
