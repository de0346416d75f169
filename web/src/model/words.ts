import type { Finding, Line, LineKind } from "../api/shapes.ts";

const kinds: Record<LineKind, string> = {
  queue: "Queue", own_work: "Own work", hop: "Call", backoff: "Back-off", cleanup: "Clean-up", limit_change: "Limit change",
  opening: "Opening", reserve: "Reserve", refund: "Refund", closing: "Closing",
  orphan: "Orphan work", overhang: "Overhang", post_cancel: "After cancel", late_result: "Late result", detached: "Detached",
};

export function kindName(kind: LineKind): string {
  return kinds[kind] ?? words(kind);
}

const rules: Record<Finding["rule"], string> = {
  overhang: "Child outlived its parent", clock_skew: "Clocks disagree", incomplete_trace: "Spans are missing",
  detached_work: "Detached work", late_result: "Late result", missing_budget: "No budget",
  local_spend: "Spent before the first call", hopeless_start: "Started without a chance", post_cancel_work: "Worked on after cancellation",
  wasted_retry: "Wasted retry", reserve_eaten: "Reserve eaten", retry_did_not_fit: "Retry did not fit",
  slow_dependency: "Slow dependency", unrealistic_budget: "Unrealistic budget", late: "Answered late", exhausted: "Ran out of time",
  orphan_work: "Orphan work", renewed_clock: "Renewed clock", dropped_header: "Dropped header", ignored_cancel: "Ignored cancellation",
  still_running: "Still running", uncertain_effect: "Uncertain effect", expired_in_queue: "Expired in the queue",
};

const informing: ReadonlySet<string> = new Set(["overhang", "clock_skew", "incomplete_trace", "detached_work", "late_result", "missing_budget"]);
const warning: ReadonlySet<string> = new Set([
  "local_spend", "hopeless_start", "post_cancel_work", "wasted_retry", "reserve_eaten", "retry_did_not_fit", "slow_dependency", "unrealistic_budget",
]);

/** How bad a finding of this rule is. */
export function severityOf(rule: string): Finding["severity"] {
  if (informing.has(rule)) return "info";
  return warning.has(rule) ? "warn" : "error";
}

export const ruleNames = Object.keys(rules) as Finding["rule"][];

export function ruleName(rule: string): string {
  return (rules as Record<string, string>)[rule] ?? words(rule);
}

/** Said where a call names no service that answered it. */
export const noCallee = "unknown callee";

const written: Record<string, string> = { dns: "DNS", tls: "TLS", db_execution: "DB execution" };

/** A code such as done_with_pending as words. */
export function words(code: string): string {
  const text = Object.hasOwn(written, code) ? (written[code] ?? code) : code.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const grades: Record<string, { strength: number; meaning: string }> = {
  measured: { strength: 4, meaning: "measured on one monotonic clock" },
  same_clock: { strength: 3, meaning: "both times are from the same clock" },
  bound: { strength: 2, meaning: "a lower bound that a clock offset cannot fake" },
  estimate: { strength: 1, meaning: "an estimate across two clocks" },
  missing: { strength: 0, meaning: "not known" },
};

export function grade(evidence: string | undefined): { name: string; strength: number; meaning: string } | null {
  if (!evidence) return null;
  return { name: words(evidence), ...(grades[evidence] ?? { strength: 0, meaning: "" }) };
}

/** What else is known about a line, each as one short phrase. */
export function remarks(line: Line): string[] {
  const said: string[] = [];
  if (line.decision && line.decision !== "run") said.push(words(line.decision));
  if (line.attempt && line.attempt > 1) said.push(`Attempt ${line.attempt}`);
  if (line.phase) said.push(`Phase ${line.phase.replaceAll("_", " ")}`);
  if (line.cause) said.push(words(line.cause));
  if (line.included_in) said.push("Already counted above");
  return said;
}

const sources: Record<string, string> = {
  caller: "from the caller", default: "the default", clamped: "clamped to the maximum", raised: "raised to the minimum",
  envelope: "from a stored envelope", regrant: "granted anew", refused: "refused", none: "none",
};

export function sourceName(source: string): string {
  return sources[source] ?? words(source).toLowerCase();
}

const targets: Record<string, string> = { first_output: "first output", complete: "complete answer", validated: "validated answer" };

export function targetName(target: string): string {
  return targets[target] ?? words(target).toLowerCase();
}
