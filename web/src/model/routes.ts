import type { MarginRow } from "../api/shapes.ts";
import { formatRatio } from "./seconds.ts";

/** How much of the budget the slow requests have left: p05 margin over the median budget. Null without a budget, and where none was left to share. */
export function marginLeft(row: MarginRow): number | null {
  if (row.margin_p05_s === null || row.budget_p50_s === null || row.budget_p50_s <= 0) return null;
  return row.margin_p05_s / row.budget_p50_s;
}

export type Health = "late" | "missing" | "tight" | "fine" | "unknown";

/** A route is late when its slow requests are, missing when one request in a hundred is, tight below a tenth of the budget. */
export function healthOf(row: MarginRow): Health {
  const left = marginLeft(row);
  const missed = row.missed_ratio ?? 0;
  if (left === null) return missed > 0 ? "missing" : "unknown";
  if (left < 0) return "late";
  if (missed >= 0.01) return "missing";
  return left < 0.1 ? "tight" : "fine";
}

/** The routes that miss their deadline first, then the least margin first; those without a budget last, the busiest of them first. */
export function byMarginLeft(rows: readonly MarginRow[]): MarginRow[] {
  const key = (row: MarginRow) => marginLeft(row) ?? (row.exhausted > 0 && row.answered === 0 ? -Infinity : Infinity);
  const fails = (row: MarginRow) => Number(healthOf(row) === "late" || healthOf(row) === "missing");
  return [...rows].sort((a, b) => {
    const left = fails(b) - fails(a) || key(a) - key(b);
    return Number.isNaN(left) || left === 0 ? b.requests - a.requests : left;
  });
}

/** What needs attention, in one sentence. */
export function attention(rows: readonly MarginRow[]): string {
  const budgeted = rows.filter((row) => row.with_budget > 0);
  if (rows.length === 0) return "";
  if (budgeted.length === 0) return `No request of ${count(rows.length, "route")} carried a budget.`;
  const missing = budgeted.filter((row) => healthOf(row) === "late" || healthOf(row) === "missing");
  const tight = budgeted.filter((row) => healthOf(row) === "tight");
  if (missing.length === 0 && tight.length === 0) {
    return budgeted.length === 1 ? "The one route with a budget keeps more than a tenth of it." : `All ${budgeted.length} routes with a budget keep more than a tenth of it.`;
  }
  const parts: string[] = [];
  if (missing.length > 0) parts.push(`${missing.length} of ${count(budgeted.length, "route")} ${missing.length === 1 ? "misses its" : "miss their"} deadline`);
  if (tight.length > 0) parts.push(`${missing.length > 0 ? tight.length : count(tight.length, "route")} ${tight.length === 1 ? "keeps" : "keep"} less than a tenth of the budget`);
  return `${parts.join("; ")}.`;
}

/** Missed requests over requests with a budget, over all routes. */
export function missedOverall(rows: readonly MarginRow[]): number | null {
  const budgeted = rows.reduce((sum, row) => sum + row.with_budget, 0);
  return budgeted === 0 ? null : rows.reduce((sum, row) => sum + row.late + row.exhausted, 0) / budgeted;
}

/** How the missed ratio compares with the week before, in words; empty where there is nothing to compare with. */
export function againstLastWeek(row: MarginRow): string {
  const before = row.week_ago?.missed_ratio;
  if (before === null || before === undefined || row.missed_ratio === null) return "";
  if (Math.abs(row.missed_ratio - before) < 0.0005) return "as last week";
  return `${formatRatio(before)} last week`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
