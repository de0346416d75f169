import { findTraceID, withFilter, windowOf } from "./filters.ts";
import { places } from "./places.ts";
import { parseWindow, presets, windowLabel, type Window } from "./window.ts";

/** One thing that the palette can do: go to a path (`?…` stays on the page and changes its query) or act. */
export interface Choice {
  group: "Trace" | "Time range" | "Page" | "Route" | "Service" | "Stage" | "Called service" | "Action";
  label: string;
  hint: string;
  path?: string;
  act?: () => void;
}

export interface Known {
  services: readonly { service: string; routes: readonly string[]; stages: readonly string[]; peers: readonly string[] }[];
  query: URLSearchParams;
  actions?: readonly Choice[];
}

const most = 40;

/** What fits the words typed, the best first. Every word has to occur; a label that begins with one goes before others. */
export function choices(text: string, known: Known): Choice[] {
  const id = findTraceID(text);
  if (id) return [{ group: "Trace", label: `Open trace ${id}`, hint: "", path: `/traces/${id}` }];
  const all = [...pages(known), ...named(known), ...(known.actions ?? []), ...presets.map((preset) => range({ from: preset.from, to: "" }, known.query))];
  const typed = text.trim().toLowerCase();
  if (!typed) return all.filter((choice) => choice.group === "Page" || choice.group === "Action");
  const words = typed.split(/\s+/);
  const scored = all.flatMap((choice, i) => {
    const label = choice.label.toLowerCase();
    const whole = `${label} ${choice.hint.toLowerCase()}`;
    if (!words.every((word) => whole.includes(word))) return [];
    const score = (label.startsWith(typed) ? 0 : words.some((word) => label.startsWith(word)) ? 1 : label.includes(typed) ? 2 : 3);
    return [{ choice, rank: score * all.length + i }];
  });
  const found = scored.sort((a, b) => a.rank - b.rank).slice(0, most).map(({ choice }) => choice);
  const window = parseWindow(text, "UTC");
  return window && !found.some((choice) => choice.path === range(window, known.query).path) ? [range(window, known.query), ...found] : found;
}

function pages({ query }: Known): Choice[] {
  const kept = windowOf(query).toString();
  return places.map((place) => ({ group: "Page", label: place.label, hint: place.asks, path: kept ? `${place.path}?${kept}` : place.path }));
}

function named({ services, query }: Known): Choice[] {
  const to = (path: string, filters: Record<string, string>) => `${path}?${withFilter(windowOf(query), filters)}`;
  return services.flatMap(({ service, routes, stages, peers }): Choice[] => [
    ...routes.map((route): Choice => ({ group: "Route", label: route, hint: service, path: to("/route", { service, route }) })),
    { group: "Service", label: service, hint: "its traces", path: to("/search", { service }) },
    ...stages.map((stage): Choice => ({ group: "Stage", label: stage, hint: service, path: to("/stages", { service, stage }) })),
    ...peers.map((peer): Choice => ({ group: "Called service", label: peer, hint: `called by ${service}`, path: to("/dependencies", { service, peer }) })),
  ]);
}

function range(window: Window, query: URLSearchParams): Choice {
  const next = withFilter(query, { from: window.from, to: window.to });
  return { group: "Time range", label: windowLabel(window), hint: "stay on this page", path: `?${next}` };
}
