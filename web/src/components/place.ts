import { useMemo } from "react";
import { useSearchParams } from "wouter";
import { parametersOf, readExclusions, toggleExclusion, type Exclusion, type Exclusions } from "../model/exclusions.ts";
import { readFilters, withFilter, type Filters } from "../model/filters.ts";
import { comparedWindow, defaultFrom, readComparison, type Comparison, type Window } from "../model/window.ts";

/** What the address says: the window, what it is held against, and the filters. */
export interface PlaceState {
  query: URLSearchParams;
  window: Window;
  comparison: Comparison;
  compared: Window | null;
  filters: Filters;
  exclusions: readonly Exclusion[];
  /** The exclusions as parameters of the API. */
  without: Exclusions;
  /** Leaves a value out, or takes it back. */
  exclude: (exclusion: Exclusion) => void;
  change: (changes: Record<string, string>) => void;
}

export function usePlace(): PlaceState {
  const [query, setQuery] = useSearchParams();
  const text = query.toString();
  return useMemo(() => {
    const window = { from: query.get("from") || defaultFrom, to: query.get("to") ?? "" };
    const comparison = readComparison(query.get("compare"));
    const exclusions = readExclusions(query);
    return {
      exclusions, without: parametersOf(exclusions), exclude: (exclusion) => setQuery((current) => toggleExclusion(current, exclusion)),
      query, window, comparison, compared: comparedWindow(window, comparison), filters: readFilters(query),
      change: (changes) => setQuery((current) => withFilter(current, changes)),
    };
    // The query is a new object on every render; its text is what counts.
  }, [text, setQuery]);
}
