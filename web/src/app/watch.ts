/** Follows what all sessions do, so that lists and the inbox are right without a reload. */

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { follow } from "../api/stream";

/** Whether the server can be reached. */
export function useAllSessions(): boolean {
  const queries = useQueryClient();
  const [reachable, setReachable] = useState(true);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let offline: ReturnType<typeof setTimeout> | null = null;
    const refresh = (): void => {
      timer ??= setTimeout(() => {
        timer = null;
        void queries.invalidateQueries({ queryKey: ["sessions"] });
        void queries.invalidateQueries({ queryKey: ["questions"] });
      }, 150);
    };
    const close = follow("/events", {
      onEvent: refresh,
      isOver: () => false,
      onConnection: (state) => {
        if (offline) clearTimeout(offline);
        offline = null;
        if (state === "lost") offline = setTimeout(() => setReachable(false), 700);
        else if (state === "live") {
          setReachable((before) => {
            if (!before) void queries.invalidateQueries();
            return true;
          });
        }
      },
    });
    return () => {
      close();
      if (timer) clearTimeout(timer);
      if (offline) clearTimeout(offline);
    };
  }, [queries]);
  return reachable;
}
