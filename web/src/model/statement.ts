import type { Finding, Line, LineKind, Statement } from "../api/shapes.ts";

const debits: ReadonlySet<LineKind> = new Set(["queue", "own_work", "hop", "backoff", "cleanup", "limit_change"]);
const outside: ReadonlySet<LineKind> = new Set(["orphan", "overhang", "post_cancel", "late_result", "detached"]);

export type Role = "debit" | "memo" | "outside";

export function roleOf(kind: LineKind): Role {
  if (debits.has(kind)) return "debit";
  return outside.has(kind) ? "outside" : "memo";
}

/** The lines in the order in which a statement of account is read: the account itself, then what lies outside it. */
export interface Account {
  inside: Line[];
  outside: Line[];
  /** The largest amount or balance, for choosing one unit for all. */
  largest: number;
}

export function readAccount(statement: Statement): Account {
  const account: Account = { inside: [], outside: [], largest: Math.abs(statement.duration_s) };
  for (const line of statement.lines) {
    (roleOf(line.kind) === "outside" ? account.outside : account.inside).push(line);
    account.largest = Math.max(account.largest, Math.abs(line.balance_s ?? 0));
  }
  return account;
}

/** What lies outside the account under one kind, without what another line counts already. */
export function totalOutside(account: Account, kind: LineKind): number {
  return account.outside.reduce((sum, line) => sum + (line.kind === kind && !line.included_in ? line.amount_s : 0), 0);
}

/** One stretch of the request's time and the line it was charged to; times in seconds after the start of the entry span. */
export interface Charge {
  line: Line;
  from: number;
  to: number;
  before: number | null;
  after: number | null;
}

/** The stretches that took time, in order. A limit change takes none: the balance drops on the spot. */
export function charges(statement: Statement): Charge[] {
  let balance = statement.opening_s;
  const stretches: Charge[] = [];
  for (const line of statement.lines) {
    if (roleOf(line.kind) !== "debit") continue;
    const amount = line.amount_s;
    if (amount === 0) continue;
    const before = balance;
    if (balance !== null) balance = line.balance_s ?? balance - amount;
    const to = line.kind === "limit_change" ? line.at_s : line.at_s + Math.max(0, amount);
    stretches.push({ line, from: line.at_s, to, before, after: balance });
  }
  return stretches;
}

/** When the budget of a statement ends, in seconds after the start of the entry span; null without a budget. */
export function deadlineOf(statement: Statement): number | null {
  if (statement.opening_s === null) return null;
  const changes = statement.lines.filter((line) => line.kind === "limit_change");
  return changes.reduce((left, line) => left - (line.amount_s), statement.opening_s);
}

/** The lines of each span, so that a bar leads to its lines and a line to its bar. */
export function linesBySpan(statement: Statement): Map<string, Line[]> {
  const lines = new Map<string, Line[]>();
  for (const line of statement.lines) {
    if (!line.span_id) continue;
    const known = lines.get(line.span_id);
    if (known) known.push(line);
    else lines.set(line.span_id, [line]);
  }
  return lines;
}

export function findingsBySpan(findings: readonly Finding[]): Map<string, Finding[]> {
  const found = new Map<string, Finding[]>();
  for (const finding of findings) {
    const id = finding.span_id ?? "";
    const known = found.get(id);
    if (known) known.push(finding);
    else found.set(id, [finding]);
  }
  return found;
}

// Rules whose amounts are work of different spans and may be added up; the others measure one and the same wait.
const additive: ReadonlySet<string> = new Set(["orphan_work", "overhang", "post_cancel_work", "late_result", "detached_work", "wasted_retry"]);

const weight = { error: 0, warn: 1, info: 2 } as const;

/** All findings of one rule. */
export interface FindingGroup {
  rule: Finding["rule"];
  severity: Finding["severity"];
  first: boolean;
  findings: Finding[];
  /** What was measured, summed where that means something and without what another finding counts already; else 0. */
  amount: number;
}

/** Findings by rule: the first violation first, then errors before warnings before information, as found within each. */
export function groupFindings(statement: Statement): FindingGroup[] {
  const groups = new Map<string, FindingGroup>();
  for (const finding of statement.findings) {
    let group = groups.get(finding.rule);
    if (!group) {
      group = { rule: finding.rule, severity: finding.severity, first: finding.rule === statement.first_violation, findings: [], amount: 0 };
      groups.set(finding.rule, group);
    }
    group.findings.push(finding);
    if (weight[finding.severity] < weight[group.severity]) group.severity = finding.severity;
    if (group.findings.length === 1 || additive.has(finding.rule)) group.amount += finding.included_in ? 0 : finding.amount_s;
    else group.amount = 0;
  }
  return [...groups.values()].sort((a, b) => Number(b.first) - Number(a.first) || weight[a.severity] - weight[b.severity]);
}

/** The spans with a violation, in order of the findings and each once: what n and p walk through. */
export function violationSpans(statement: Statement): string[] {
  const spans = groupFindings(statement)
    .filter((group) => group.severity !== "info")
    .flatMap((group) => group.findings)
    .map((finding) => finding.span_id ?? "");
  return [...new Set(spans)].filter((id) => id !== "");
}

/** Where most of the time went, as a phrase; empty where no one place stands out. */
export function mostlyIn(statement: Statement, format: (seconds: number) => string): string {
  const place = statement.spent_in;
  if (!place || place.span_id === statement.entry_span_id) return "";
  return `Most of it went into ${place.stage || "a call"} of ${place.service} (${format(place.amount_s)}).`;
}

const answers: ReadonlySet<string> = new Set(["done", "done_with_pending", "degraded", "partial"]);

/** Whether the request got an answer, late or not. */
export function answered(statement: Pick<Statement, "outcome">): boolean {
  return answers.has(statement.outcome);
}

/** What a statement says in one sentence. */
export function headline(statement: Statement, format: (seconds: number) => string): string {
  const spent = format(statement.duration_s);
  if (!statement.budget) return `Took ${spent}; no budget was granted, so there is no deadline to miss.`;
  const budget = format(statement.budget.received_s);
  if (statement.margin_s === null || statement.exhausted) return `Had ${budget} and ended after ${spent} without an answer.`;
  if (!answered(statement)) return `Had ${budget} and ended after ${spent} without an answer, ${statement.margin_s < 0 ? `${format(-statement.margin_s)} too late` : `with ${format(statement.margin_s)} left`}.`;
  if (statement.late || statement.margin_s < 0) return `Had ${budget}, took ${spent}: ${format(-statement.margin_s)} too late.`;
  return `Had ${budget}, took ${spent}: ${format(statement.margin_s)} to spare.`;
}
