import { defaultFrom } from "./window.ts";

/** What a report or a search is narrowed to. Every filter lives in the URL under its own name. */
export type Filters = Record<string, string>;

export const filterNames = [
  "service", "route", "stage", "peer", "outcome", "class", "cause", "phase", "rule", "late", "margin_lt", "margin_gt",
  "environment", "version", "answered", "duration_lt", "duration_gt",
] as const;
export type FilterName = (typeof filterNames)[number];

/** Reads the filters that the URL carries; anything unknown or empty is left out. */
export function readFilters(query: URLSearchParams): Filters {
  const filters: Filters = { from: query.get("from") || defaultFrom };
  const to = query.get("to");
  if (to) filters["to"] = to;
  for (const name of filterNames) {
    const value = query.get(name);
    if (value) filters[name] = value;
  }
  return filters;
}

/** Returns the query with one filter set, or removed by an empty value. The cursor never survives a change. */
export function withFilter(query: URLSearchParams, changes: Record<string, string>): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  if (next.get("from") === defaultFrom && !next.get("to")) next.delete("from");
  return next;
}

export function searchPath(changes: Record<string, string>, base = new URLSearchParams()): string {
  const query = withFilter(base, changes).toString();
  return query ? `/search?${query}` : "/search";
}

/** The part of the query that every page shares, so that moving between pages keeps the window and what it is held against. */
export function windowOf(query: URLSearchParams): URLSearchParams {
  const kept = new URLSearchParams();
  for (const name of ["from", "to", "compare"]) {
    const value = query.get(name);
    if (value) kept.set(name, value);
  }
  return kept;
}

/** Finds a trace id in what somebody pasted: an id, a URL or a log line that holds one. Dashes of a UUID are dropped. */
export function findTraceID(text: string): string | null {
  const trimmed = text.trim();
  if (/^[0-9a-f]{16}$/i.test(trimmed)) return trimmed.toLowerCase().padStart(32, "0");
  const undashed = trimmed.replace(/\b([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})\b/gi, "$1$2$3$4$5");
  const match = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/i.exec(undashed);
  return match ? match[0].toLowerCase() : null;
}
