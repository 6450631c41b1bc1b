/** What the pages ask the server for, and what they tell it to do. */

import { QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call, post, Refused } from "../api/client";
import type {
  Changed,
  CheckResult,
  GraphDetail,
  GraphList,
  QuestionList,
  SessionDetail,
  SessionList,
  StartRequest,
  StepList,
  StepRecord,
  InsightList,
  TemplateList,
  VersionList,
} from "../api/types";

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      retry: (count, error) => !(error instanceof Refused) && count < 3,
    },
  },
});

const id = encodeURIComponent;

export interface SessionFilter {
  status: string;
  graph: string;
  text: string;
  version: string;
}

export function fetchSessions(filter: SessionFilter, cursor: string | null): Promise<SessionList> {
  const search = new URLSearchParams();
  if (filter.status) search.set("status", filter.status);
  if (filter.graph) search.set("graph_id", filter.graph);
  if (filter.text) search.set("q", filter.text);
  if (filter.version) search.set("version", filter.version);
  if (cursor) search.set("cursor", cursor);
  return call(`/sessions?${search}`);
}

/** All that there is to a session but its steps; asked for again whenever `version` changes. */
export function useSessionDetail(session: string, version: string) {
  return useQuery({
    queryKey: ["session", session, version],
    queryFn: () => call<SessionDetail>(`/sessions/${id(session)}`),
    placeholderData: (before) => before,
    staleTime: Infinity,
  });
}

/** The steps of one address, or of all that lie below it. */
export async function fetchSteps(session: string, address: string): Promise<StepRecord[]> {
  const search = new URLSearchParams({ address });
  return (await call<StepList>(`/sessions/${id(session)}/steps?${search}`)).steps;
}

/** One step; `state` changes when what is known of it does. */
export function useStep(session: string, address: string | null, state: string) {
  return useQuery({
    queryKey: ["step", session, address, state],
    queryFn: async () => {
      const steps = await fetchSteps(session, address!);
      return steps.find((step) => step.address === address) ?? null;
    },
    enabled: address !== null,
    staleTime: Infinity,
    placeholderData: (before) => (before?.address === address ? before : undefined),
  });
}

export function useQuestions() {
  return useQuery({
    queryKey: ["questions"],
    queryFn: async () => (await call<QuestionList>("/questions")).questions,
    refetchInterval: 30_000,
  });
}

export function useGraphs() {
  return useQuery({
    queryKey: ["graphs"],
    queryFn: async () => (await call<GraphList>("/graphs")).graphs,
  });
}

export function useVersions(graph: string) {
  return useQuery({
    queryKey: ["versions", graph],
    queryFn: () => call<VersionList>(`/graphs/${id(graph)}/versions`),
  });
}

/** What the sessions that have ended show, by graph; of one graph if it is named. */
export function useInsights(graph: string | null) {
  return useQuery({
    queryKey: ["insights", graph],
    queryFn: () => call<InsightList>(graph === null ? "/insights" : `/insights?graph_id=${id(graph)}`),
  });
}

export function useTemplates(enabled = true) {
  return useQuery({
    queryKey: ["templates"],
    queryFn: async () => (await call<TemplateList>("/templates")).templates,
    staleTime: Infinity,
    enabled,
  });
}

export function fetchGraph(name: string): Promise<GraphDetail> {
  return call(`/graphs/${id(name)}`);
}

export function createGraph(text: string): Promise<GraphDetail> {
  return post("/graphs", { text });
}

/** Saves over the version that was loaded; refused if somebody else saved meanwhile. */
export function saveGraph(name: string, text: string, etag: string): Promise<GraphDetail> {
  return call(`/graphs/${id(name)}`, { method: "PUT", body: { text }, headers: { "If-Match": etag } });
}

export function deleteGraph(name: string, etag: string): Promise<unknown> {
  return call(`/graphs/${id(name)}`, { method: "DELETE", headers: { "If-Match": etag } });
}

export function checkGraph(text: string, signal?: AbortSignal): Promise<CheckResult> {
  return call("/graphs/check", { method: "POST", body: { graph: text }, signal });
}

/** A key that makes a repeated request harmless. */
export function newKey(): string {
  return `web-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
}

export function startSession(request: StartRequest): Promise<Changed> {
  return post("/sessions", { ...request, idempotency_key: newKey() });
}

export type Verb = "pause" | "resume" | "stop" | "answer" | "unlock" | "fork";

export function control(session: string, verb: Verb, body: unknown = {}): Promise<Changed> {
  return post(`/sessions/${id(session)}/${verb}`, body);
}

export function useControl(session: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ verb, body }: { verb: Verb; body?: unknown }) => control(session, verb, body),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["session", session] });
      void queries.invalidateQueries({ queryKey: ["questions"] });
    },
  });
}
