/** Which node of a loop gives the score: asked once a loop, from its first round. */

import { useQuery } from "@tanstack/react-query";
import { fetchSteps } from "../../app/queries";
import type { StepRecord } from "../../api/types";
import { placeOf } from "../../model/address";
import { asNumber } from "../../model/events";
import type { Entry } from "../../model/fold";

export function scoreIn(step: StepRecord | null | undefined): number | null {
  for (const message of step?.outputs ?? []) {
    const found = message.data?.score;
    const value = typeof found === "string" && found.trim() ? Number(found) : asNumber(found);
    if (value !== null && Number.isFinite(value)) return value;
  }
  return null;
}

/** The row whose output has the score of the round; null where none has. */
export function useScoreRow(session: string, entry: Entry | null): string | null {
  const scored = entry?.rounds.find((round) => round?.score != null) ?? null;
  const { data } = useQuery({
    queryKey: ["score-row", session, entry?.path, scored?.address ?? null],
    queryFn: async () => {
      const steps = await fetchSteps(session, scored!.address);
      const giving = steps.filter(
        (step) => placeOf(step.address).scope === scored!.address && scoreIn(step) === scored!.score,
      );
      return giving[0] ? placeOf(giving[0].address).row : null;
    },
    enabled: scored !== null,
    staleTime: Infinity,
  });
  return data ?? null;
}
