import { ruleName, words } from "./words.ts";

const labels: Readonly<Record<string, string>> = { peer: "Called service", cause: "Cancelled by", rule: "Finding" };

/** What a filter is about. */
export function filterLabel(name: string): string {
  return labels[name] ?? words(name);
}

/** A filter in words. */
export function filterText(name: string, value: string): string {
  switch (name) {
    case "margin_lt": return `Margin below ${bound(value)}`;
    case "margin_gt": return `Margin above ${bound(value)}`;
    case "duration_lt": return `Took less than ${bound(value)}`;
    case "duration_gt": return `Took more than ${bound(value)}`;
    case "answered": return value === "true" ? "Answered" : "Not answered";
    case "late": return value === "true" ? "Late" : "Not late";
    case "rule": return ruleName(value);
    case "outcome": case "class": case "cause": case "phase": return words(value);
  }
  return `${filterLabel(name)}: ${value}`;
}

/** Bounds that a cell of a heat map gave end a nanosecond before a round number. */
function bound(value: string): string {
  const seconds = Number(value);
  return Number.isFinite(seconds) ? `${Math.round(seconds * 1e6) / 1e6 + 0} s` : value;
}
