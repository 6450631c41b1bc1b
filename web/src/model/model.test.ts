import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { inRound, placeOf, roundBefore, roundOf, roundsAround } from "./address";
import { difference, tally } from "./difference";
import { textOf, type RondelEvent } from "./events";
import { SessionFold } from "./fold";
import { duration, money, relative } from "./format";
import { bodyOf } from "./graph";
import { inView, scrollTo } from "../features/session/geometry";
import { linesOf, shortened } from "./lines";
import { seriesOf } from "./series";
import { cellEntry, cellStep, groupRounds, groupSteps, loopRows, marksOf, sectionsOf } from "./sheet";
import { structureFrom, structureOf } from "./structure";
import { lockWords, loopEnd } from "./words";

function eventsOf(name: string): RondelEvent[] {
  const text = readFileSync(`${import.meta.dirname}/fixtures/${name}.jsonl`, "utf8");
  return text.trim().split("\n").map((line) => JSON.parse(line) as RondelEvent);
}

function foldOf(name: string): SessionFold {
  return new SessionFold().takeAll(eventsOf(name));
}

function exampleOf(folder: string) {
  return bodyOf(parse(readFileSync(`${import.meta.dirname}/../../../examples/${folder}/graph.yaml`, "utf8")))!;
}

/** Words as keys, so that a test reads what was chosen and not how it is said. */
const t = (key: string, values: Record<string, unknown> = {}): string => `${key}(${JSON.stringify(values)})`;

describe("addresses", () => {
  it("tells the scope, the node and the visit", () => {
    expect(placeOf("Writer[2]/Checker[1]/Lint")).toEqual({ scope: "Writer[2]/Checker[1]", row: "Lint", visit: 1 });
    expect(placeOf("Writer[3]/Writer#2")).toEqual({ scope: "Writer[3]", row: "Writer", visit: 2 });
    expect(placeOf("Final Output")).toEqual({ scope: "", row: "Final Output", visit: 1 });
  });
  it("finds the same step in another round", () => {
    expect(roundBefore("A[3]/B[2]/C")).toBe("A[3]/B[1]/C");
    expect(roundBefore("A[3]/B[1]/C")).toBeNull();
    expect(inRound("A[3]/C", 7)).toBe("A[7]/C");
    expect(roundOf("A[3]/B[12]")).toEqual({ entry: "A[3]/B", round: 12 });
    expect(roundsAround("A[3]/B[12]/C").map((one) => [one.loop, one.round])).toEqual([
      ["A", 3],
      ["B", 12],
    ]);
  });
});

describe("the fold", () => {
  it("is the same however often events come again", () => {
    const events = eventsOf("loop_contract");
    const once = new SessionFold().takeAll(events);
    const again = new SessionFold().takeAll(events.slice(0, 20)).takeAll(events.slice(5)).takeAll(events);
    expect(again.events.length).toBe(once.events.length);
    expect(again.tokens).toBe(once.tokens);
    expect([...again.steps]).toEqual([...once.steps]);
  });
  it("knows the rounds, the best one, the regression and how the loop ended", () => {
    const fold = foldOf("loop_contract");
    const entry = fold.entries.get("Writer")!;
    expect(entry.rounds.map((round) => round.score)).toEqual([60, 70, 60, 90, 90]);
    expect(fold.best(entry)?.round).toBe(4);
    expect(marksOf(fold, entry, entry.rounds[2]!)).toMatchObject({ regressed: true, rolledBack: true, best: false });
    expect(entry.end).toMatchObject({ reason: "max_rounds_reached", rounds: 5, bounded: true });
    expect(fold.status).toBe("bounded");
  });
  it("keeps what is streamed, and lets the text so far replace it", () => {
    const fold = new SessionFold();
    const said = (chunk: string, more: object = {}): RondelEvent => ({
      seq: null,
      event: "token_stream",
      timestamp: "2026-01-01T00:00:00Z",
      session_id: "s",
      node_id: "A",
      address: "A",
      data: { chunk, ...more },
    });
    fold.takeAll([said("Hel"), said("lo")]);
    expect(fold.streams.get("A")).toBe("Hello");
    fold.take(said("Hello, you", { so_far: true }));
    expect(fold.streams.get("A")).toBe("Hello, you");
  });
  it("forgets what an attempt said that broke off: an empty piece says so", () => {
    const fold = new SessionFold();
    const said = (chunk: string): RondelEvent => ({
      seq: null,
      event: "token_stream",
      timestamp: "2026-01-01T00:00:00Z",
      session_id: "s",
      node_id: "A",
      address: "A",
      data: { chunk },
    });
    fold.takeAll([said("half an an"), said(""), said("All of it")]);
    expect(fold.streams.get("A")).toBe("All of it");
  });
  it("knows for how long a step waits for its provider, until it is told of again", () => {
    const fold = new SessionFold();
    const told = (event: string, data: object): RondelEvent => ({
      seq: event === "node_state_change" ? fold.lastSeq + 1 : null,
      event,
      timestamp: "2026-01-01T00:00:00Z",
      session_id: "s",
      node_id: "A",
      address: "A",
      data: { ...data },
    });
    const waits = told("model_waiting", { seconds: 420, reason: "rate limit", agent: "Ann" });
    fold.take(told("node_state_change", { status: "running" }));
    for (const end of ["token_stream", "node_state_change"]) {
      fold.take(waits);
      expect(fold.waits.get("A")).toEqual({ agent: "Ann", reason: "rate limit", until: Date.parse("2026-01-01T00:07:00Z") });
      fold.take(told(end, { chunk: "Hello", status: "completed" }));
      expect([...fold.waits]).toEqual([]);
    }
  });
  it("folds 20,000 events of a thousand rounds in a moment", () => {
    const fold = new SessionFold();
    let seq = 0;
    const tell = (event: string, address: string, data: object): void => {
      seq += 1;
      fold.take({ seq, event, timestamp: "2026-01-01T00:00:00Z", session_id: "s", node_id: "W", address, data: { ...data } });
    };
    for (let round = 1; round <= 1000; round += 1) {
      tell("loop:round_started", `W[${round}]`, { loop: "W", round });
      for (const node of ["W", "C"]) {
        tell("node_state_change", `W[${round}]/${node}`, { status: "running" });
        tell("token_usage", `W[${round}]/${node}`, { input_tokens: 1, output_tokens: 1, usd: 0.001 });
        tell("node_state_change", `W[${round}]/${node}`, { status: "completed" });
      }
      tell("loop:round_completed", `W[${round}]`, { loop: "W", round, score: round % 97, tokens: 4, usd: 0.002 });
    }
    const entry = fold.entries.get("W")!;
    expect(entry.rounds.length).toBe(1000);
    expect(fold.best(entry)?.score).toBe(96);
    expect(cellStep(fold, "W", 777, "C")?.status).toBe("completed");
    expect(groupRounds(entry.rounds, 10)).toHaveLength(100);
  });
});

describe("the sheet", () => {
  it("has rows in logical order, and folds inner loops into one row", () => {
    const fold = foldOf("nested_loops");
    const structure = structureOf(exampleOf("04_nested_loops"));
    const rows = loopRows(fold, structure, "Outline", "Outline");
    expect(rows.map((row) => `${row.kind} ${row.row}`)).toEqual(["node Outline", "loop Draft", "node Editor", "node Good enough"]);
    expect(cellEntry(fold, "Outline", 2, "Draft")?.rounds.length).toBe(2);
    expect(sectionsOf(fold, structure).map((section) => section.kind)).toEqual(["loop", "straight"]);
  });
  it("finds the same rows from events alone", () => {
    const fold = foldOf("nested_loops");
    const rows = loopRows(fold, null, "Outline", "Outline");
    expect(rows.map((row) => row.row)).toEqual(["Outline", "Draft", "Editor", "Good enough"]);
  });
  it("shows a debate by speaker and round", () => {
    const sections = sectionsOf(foldOf("debate"), structureOf(exampleOf("07_debate")));
    expect(sections.find((section) => section.kind === "debate")).toMatchObject({ speakers: ["Optimist", "Sceptic"], rounds: 3 });
  });
});

describe("structure", () => {
  it("nests loops as the engine does", () => {
    const { loops } = structureOf(exampleOf("04_nested_loops"));
    expect(loops.map((loop) => [loop.head, loop.nodes])).toEqual([
      ["Outline", ["Outline", "Draft", "Polish", "Twice", "Editor", "Good enough"]],
      ["Draft", ["Draft", "Polish", "Twice"]],
    ]);
  });
  it("sees a node with an edge to itself, and a chain of many thousand nodes", () => {
    const edges = Array.from({ length: 20_000 }, (_, at) => ({ from: `n${at}`, to: `n${at + 1}` }));
    const nodes = Array.from({ length: 20_001 }, (_, at) => ({ id: `n${at}`, type: "passthrough" }));
    const { loops, items } = structureOf({ id: "g", nodes, edges: [...edges, { from: "n5", to: "n5" }] });
    expect(loops.map((loop) => loop.head)).toEqual(["n5"]);
    expect(items).toHaveLength(20_001);
  });
  it("takes over what the server says", () => {
    const { items } = structureFrom({
      nodes: ["A", "B", "C"].map((id, at) => ({ id, name: id, loop: at < 2 ? "A" : null, inside: null })),
      loops: [{ head: "A", nodes: ["A", "B"], parent: null }],
    });
    expect(items.map((item) => item.kind)).toEqual(["loop", "node"]);
  });
});

describe("the end in words", () => {
  it("says that the goal was missed, what was best, and what was handed on", () => {
    const fold = foldOf("loop_contract");
    const words = loopEnd(fold, fold.entries.get("Writer")!, 95, {}, t, "en");
    expect(words).toContain("end.max_rounds_missed");
    expect(words).toContain('"target":"95"');
    expect(words).toContain('"best":"90","bestRound":4');
    expect(words).toContain('end.handed_on({"round":4})');
  });
  it("says where the goal was reached", () => {
    const fold = foldOf("nested_loops");
    const words = loopEnd(fold, fold.entries.get("Outline")!, 90, {}, t, "en");
    expect(words).toMatch(/^end\.score_threshold_reached/);
    expect(words).not.toContain("end.best");
  });
});

describe("figures", () => {
  it("shows money with as many places as matter", () => {
    expect([0, 0.000906, 0.0314159, 0.1, 1.5, 1234.567].map((usd) => money(usd, "en"))).toEqual([
      "$0",
      "$0.00091",
      "$0.031",
      "$0.10",
      "$1.50",
      "$1,234.57",
    ]);
  });
  it("shows lengths of time in at most two units, in both languages", () => {
    expect([0.2, 420, 3100, 42_000, 72_000, 7_500_000, 200_000_000].map((ms) => duration(ms, "en"))).toEqual([
      "<1 ms",
      "420 ms",
      "3.1 s",
      "42 s",
      "1m 12s",
      "2h 5m",
      "2d 7h",
    ]);
    expect(duration(72_000, "zh-CN")).toBe("1 分 12 秒");
  });
  it("shows moments as seen from now", () => {
    expect(relative(0, 7_300_000, "en")).toBe("2 hr. ago");
  });
});

describe("differences", () => {
  it("compares words, in Chinese too", () => {
    expect(tally(difference("the old text", "the new text"))).toEqual({ added: 1, removed: 1 });
    const pieces = difference("我们今天去公园", "我们明天去公园");
    expect(pieces.filter((piece) => piece.kind === "same").map((piece) => piece.text).join("")).toContain("公园");
    expect(pieces.map((piece) => (piece.kind === "removed" ? "" : piece.text)).join("")).toBe("我们明天去公园");
  });
  it("reads the text of messages with parts", () => {
    expect(textOf([{ text: "a" }, { name: "b.png" }])).toBe("a\n[b.png]");
  });
});

describe("a very long loop", () => {
  const events: RondelEvent[] = [];
  const told = (event: string, address: string, data: Record<string, unknown>): void => {
    const seq = events.length + 1;
    const timestamp = new Date(1_700_000_000_000 + seq * 10).toISOString();
    events.push({ seq, event, timestamp, session_id: "s", node_id: address.split("/")[1] ?? null, address, data });
  };
  for (let round = 1; round <= 10_000; round += 1) {
    told("loop:round_started", `Writer[${round}]`, { loop: "Writer", round });
    told("node_state_change", `Writer[${round}]/Writer`, { status: "running" });
    told("node_state_change", `Writer[${round}]/Writer`, { status: round === 4321 ? "failed" : "completed" });
    told("loop:round_completed", `Writer[${round}]`, { loop: "Writer", round, score: round % 97, tokens: 3, usd: 0.01 });
  }
  const fold = new SessionFold().takeAll(events);
  const entry = fold.entries.get("Writer")!;

  it("is summed up by tens", () => {
    const groups = groupRounds(entry.rounds, 10);
    expect(groups).toHaveLength(1000);
    expect(groups[9]).toMatchObject({ first: 91, last: 100, best: 96, tokens: 30, marked: false });
    expect(groups[9]!.usd).toBeCloseTo(0.1);
    expect(groups[1]!.delta).toBeCloseTo(10);
    expect(groups[0]!.time).toBe(300);
    expect(groupRounds(entry.rounds.slice(0, 23), 10).map(({ first, last }) => [first, last])).toEqual([[1, 10], [11, 20], [21, 23]]);
  });
  it("shows of ten steps the state that needs an eye, and their mean time", () => {
    const groups = groupRounds(entry.rounds, 10);
    expect(groupSteps(fold, "Writer", "Writer", groups[0]!)).toEqual({ count: 10, status: "completed", mean: 10 });
    expect(groupSteps(fold, "Writer", "Writer", groups[432]!).status).toBe("failed");
    expect(groupSteps(fold, "Writer", "Nobody", groups[0]!).count).toBe(0);
  });
  it("has a chart of as many points as there are tens, and every round of a short one", () => {
    expect(seriesOf(entry.rounds, "score").rounds).toHaveLength(1000);
    expect(seriesOf(entry.rounds, "score").rounds[0]).toBe(5.5);
    expect(seriesOf(entry.rounds.slice(0, 3), "time").values).toEqual([30, 30, 30]);
  });
  it("knows its best round and the ends of its rounds as they come", () => {
    expect(fold.best(entry)?.round).toBe(96);
    expect(fold.roundEnds).toHaveLength(10_000);
  });
  it("tells the brush which rounds are in view, and where to scroll", () => {
    expect(inView(0, 168 + 900, 10_000, 10)).toEqual({ from: 0, to: 100 });
    expect(inView(90 * 990, 168 + 1800, 10_000, 10)).toEqual({ from: 9900, to: 10_000 });
    expect(scrollTo(5000, 168 + 900, 10)).toBe(90 * 500 - 450);
    expect(scrollTo(3, 168 + 900, 1)).toBe(0);
  });
});

describe("two versions of a file", () => {
  const before = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  const after = before.with(14, "another").toSpliced(28, 1);

  it("are compared line by line, with the numbers of both", () => {
    const lines = linesOf(before.join("\n") + "\n", after.join("\n") + "\n");
    expect(lines.filter((line) => line.kind !== "same")).toEqual([
      { kind: "removed", text: "line 15", before: 15, after: null },
      { kind: "added", text: "another", before: null, after: 15 },
      { kind: "removed", text: "line 29", before: 29, after: null },
    ]);
  });
  it("are shown near the changes only", () => {
    const shown = shortened(linesOf(before.join("\n"), after.join("\n")));
    expect(shown.filter((line) => line.kind === "gap")).toEqual([
      { kind: "gap", count: 11 },
      { kind: "gap", count: 7 },
    ]);
    expect(shown.filter((line) => line.kind === "same")).toHaveLength(10);
  });
});

describe("a lock in words", () => {
  const say = (key: string, values?: Record<string, unknown>): string => `${key} ${JSON.stringify(values ?? {})}`;
  const lock = (reason: string, figures: Record<string, unknown>) => ({ reason, message: "as told", figures, at: "" });

  it("is told in the reader's language from its figures", () => {
    expect(lockWords(lock("LOOP_DETECTED", { node: "W", repeats: 4 }), say)).toContain("breaker.said.repeats");
    expect(lockWords(lock("LOOP_DETECTED", { node: "W", cycle: 2, repeats: 3 }), say)).toContain("breaker.said.cycle");
    expect(lockWords(lock("LOOP_DETECTED", { node: "W", tool: "f", repeats: 4 }), say)).toContain("breaker.said.tool");
    expect(lockWords(lock("LOOP_DETECTED", { node: "W", entropy: 0.01 }), say)).toContain("breaker.said.stale");
    expect(lockWords(lock("TOKEN_SURGE", { tokens: 9, estimated_tokens: 2 }), say)).toContain("breaker.said.surge");
    expect(lockWords(lock("TIMEOUT", { running: 9, timeout: 2 }), say)).toContain("breaker.said.timeout");
  });
  it("is told as it is when a guard of somebody else's found it", () => {
    expect(lockWords(lock("MINE", {}), say)).toContain("as told");
  });
});
