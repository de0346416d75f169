import type { MarginRow, StageRow } from "../api/shapes.ts";
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

/** What the mean request spends, part by part. The parts may overlap where stages run side by side. */
export interface Spend {
  budget: number | null;
  parts: { key: string; label: string; seconds: number }[];
}

/** Calls of a stage a request makes, times its median spend. */
export function spendOf(row: MarginRow, stages: readonly StageRow[]): Spend {
  const parts = stages.flatMap((stage) => (stage.spend_p50_s === null || row.requests === 0 ? [] : [{
    key: `${stage.stage} ${stage.peer}`, label: stage.stage || stage.peer || "unnamed", seconds: stage.spend_p50_s * (stage.calls / row.requests),
  }]));
  return { budget: row.budget_p50_s, parts: parts.sort((a, b) => b.seconds - a.seconds) };
}

/** What takes more than before by at least a hundredth of the budget, the most first. */
export function growth(now: Spend, then: Spend): { key: string; label: string; by: number }[] {
  const before = new Map(then.parts.map((part) => [part.key, part.seconds]));
  const least = Math.max(0.001, (now.budget ?? 0) / 100);
  return now.parts.map((part) => ({ key: part.key, label: part.label, by: part.seconds - (before.get(part.key) ?? 0) })).filter((part) => part.by >= least).sort((a, b) => b.by - a.by);
}
