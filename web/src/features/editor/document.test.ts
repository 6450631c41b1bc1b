import { readdirSync, readFileSync, existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { edited, readBody } from "./document";

const TEXT = `# A loop of two.
version: 1
graph:
  id: pair       # its name
  nodes:
    - {id: Writer, type: agent, config: {role: "You write."}}   # who writes
    - id: Critic
      type: agent

  edges:
    # there
    - {from: Writer, to: Critic}
    - { from: Critic, to: Writer }   # and back
`;

function changedLines(before: string, after: string): string[] {
  const old = new Set(before.split("\n"));
  return after.split("\n").filter((line) => !old.has(line));
}

describe("edits of a graph file", () => {
  it("change nothing but what they are about", () => {
    const after = edited(TEXT, (draft) => draft.set(["loops", "Writer", "max_rounds"], 4));
    expect(readBody(after)?.loops).toEqual({ Writer: { max_rounds: 4 } });
    expect(changedLines(TEXT, after).join("\n").trim()).toBe("loops:\n    Writer:\n      max_rounds: 4");
    expect(after).toContain("- { from: Critic, to: Writer }   # and back");
    expect(edited(after, (draft) => draft.set(["loops", "Writer", "max_rounds"], undefined))).toBe(TEXT);
  });
  it("keep every line of every example where nothing is changed", () => {
    const folder = `${import.meta.dirname}/../../../../examples`;
    for (const name of readdirSync(folder)) {
      const file = `${folder}/${name}/graph.yaml`;
      if (!existsSync(file)) continue;
      const text = readFileSync(file, "utf8");
      expect(edited(text, () => undefined), name).toBe(text);
      const moved = edited(text, (draft) => draft.set(["description"], "Another."));
      expect(changedLines(text, moved), name).toEqual(["  description: Another."]);
    }
  });
  it("leave values alone that are written over several lines", () => {
    const text = TEXT.replace("  edges:", "  vars: {a: 1,\n         b: 2}\n\n\n  edges:");
    const after = edited(text, (draft) => draft.set(["nodes", 1, "type"], "human"));
    expect(after).toBe(text.replace("      type: agent\n", "      type: human\n"));
  });
  it("rename a node everywhere, and remove it with its edges", () => {
    const contract = edited(TEXT, (draft) => draft.set(["loops", "Writer", "max_rounds"], 4));
    const renamed = edited(contract, (draft) => draft.renameNode("Writer", "Author"));
    const body = readBody(renamed)!;
    expect(body.nodes!.map((node) => node.id)).toEqual(["Author", "Critic"]);
    expect(body.edges!.map((edge) => `${edge.from}>${edge.to}`)).toEqual(["Author>Critic", "Critic>Author"]);
    expect(body.loops).toEqual({ Author: { max_rounds: 4 } });
    const removed = readBody(edited(renamed, (draft) => draft.removeNode("Author")))!;
    expect(removed.nodes!.map((node) => node.id)).toEqual(["Critic"]);
    expect(removed.edges ?? []).toEqual([]);
  });
  it("build a graph from nothing", () => {
    const blank = "version: 1\ngraph:\n  id: untitled\n  nodes: []\n  edges: []\n";
    const text = edited(blank, (draft) => {
      const one = draft.addNode("agent", { role: "" });
      const two = draft.addNode("human", {});
      draft.addEdge(one, two);
      draft.addEdge(two, one);
      draft.set(["edges", 1, "condition"], { type: "keyword", config: { none: ["ACCEPT"] } });
    });
    const body = readBody(text)!;
    expect(body.nodes!.map((node) => node.id)).toEqual(["Agent", "Human"]);
    expect(body.edges![1]!.condition).toEqual({ type: "keyword", config: { none: ["ACCEPT"] } });
  });
});
