import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { readFilters, withFilter, type Filters } from "../model/filters.ts";
import { comparedWindow, defaultFrom, readComparison, type Comparison, type Window } from "../model/window.ts";

/** What the address says: the window, what it is held against, and the filters. */
export interface PlaceState {
  query: URLSearchParams;
  window: Window;
  comparison: Comparison;
  compared: Window | null;
  filters: Filters;
  change: (changes: Record<string, string>) => void;
}

export function usePlace(): PlaceState {
  const [query, setQuery] = useSearchParams();
  const text = query.toString();
  return useMemo(() => {
    const window = { from: query.get("from") || defaultFrom, to: query.get("to") ?? "" };
    const comparison = readComparison(query.get("compare"));
    return {
      query, window, comparison, compared: comparedWindow(window, comparison), filters: readFilters(query),
      change: (changes) => setQuery((current) => withFilter(current, changes)),
    };
    // The query is a new object on every render; its text is what counts.
  }, [text, setQuery]);
}
