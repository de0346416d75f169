import type { MarginRow, SpendRow } from "../api/shapes.ts";
import { partName } from "./changes.ts";
import { healthOf, marginLeft } from "./routes.ts";
import { formatRatio, formatSeconds } from "./seconds.ts";
import type { Series } from "./series.ts";
import { millis } from "./window.ts";

/** How a route stands, in a sentence. */
export function routeSentence(row: MarginRow): string {
  const left = marginLeft(row);
  switch (healthOf(row)) {
    case "late": return `Its slow requests end ${formatSeconds(-(row.margin_p05_s ?? 0))} after their deadline.`;
    case "missing": return `${formatRatio(row.missed_ratio)} of its requests miss their deadline${left === null ? "" : `; those answered keep at least ${formatSeconds(row.margin_p05_s)} in 95 of 100 cases`}.`;
    case "tight": return `Its slow requests keep ${formatSeconds(row.margin_p05_s)}, less than a tenth of the budget.`;
    case "fine": return `Its slow requests keep ${formatSeconds(row.margin_p05_s)}, ${formatRatio(left)} of the budget.`;
  }
  return "Its requests carry no budget.";
}

/** Percentiles of the margin over time; `offset` moves what the window is held against beneath it. */
export function marginSeries(row: MarginRow, before: MarginRow | undefined, offset: number, label: string): Series[] {
  const series = (key: string, name: string, colour: string, value: (bucket: MarginRow["buckets"][number]) => number | null, of = row, kind: Series["kind"] = "line", by = 0): Series =>
    ({ key, label: name, colour, kind, points: of.buckets.map((bucket) => ({ at: millis(bucket.at) + by, value: value(bucket) })) });
  return [
    ...(before ? [series("was", `5th percentile ${label}`, "var(--ink-2)", (bucket) => bucket.margin_p05_s, before, "was", offset)] : []),
    series("p05", "5th percentile, the slow ones", "var(--accent)", (bucket) => bucket.margin_p05_s),
    series("p50", "Median", "var(--service-0)", (bucket) => bucket.margin_p50_s),
    series("p95", "95th percentile", "var(--service-8)", (bucket) => bucket.margin_p95_s),
  ];
}

export function missedSeries(row: MarginRow, before: MarginRow | undefined, offset: number, label: string): Series[] {
  const points = (of: MarginRow, by: number) => of.buckets.map((bucket) => ({ at: millis(bucket.at) + by, value: bucket.with_budget > 0 ? (bucket.late + bucket.exhausted) / bucket.with_budget : null }));
  return [
    { key: "missed", label: "Missed", colour: "var(--bad)", kind: "bars", points: points(row, 0) },
    ...(before ? [{ key: "was", label, colour: "var(--ink-2)", kind: "was" as const, points: points(before, offset) }] : []),
  ];
}

/** What the mean request spends, part by part: its budget less what it had left. */
export interface Spend {
  budget: number | null;
  parts: { key: string; label: string; seconds: number }[];
}

const keyOf = (row: SpendRow) => `${row.part} ${row.stage} ${row.peer}`;

export function spendOf(rows: readonly SpendRow[]): Spend {
  const budget = rows.find((row) => row.part === "budget");
  const parts = rows.filter((row) => row.part !== "budget" && row.mean_s > 0);
  return { budget: budget?.mean_s ?? null, parts: parts.map((row) => ({ key: keyOf(row), label: partName(row), seconds: row.mean_s })).sort((a, b) => b.seconds - a.seconds) };
}

export const spendColours = ["var(--service-0)", "var(--service-1)", "var(--service-2)", "var(--service-3)", "var(--service-6)", "var(--service-5)", "var(--service-4)"];
const restColour = "var(--rule-strong)";

/** Spend over time, stacked, the largest at the bottom; the small ones are one layer together. The budget granted is a line. */
export function spendSeries(rows: readonly SpendRow[]): Series[] {
  const budget = rows.find((row) => row.part === "budget");
  const parts = rows.filter((row) => row.part !== "budget" && row.mean_s > 0).sort((a, b) => b.mean_s - a.mean_s);
  const points = (row: SpendRow) => row.buckets.map((bucket) => ({ at: millis(bucket.at), value: bucket.mean_s }));
  const drawn = parts.slice(0, spendColours.length);
  const rest = parts.slice(drawn.length);
  const restPoints = (budget?.buckets ?? []).map((bucket, i) => ({ at: millis(bucket.at), value: rest.reduce((sum, row) => sum + (row.buckets[i]?.mean_s ?? 0), 0) }));
  return [
    ...drawn.map((row, i): Series => ({ key: keyOf(row), label: partName(row), colour: spendColours[i] ?? restColour, kind: "stack", points: points(row) })),
    ...(rest.length > 0 ? [{ key: "rest", label: `${rest.length} more`, colour: restColour, kind: "stack" as const, points: restPoints }] : []),
    ...(budget ? [{ key: "budget", label: "Budget granted", colour: "var(--bad)", kind: "was" as const, points: points(budget) }] : []),
  ];
}

/** What takes more than before by at least a hundredth of the budget, the most first. */
export function growth(now: Spend, then: Spend): { key: string; label: string; by: number }[] {
  const before = new Map(then.parts.map((part) => [part.key, part.seconds]));
  const least = Math.max(0.001, (now.budget ?? 0) / 100);
  return now.parts.map((part) => ({ key: part.key, label: part.label, by: part.seconds - (before.get(part.key) ?? 0) })).filter((part) => part.by >= least).sort((a, b) => b.by - a.by);
}
