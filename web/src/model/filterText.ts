import { ruleName, words } from "./words.ts";

/** A filter in words. */
export function filterText(name: string, value: string): string {
  switch (name) {
    case "margin_lt": return `Margin below ${value} s`;
    case "margin_gt": return `Margin above ${value} s`;
    case "late": return value === "true" ? "Late" : "Not late";
    case "rule": return ruleName(value);
    case "outcome": case "class": case "cause": case "phase": return words(value);
  }
  return `${words(name)}: ${value}`;
}
