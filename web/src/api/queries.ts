import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Exclusions } from "../model/exclusions.ts";
import type { Filters } from "../model/filters.ts";
import { mostRows, reportParams, type Asked } from "../model/reports.ts";
import { lengthOf, type Window } from "../model/window.ts";
import { ApiError, getJSON, getText } from "./client.ts";
import type { Advice, Answer, AttributionReport, CellReport, Facets, Health, MarkerList, PatienceReport, ReportName, Reports, ServiceList, Statement, Trace, TraceSearch } from "./shapes.ts";

const refresh = 30_000;

/** A problem that asking again cannot mend is not asked again. */
export function retry(failures: number, error: Error): boolean {
  if (error instanceof ApiError && error.status >= 400 && error.status < 500) return false;
  return failures < 2;
}

/** Long windows change slowly and cost more to ask. */
function refreshOf(window: Window): number | false {
  if (window.to && window.to !== "now") return false;
  return (lengthOf(window) ?? 0) > 86_400 ? 4 * refresh : refresh;
}

async function ask<Name extends ReportName>(name: Name, filters: Asked, cursor: string, signal?: AbortSignal): Promise<Answer<Reports[Name]>> {
  return getJSON(`/reports/${name}`, { ...reportParams(name, filters), cursor, limit: mostRows }, signal);
}

/** A report for a window and those of the filters that it knows. */
export function useReport<Name extends ReportName>(name: Name, filters: Asked, window: Window | null) {
  const params = reportParams(name, filters);
  return useInfiniteQuery({
    queryKey: ["report", name, params, window],
    queryFn: ({ signal, pageParam }) => ask(name, { ...filters, from: window?.from ?? "", to: window?.to ?? "" }, pageParam, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next || undefined,
    placeholderData: keepPreviousData,
    refetchInterval: window ? refreshOf(window) : false,
    enabled: window !== null,
    select: joined<Reports[Name]>,
  });
}

interface Pages<Row> {
  pages: Answer<Row>[];
}

/** The pages of an answer as one. */
function joined<Row>({ pages }: Pages<Row>): Answer<Row> {
  const [first, ...rest] = pages;
  if (!first) throw new Error("an answer without a page");
  return rest.length === 0 ? first : { ...first, rows: pages.flatMap((page) => page.rows), next: pages.at(-1)?.next ?? null };
}

/** Every row of a report, page after page. */
export async function allRows<Name extends ReportName>(name: Name, filters: Asked): Promise<Reports[Name][]> {
  const rows: Reports[Name][] = [];
  for (let cursor = ""; ; ) {
    const page = await ask(name, filters, cursor);
    rows.push(...page.rows);
    if (!page.next) return rows;
    cursor = page.next;
  }
}

/** What a search finds, newest first: at most so many rows, or those it had when it was stopped. */
export async function allTraces(filters: Filters, without: Exclusions, most: number, stop: AbortSignal, tell: (found: number) => void): Promise<TraceSearch["rows"]> {
  const rows: TraceSearch["rows"] = [];
  for (let cursor = ""; rows.length < most; ) {
    let page: TraceSearch;
    try {
      page = await getJSON<TraceSearch>("/traces", { ...filters, ...without, cursor, limit: mostRows }, stop);
    } catch (error) {
      if (stop.aborted) break;
      throw error;
    }
    rows.push(...page.rows);
    tell(rows.length);
    if (!page.next || stop.aborted) break;
    cursor = page.next;
  }
  return rows.slice(0, most);
}

export function useSearch(filters: Filters, without: Exclusions) {
  return useInfiniteQuery({
    queryKey: ["search", filters, without],
    queryFn: ({ signal, pageParam }) =>
      getJSON<TraceSearch>("/traces", { ...filters, ...without, cursor: pageParam, limit: 100 }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next || undefined,
    placeholderData: keepPreviousData,
  });
}

/** What was deployed in a window, written down or seen as a new version of a service. */
export function useMarkers(window: Window, service = "") {
  const params = { ...window, service, observed: true, limit: 100 };
  return useQuery({
    queryKey: ["markers", params],
    queryFn: ({ signal }) => getJSON<MarkerList>("/markers", params, signal),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

/** Why margins moved: between two windows, or around a marker. */
export function useAttribution(params: Record<string, string>, enabled = true) {
  return useQuery({
    queryKey: ["attribution", params],
    queryFn: ({ signal }) => getJSON<AttributionReport>("/reports/attribution", { ...params, limit: mostRows }, signal),
    placeholderData: keepPreviousData,
    enabled,
  });
}

/** What dependencies and routes need. */
export function useAdvice(params: Asked) {
  return useQuery({
    queryKey: ["advice", params],
    queryFn: ({ signal }) => getJSON<Advice>("/policies/advice", { ...params, limit: mostRows }, signal),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** The same as the file that services load. */
export function usePolicyFile(params: Asked) {
  return useQuery({
    queryKey: ["policy", params],
    queryFn: ({ signal }) => getText("/policies/advice", { ...params, format: "file" }, signal),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** How many traces of the window have which value. */
export function useFacets(filters: Filters, without: Exclusions) {
  return useQuery({
    queryKey: ["facets", filters, without],
    queryFn: ({ signal }) => getJSON<Facets>("/facets", { ...filters, ...without, limit: 50 }, signal),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

/** How the requests of a window are spread over time and what they had left, or took. */
export function useCells(filters: Filters) {
  const params = reportParams("cells", filters);
  return useQuery({
    queryKey: ["cells", params],
    queryFn: ({ signal }) => getJSON<CellReport>("/reports/cells", { ...params, limit: mostRows }, signal),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    // Nothing yet is a worker that has just begun.
    refetchInterval: ({ state }) => (state.data?.rows.length === 0 ? 5_000 : refreshOf({ from: filters["from"] ?? "", to: filters["to"] ?? "" })),
  });
}

/** When clients leave. */
export function usePatience(filters: Filters, without: Exclusions) {
  const params = reportParams("patience", { ...filters, ...without });
  return useQuery({
    queryKey: ["patience", params],
    queryFn: ({ signal }) => getJSON<PatienceReport>("/reports/patience", { ...params, limit: mostRows }, signal),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    refetchInterval: refreshOf({ from: filters["from"] ?? "", to: filters["to"] ?? "" }),
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
