import type { CancellationRow, MarginReport, MarginRow, OrphanRow, StageRow } from "../api/shapes.ts";
import { byMarginLeft, healthOf, missedOverall } from "./routes.ts";
import { formatCount, formatRatio, formatSeconds } from "./seconds.ts";
import { cancellationSentence, orphanSentence, place } from "./sentences.ts";
import { sum } from "./sums.ts";

/** Routes whose margin shrinks, the soonest to run out first. */
export function runningOut(rows: readonly MarginRow[]): MarginRow[] {
  const due = (row: MarginRow) => row.trend?.crosses_zero?.from ?? row.trend?.missed_crosses?.from ?? "9";
  return rows.filter((row) => row.trend?.significant && (row.trend.crosses_zero || row.trend.missed_crosses)).sort((a, b) => due(a).localeCompare(due(b)));
}

/** When a route runs out, in words. */
export function forecast(row: MarginRow): string {
  const { trend } = row;
  if (!trend) return "";
  const pace = `loses ${formatSeconds(Math.abs(trend.slope_s_per_day))} of margin a day`;
  if (trend.crosses_zero) return `${pace}; its slow requests run out ${interval(trend.crosses_zero)}`;
  if (trend.missed_crosses) return `${pace}; more than one request in a hundred is missed ${interval(trend.missed_crosses)}`;
  return pace;
}

/** What grew along with the loss, as a sentence; empty where nothing did significantly. */
export function grown(row: MarginRow): string {
  const parts = row.trend?.grown_stages ?? [];
  if (parts.length === 0) return "";
  const names = parts.slice(0, 3).map((one) => `${one.part === "dependency" ? one.stage || one.peer : one.part.replaceAll("_", " ")} by ${formatSeconds(one.s_per_day)} a day`);
  return ` What grew: ${names.join(", ")}.`;
}

function interval({ from, to }: { from: string; to: string | null }): string {
  const first = day(from);
  if (to === null) return `from ${first} on`;
  const last = day(to);
  return first === last ? `on ${first}` : `between ${first} and ${last}`;
}

const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** The day of an instant in UTC. */
export function day(instant: string): string {
  const [, month = "1", date = "1"] = instant.slice(0, 10).split("-");
  return `${Number(date)} ${months[Number(month) - 1] ?? ""}`;
}

/** Why no route is said to run out: which of the reasons is it? */
export function noForecast(rows: readonly MarginRow[]): string {
  if (!rows.some((row) => row.with_budget > 0)) return "Without budgets there is nothing to forecast.";
  if (!rows.some((row) => row.trend)) return "No forecast yet: it takes ten days with 200 answered requests each on a route.";
  return "No route is on its way to running out of time.";
}

/** The routes that already miss, the worst first. */
export function missing(rows: readonly MarginRow[]): MarginRow[] {
  return byMarginLeft(rows).filter((row) => row.with_budget > 0 && ["late", "missing"].includes(healthOf(row)));
}

export interface Degrading {
  row: StageRow;
  was: number | null;
}

const significantCalls = 20;
// Rarer than that nobody has to look at it in the morning.
const leastShare = 0.005;

/** Stages that run as meant less often than in the window held against, the largest change first. */
export function degrading(rows: readonly StageRow[], before: readonly StageRow[]): Degrading[] {
  const key = (row: StageRow) => [row.service, row.route, row.stage, row.peer].join(" ");
  const known = new Map(before.map((row) => [key(row), row]));
  return rows
    .filter((row) => row.calls >= significantCalls && row.degraded / row.calls >= leastShare)
    .map((row) => {
      const earlier = known.get(key(row));
      return { row, was: earlier && earlier.calls >= significantCalls ? (earlier.degraded_ratio ?? 0) : null };
    })
    .filter(({ row, was }) => row.trend?.degraded_significant || apart(row.degraded, row.calls, was))
    .sort((a, b) => (b.row.degraded_ratio ?? 0) - (b.was ?? 0) - ((a.row.degraded_ratio ?? 0) - (a.was ?? 0)));
}

/** Whether a share lies above an earlier one by more than two standard errors; with nothing earlier, whether it is above 1 %. */
function apart(hits: number, calls: number, was: number | null): boolean {
  const share = hits / calls;
  return share - (was ?? 0.01) > 2 * Math.sqrt((share * (1 - share)) / calls);
}

export function degradingSentence({ row, was }: Degrading): string {
  const now = `${row.stage || row.peer} of ${place(row.service, row.route)} did not run as meant in ${formatRatio(row.degraded_ratio)} of ${formatCount(row.calls)} calls`;
  return was === null ? now : `${now}; a week earlier in ${formatRatio(was)}`;
}

export function orphanConcern(rows: readonly OrphanRow[]): string | null {
  const seconds = sum(rows, (row) => row.orphan_s + row.post_cancel_s);
  return seconds > 0 || rows.some((row) => row.still_running > 0) ? orphanSentence(rows) : null;
}

export function missedConcern(rows: readonly MarginRow[]): string | null {
  const now = missedOverall(rows);
  if (now === null) return null;
  const before = rows.reduce((total, { week_ago: week }) => ({ budgeted: total.budgeted + (week?.with_budget ?? 0), missed: total.missed + (week?.missed_ratio ?? 0) * (week?.with_budget ?? 0) }), { budgeted: 0, missed: 0 });
  const was = before.budgeted > 0 ? before.missed / before.budgeted : null;
  const against = was === null ? "" : Math.abs(now - was) < 0.0005 ? ", as a week earlier" : `, ${formatRatio(was)} a week earlier`;
  return `${formatRatio(now)} of the requests with a budget were late or ended without an answer${against}`;
}

export function cancellationConcern(rows: readonly CancellationRow[]): string | null {
  return sum(rows, (row) => row.sent) > 0 ? cancellationSentence(rows) : null;
}

/** The missed ratio of all routes together over time. */
export function missedOverTime(report: Pick<MarginReport, "rows">): { at: number; value: number | null }[] {
  const buckets = new Map<number, { missed: number; budgeted: number }>();
  for (const row of report.rows) {
    for (const bucket of row.buckets) {
      const at = Date.parse(bucket.at);
      const known = buckets.get(at) ?? { missed: 0, budgeted: 0 };
      buckets.set(at, { missed: known.missed + bucket.late + bucket.exhausted, budgeted: known.budgeted + bucket.with_budget });
    }
  }
  return [...buckets].sort((a, b) => a[0] - b[0]).map(([at, { missed, budgeted }]) => ({ at, value: budgeted > 0 ? missed / budgeted : null }));
}
