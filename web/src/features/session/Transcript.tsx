/** What was said, in order: by round and speaker. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useSpeech } from "../../app/i18n";
import { call } from "../../api/client";
import type { StepList, StepRecord } from "../../api/types";
import { placeOf, roundsAround } from "../../model/address";
import { asNumber, asText } from "../../model/events";
import { useScene } from "./context";
import { said } from "./Detail";

const PAGE = 60;

interface Said {
  round: string;
  who: string;
  address: string;
  text: string;
}

export function Transcript() {
  const { id, fold, select } = useScene();
  const { t } = useSpeech();
  const done = [...fold.steps.values()].filter((step) => step.ended !== null).length;
  const query = useInfiniteQuery({
    queryKey: ["transcript", id, done],
    queryFn: ({ pageParam }) =>
      call<StepList>(
        `/sessions/${encodeURIComponent(id)}/steps?offset=${pageParam}&limit=${PAGE}`,
      ),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (pages.length * PAGE < last.total ? pages.length * PAGE : undefined),
    placeholderData: (before) => before,
  });
  const all = (query.data?.pages ?? []).flatMap((page) => page.steps).flatMap((step) => turnsOf(step));
  const lines = all.filter((line) => line.text);
  if (query.data && lines.length === 0) return <p className="quiet">{t("transcript.empty")}</p>;
  return (
    <div className="turns">
      {lines.map((line, index) => (
        <div key={index} style={{ display: "contents" }}>
          {line.round !== lines[index - 1]?.round && line.round && <RoundTitle scope={line.round} />}
          <div className="turn">
            <button type="button" className="link who" onClick={() => select(line.address)}>
              {line.who}
            </button>
            <div className="text">{line.text}</div>
          </div>
        </div>
      ))}
      {query.hasNextPage && (
        <button type="button" className="button" onClick={() => void query.fetchNextPage()} disabled={query.isFetching}>
          {t("action.more")}
        </button>
      )}
    </div>
  );
}

/** A step's words; a debate's turn by turn. */
function turnsOf(step: StepRecord): Said[] {
  const { scope, row } = placeOf(step.address);
  const history = step.outputs.flatMap((message) => message.data?.debate_history as unknown[] | undefined ?? []);
  if (history.length > 0) {
    return history.map((turn) => {
      const { agent, content, round } = turn as Record<string, unknown>;
      const place = `${step.address}[${asNumber(round) ?? ""}]`;
      return { round: place, who: asText(agent), address: step.address, text: asText(content) };
    });
  }
  return [{ round: scope, who: row, address: step.address, text: said(step) }];
}

/** The rounds around what is said, in words. */
function RoundTitle({ scope }: { scope: string }) {
  const { t } = useSpeech();
  const words = roundsAround(`${scope}/`).map(({ loop, round }) => t("transcript.round", { loop: placeOf(loop).row, round }));
  return <h2 className="round-title">{words.join(" · ") || scope}</h2>;
}
