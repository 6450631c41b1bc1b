/** What every part of the session page needs to know. */

import { createContext, useContext } from "react";
import type { SessionDetail } from "../../api/types";
import type { SessionFold } from "../../model/fold";
import type { GraphBody, LoopContract } from "../../model/graph";
import type { Structure } from "../../model/structure";

export interface LoopBounds {
  most: number | null;
  target: number | null;
  contract: LoopContract;
}

export interface Scene {
  id: string;
  /** The session as it is, or as it was at the moment that the slider shows. */
  fold: SessionFold;
  detail: SessionDetail | null;
  body: GraphBody | null;
  structure: Structure | null;
  selected: string | null;
  select: (address: string | null) => void;
  mayAct: boolean;
  /** Set while the slider shows the past: after which event of how many, and the way back. */
  past: { seq: number; last: number; toNow: () => void } | null;
}

export const SceneContext = createContext<Scene | null>(null);

/** What the server has proven of a loop: its most rounds, its goal, its contract. */
export function loopBounds(scene: Pick<Scene, "detail" | "body">, head: string): LoopBounds {
  const known = scene.detail?.graph.loops.find((loop) => loop.head === head);
  const standing = scene.detail?.loops.find((loop) => loop.loop === head);
  return {
    most: standing?.max_rounds ?? known?.max_rounds ?? null,
    target: standing?.target ?? known?.target ?? null,
    contract: known?.contract ?? scene.body?.loops?.[head] ?? {},
  };
}

export function useScene(): Scene {
  const scene = useContext(SceneContext);
  if (!scene) throw new Error("useScene outside a session page");
  return scene;
}
