/** Who is looking: where the server asks for a token, it is asked for here, once. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useState, type FormEvent, type ReactNode } from "react";
import { call, post, Refused } from "../api/client";
import { Failure } from "../parts/Failure";
import type { Visitor } from "../api/types";
import { useSpeech } from "./i18n";

const VisitorContext = createContext<Visitor>({ name: "", role: "viewer", groups: null, needs_token: false });

export function useVisitor(): Visitor {
  return useContext(VisitorContext);
}

/** Whether the visitor may do anything to sessions. */
export function useMayAct(): boolean {
  const { role } = useVisitor();
  return role === "operator" || role === "admin";
}

/** Whether the visitor may change stored graphs. */
export function useMayEdit(): boolean {
  return useVisitor().role === "admin";
}

export function Entrance({ children }: { children: ReactNode }) {
  const { data, error } = useQuery({
    queryKey: ["visitor"],
    queryFn: () => call<Visitor>("/me"),
    staleTime: Infinity,
    retry: (count, cause) => !(cause instanceof Refused) && count < 20,
    retryDelay: 500,
  });
  if (error instanceof Refused) return <Failure error={error} />;
  if (!data) return null;
  if (data.role === null) return <Door />;
  return <VisitorContext.Provider value={data}>{children}</VisitorContext.Provider>;
}

function Door() {
  const { t } = useSpeech();
  const queries = useQueryClient();
  const [token, setToken] = useState("");
  const [error, setError] = useState<unknown>(null);
  const enter = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    try {
      await post("/login", { token: token.trim() });
      await queries.invalidateQueries();
    } catch (cause) {
      setError(cause);
    }
  };
  return (
    <main className="page">
      <form className="empty" onSubmit={(event) => void enter(event)}>
        <h2>{t("door.title")}</h2>
        <p>{t("door.about")}</p>
        <label>
          <h3>{t("door.token")}</h3>
          <input className="field" type="password" autoComplete="current-password" value={token} onChange={(event) => setToken(event.target.value)} autoFocus />
        </label>
        <Failure error={error} />
        <div>
          <button type="submit" className="button primary" disabled={!token.trim()}>
            {t("door.enter")}
          </button>
        </div>
      </form>
    </main>
  );
}
