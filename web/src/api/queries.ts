import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Filters } from "../model/filters.ts";
import { ApiError, getJSON, getText } from "./client.ts";
import type { Health, MarginReport, ServiceList, Statement, Trace, TraceSearch } from "./shapes.ts";

const refresh = 30_000;

/** A problem that asking again cannot mend is not asked again. */
export function retry(failures: number, error: Error): boolean {
  if (error instanceof ApiError && error.status >= 400 && error.status < 500) return false;
  return failures < 2;
}

export function useMargin(filters: Filters) {
  return useQuery({
    queryKey: ["margin", filters],
    queryFn: ({ signal }) => getJSON<MarginReport>("/reports/margin", { ...filters, limit: 1000 }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: refresh,
  });
}

export function useSearch(filters: Filters) {
  return useInfiniteQuery({
    queryKey: ["search", filters],
    queryFn: ({ signal, pageParam }) =>
      getJSON<TraceSearch>("/traces", { ...filters, cursor: pageParam, limit: 100 }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next || undefined,
    placeholderData: keepPreviousData,
  });
}

export function useServices() {
  return useQuery({
    queryKey: ["services"],
    queryFn: ({ signal }) => getJSON<ServiceList>("/services", { from: "1970-01-01T00:00:00Z" }, signal),
    staleTime: 60_000,
  });
}

export function useTrace(id: string) {
  return useQuery({
    queryKey: ["trace", id],
    queryFn: ({ signal }) => getJSON<Trace>(`/traces/${encodeURIComponent(id)}`, {}, signal),
    staleTime: 60_000,
  });
}

export function useStatement(id: string, entry: string) {
  return useQuery({
    queryKey: ["statement", id, entry],
    queryFn: ({ signal }) => getJSON<Statement>(`/traces/${encodeURIComponent(id)}/statement`, { entry }, signal),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

export function incidentMarkdown(id: string, entry: string): Promise<string> {
  return getText(`/traces/${encodeURIComponent(id)}/incident`, { format: "md", entry });
}

export function useHealth() {
  return useQuery({
    queryKey: ["health"],
    // An installation that reports a failed check answers 503 with the same body.
    queryFn: ({ signal }) => getJSON<Health>("/health", {}, signal, [503]),
    refetchInterval: 60_000,
  });
}
