import type { CancellationRow, ConformanceRow, DependencyRow, FindingRow, LimitRow, LocalRow, OrphanRow, PhaseRow, PropagationRow, ReserveRow, RetryRow, StageRow } from "../api/shapes.ts";
import { formatCount, formatRatio, formatSeconds } from "./seconds.ts";
import { addCounts, groupBy, sum } from "./sums.ts";
import { ruleName, words } from "./words.ts";

// What a report says in one sentence. Each is given at least one row.

/** Seconds a row's work went on for nobody. Work after a cancellation is orphan work too where the caller had left, so the two are not added. */
export function forNobody(row: Pick<OrphanRow, "orphan_s" | "post_cancel_s">): number {
  return Math.max(row.orphan_s, row.post_cancel_s);
}

/** Rows of one place as one: a caller's cause and a callee's own are two rows about the same work. */
export function byPlace(rows: readonly OrphanRow[]): OrphanRow[] {
  const places = new Map<string, OrphanRow>();
  for (const row of rows) {
    const key = JSON.stringify([row.service, row.stage, row.peer]);
    const found = places.get(key);
    places.set(key, found ? { ...found, orphan_s: found.orphan_s + row.orphan_s, post_cancel_s: found.post_cancel_s + row.post_cancel_s, still_running: found.still_running + row.still_running, share_of_busy: (found.share_of_busy ?? 0) + (row.share_of_busy ?? 0) } : row);
  }
  return [...places.values()];
}

export function orphanSentence(answered: readonly OrphanRow[]): string {
  const rows = byPlace(answered);
  const [most] = groupBy(rows, (row) => row.service, rows.some((row) => row.orphan_s > 0) ? (row) => row.orphan_s : forNobody);
  const orphan = sum(rows, (row) => row.orphan_s);
  const post = sum(rows, (row) => row.post_cancel_s);
  const running = sum(rows, (row) => row.still_running);
  if (!most || orphan + post === 0) return running > 0 ? `${count(running, "call")} ${running === 1 ? "was" : "were"} still running when the answer had gone out` : "Nobody worked for callers that had left";
  const own = { orphan: sum(most.rows, (row) => row.orphan_s), share: Math.max(0, ...most.rows.map((row) => row.share_of_busy ?? 0)) };
  const beyond = sum(rows, forNobody) - orphan;
  if (orphan === 0) return `${formatSeconds(post)} of work after cancellations, most of it in ${most.key}`;
  return `${formatSeconds(orphan)} of work for callers that no longer waited, ${own.orphan === orphan ? "all" : formatSeconds(own.orphan)} of it in ${most.key}${own.share >= 0.005 ? `, ${formatRatio(own.share)} of its time` : ""}${beyond >= orphan / 10 ? `; ${formatSeconds(beyond)} more after cancellations` : ""}`;
}

export function findingSentence(rows: readonly FindingRow[]): string {
  const errors = groupBy(rows.filter((row) => row.severity === "error"), (row) => row.rule, (row) => row.traces);
  const [most] = errors;
  if (!most) return "Nothing worse than a warning was found";
  return `${count(errors.length, "rule")} of severity error ${errors.length === 1 ? "was" : "were"} broken; most often ${lower(ruleName(most.key))}, in ${count(most.total, "trace")}`;
}

export function stageSentence(rows: readonly StageRow[]): string {
  // Two calls of two tell less than a tenth of a thousand.
  const often = (row: StageRow) => Number(row.calls >= 20);
  const worst = [...rows].filter((row) => row.degraded > 0).sort((a, b) => often(b) - often(a) || (b.degraded_ratio ?? 0) - (a.degraded_ratio ?? 0))[0];
  if (!worst) return `No stage was skipped, replaced or cut short in ${formatCount(sum(rows, (row) => row.calls))} calls`;
  const [decision] = addCounts([Object.fromEntries(Object.entries(worst.decisions).filter(([code]) => code !== "run"))])[0] ?? [""];
  return `${worst.stage || "A stage"} of ${place(worst.service, worst.route)} did not run as meant in ${formatRatio(worst.degraded_ratio)} of its calls${decision ? `, most often ${lower(words(decision))}` : ""}`;
}

export function cancellationSentence(rows: readonly CancellationRow[]): string {
  const sent = sum(rows, (row) => row.sent);
  const confirmed = sum(rows, (row) => row.confirmed);
  const [most] = groupBy(rows, (row) => row.cause, (row) => row.sent);
  if (!most || sent === 0) return "Nothing was cancelled";
  const stopped = confirmed === sent ? "; all were seen to stop" : `; ${formatCount(sent - confirmed)} were never seen to stop`;
  return `${count(sent, "cancellation")}, ${formatRatio(most.total / sent)} by ${lower(words(most.key))}${stopped}`;
}

export function localSentence(rows: readonly LocalRow[]): string {
  const worst = [...rows].sort((a, b) => (b.share_of_budget_p50 ?? -1) - (a.share_of_budget_p50 ?? -1))[0];
  if (!worst || worst.share_of_budget_p50 === null) return "How long services work before their first call";
  return `${place(worst.service, worst.route)} spends ${formatRatio(worst.share_of_budget_p50)} of its budget before it calls anybody`;
}

export function phaseSentence(rows: readonly PhaseRow[]): string {
  const all = sum(rows, (row) => row.timeouts);
  const [most] = groupBy(rows, (row) => row.phase, (row) => row.timeouts);
  if (!most || all === 0) return "No call timed out; these are the phases measured";
  const fresh = sum(rows, (row) => row.fresh);
  const known = fresh + sum(rows, (row) => row.reused);
  return `${count(all, "timeout")}, ${formatRatio(most.total / all)} in phase ${lower(words(most.key))}${known > 0 ? `; ${formatRatio(fresh / known)} on fresh connections` : ""}`;
}

export function retrySentence(rows: readonly RetryRow[]): string {
  const wasted = sum(rows, (row) => row.wasted);
  const [most] = groupBy(rows, (row) => `${row.stage || row.peer} of ${row.service}`, (row) => row.wasted_s);
  if (wasted > 0 && most) return `${count(wasted, "retry", "retries")} came to nothing and took ${formatSeconds(sum(rows, (row) => row.wasted_s))}, most of it in ${most.key}`;
  const loudest = [...rows].sort((a, b) => (b.attempts_per_call ?? 0) - (a.attempts_per_call ?? 0))[0];
  return loudest ? `No retry was wasted; at most ${(loudest.attempts_per_call ?? 1).toFixed(2)} attempts a call, in ${loudest.stage || loudest.peer} of ${loudest.service}` : "No retry was wasted";
}

export function propagationSentence(rows: readonly PropagationRow[]): string {
  const broken = rows.filter((row) => row.renewed + row.dropped > 0);
  const calls = sum(rows, (row) => row.calls);
  const covered = calls > 0 ? sum(rows, (row) => row.with_budget) / calls : 0;
  if (broken.length === 0) return `The budget shrinks on every edge; ${formatRatio(covered)} of the calls carry one`;
  const parts = [
    ...broken.filter((row) => row.renewed > 0).slice(0, 1).map((row) => `${row.from} renews the clock of ${row.to}`),
    ...broken.filter((row) => row.dropped > 0).slice(0, 1).map((row) => `${row.from} drops the header to ${row.to}`),
  ];
  return `${parts.join("; ")}${broken.length > parts.length ? `; ${count(broken.length, "edge")} in all` : ""}`;
}

export function dependencySentence(rows: readonly DependencyRow[]): string {
  const slow = rows.filter((row) => row.quadrant === "slow_dependency" || row.quadrant === "both");
  const stingy = rows.filter((row) => row.quadrant === "stingy_caller" || row.quadrant === "both");
  const [slowest] = [...slow].sort((a, b) => (b.slowdown ?? 0) - (a.slowdown ?? 0));
  const [stingiest] = [...stingy].sort((a, b) => (a.generosity ?? 1) - (b.generosity ?? 1));
  const parts: string[] = [];
  if (slowest) parts.push(`${slowest.peer || slowest.stage} answers ${slowest.service} ${factor(slowest.slowdown)} as slowly as usual`);
  if (stingiest) parts.push(`${stingiest.service} gives ${stingiest.peer || stingiest.stage} ${formatRatio(stingiest.generosity)} of what it usually needs`);
  if (rows.every((row) => row.generosity === null && row.slowdown === null)) return "No dependency can be judged: it takes an allowance, and seven days to hold latency against";
  return parts.length > 0 ? parts.join("; ") : "Every dependency gets the time it usually needs and takes no longer than usual";
}

export function conformanceSentence(rows: readonly ConformanceRow[]): string {
  const lacking = rows.filter((row) => row.missing.length > 0);
  if (lacking.length === 0) return `${rows.length === 1 ? "The one service records" : `All ${rows.length} services record`} what a budget needs`;
  const [most] = [...lacking].sort((a, b) => b.missing.length - a.missing.length);
  return `${count(lacking.length, "service")} of ${rows.length} ${lacking.length === 1 ? "leaves" : "leave"} out facts; ${most?.service ?? ""} ${most?.missing.length} of them`;
}

export function reserveSentence(rows: readonly ReserveRow[]): string {
  const small = rows.filter((row) => row.verdict === "too_small");
  const wasteful = rows.filter((row) => row.verdict === "wasteful");
  const hopeless = sum(rows, (row) => row.hopeless_starts);
  const parts: string[] = [];
  if (small[0]) parts.push(`${small[0].stage || small[0].peer} of ${place(small[0].service, small[0].route)} keeps back less than what follows takes`);
  if (wasteful[0]) parts.push(`${wasteful[0].stage || wasteful[0].peer} of ${place(wasteful[0].service, wasteful[0].route)} keeps back far more than it needs`);
  if (hopeless > 0) parts.push(`${count(hopeless, "call")} started without a chance`);
  return parts.length > 0 ? parts.slice(0, 2).join("; ") : "Reserves fit what follows, as far as it was measured";
}

export function limitSentence(rows: readonly LimitRow[]): string {
  const [most] = [...rows].sort((a, b) => b.cut - a.cut);
  if (!most) return "";
  return `${rows.length === 1 ? "One timeout stands" : `${rows.length} timeouts stand`} in no span; ${most.service} gives ${most.peer || most.operation} ${formatSeconds(most.limit_s)} and cut ${count(most.cut, "call")}`;
}

function factor(value: number | null): string {
  return value === null ? "more than" : `${value.toFixed(1)} times`;
}

export function place(service: string, route: string): string {
  return route ? `${service} ${route}` : service;
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${formatCount(n)} ${n === 1 ? one : many}`;
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
