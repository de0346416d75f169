import type { AlertHistory, AlertLabels, AlertList, NewSilence, Silence } from "../api/shapes.ts";
import type { Filters } from "./filters.ts";
import { nanos } from "./instants.ts";
import { formatCount, formatSeconds } from "./seconds.ts";

export type Alert = AlertList["rows"][number];
export type Change = AlertHistory["rows"][number];
type Condition = Alert["conditions"][number][number];
export type Example = Alert["instances"][number]["examples"][number];

/** One thing to look at: an alert for one value of its labels. */
export interface Entry {
  alert: Alert;
  labels: AlertLabels;
  state: "firing" | "pending" | "resolved";
  since: string;
  value: number;
  summary: string;
  silenced: boolean;
  examples: Example[];
}

const order = { firing: 0, pending: 1, resolved: 2 };

/** What fires, then what is pending, then what was resolved last and did not come back; pages before tickets, the newest first. */
export function entries(rows: readonly Alert[], history: readonly Change[]): Entry[] {
  const found: Entry[] = rows.flatMap((alert) => alert.instances.map((instance) => ({ ...instance, alert })));
  const seen = new Set(found.map((entry) => key(entry.alert.name, entry.labels)));
  for (const change of history) {
    const id = key(change.name, change.labels);
    const alert = rows.find((row) => row.name === change.name);
    if (!alert || seen.has(id)) continue;
    seen.add(id);
    if (change.state === "resolved") found.push({ ...change, alert, state: "resolved", since: change.at, silenced: false });
  }
  const grave = (entry: Entry) => (entry.alert.severity === "page" ? 0 : 1);
  return found.sort((a, b) => order[a.state] - order[b.state] || grave(a) - grave(b) || Number(nanos(b.since) - nanos(a.since)));
}

export function key(name: string, labels: AlertLabels): string {
  return [name, ...labelPairs(labels).flat()].join("\0");
}

const labelNames = ["service", "route", "stage", "peer", "cause", "phase", "rule"] as const;

/** The labels that are there, in one order. */
export function labelPairs(labels: AlertLabels): [string, string][] {
  return labelNames.flatMap((name) => (labels[name] ? [[name, labels[name]] as [string, string]] : []));
}

/** What fires and is not silenced. */
export function loud(rows: readonly Alert[]): { alert: Alert; summary: string }[] {
  return rows.flatMap((alert) => alert.instances.filter((one) => one.state === "firing" && !one.silenced).map((one) => ({ alert, summary: one.summary })));
}

export function alertSentence(rows: readonly Alert[]): string {
  const instances = rows.flatMap((row) => row.instances);
  const firing = instances.filter((one) => one.state === "firing");
  const silenced = firing.filter((one) => one.silenced).length;
  const waiting = instances.length - firing.length;
  const said = firing.length === 0 ? "No alert fires" : `${firing.length === 1 ? "One alert fires" : `${firing.length} alerts fire`}${silenced === 0 ? "" : silenced === firing.length ? ", silenced" : `, ${silenced} of them silenced`}`;
  return waiting === 0 ? said : `${said}; ${waiting} ${waiting === 1 ? "is" : "are"} pending`;
}

/** A value in the unit of its alert, as exact as the sentence that the server makes of it. */
export function formatValue(value: number, unit: string): string {
  if (unit === "ratio") return `${Number((100 * value).toPrecision(3))} %`;
  return unit === "s" ? formatSeconds(value) : formatCount(value);
}

/** The limits that the value of an alert is held against: one of each set of conditions, any of which suffices. */
export function limitText(alert: Alert, labels: AlertLabels = {}): string {
  return alert.conditions.flatMap(([first]) => (first ? [limitOf(first, alert.unit, labels)] : [])).join(" or ");
}

/** The limit of a condition, which routes may have their own of. */
function atLeast(condition: Condition, labels: AlertLabels): number {
  return condition.instead.find((own) => own.service === labels.service && own.route === labels.route)?.at_least ?? condition.at_least;
}

function limitOf(condition: Condition, unit: string, labels: AlertLabels): string {
  if (condition.forecast_s > 0) return `zero within ${formatLength(condition.forecast_s)}`;
  return `${formatValue(atLeast(condition, labels), unit)}${condition.over_s > 0 ? ` in ${formatLength(condition.over_s)}` : ""}`;
}

export function formatLength(seconds: number): string {
  if (seconds >= 86_400 && seconds % 86_400 === 0) return `${seconds / 86_400} d`;
  if (seconds >= 3600 && seconds % 3600 === 0) return `${seconds / 3600} h`;
  return seconds >= 60 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds)} s`;
}

/** The smallest limit: what is below it does not alert. Null where the limit is a time at which a line ends. */
export function lowestLimit(alert: Alert, labels: AlertLabels): number | null {
  const firsts = alert.conditions.flatMap(([first]) => (first && first.forecast_s === 0 ? [atLeast(first, labels)] : []));
  return firsts.length > 0 ? Math.min(...firsts) : null;
}

/** The filters of the search that finds traces of an alert. */
export type ExampleSource = Filters;

/** How to find traces that show an alert; null where it is about no trace. */
export function exampleSource(entry: Pick<Entry, "alert" | "labels">): ExampleSource | null {
  const { service, route, phase, rule } = entry.labels;
  const what = searched(entry.alert.conditions[0]?.[0]?.value ?? "", phase, rule);
  if (!what || !service) return null;
  // A line through days is drawn from days; the traces are those of the longest window.
  const longest = Math.max(3600, ...entry.alert.conditions.flat().map((condition) => condition.over_s));
  return { from: `now-${longest}s`, service, ...(route ? { route } : {}), ...what };
}

function searched(measure: string, phase: string | undefined, rule: string | undefined): Filters | null {
  switch (measure) {
    case "missed": case "margin": return { class: "late_or_failed" };
    case "missed_or_degraded": return { outcome: "degraded" };
    case "stopped_late": case "worked_on": return { rule: "post_cancel_work" };
    case "orphan_time": return { rule: "orphan_work" };
    case "renewed_clocks": return { rule: rule || "renewed_clock" };
    case "silent_streams": return { phase: phase || "first_token" };
  }
  return null;
}

/** The page that says more about an alert; null where there is none. */
export function reportPath(entry: Pick<Entry, "alert" | "labels">): { path: string; label: string } | null {
  const { service, route } = entry.labels;
  const to = (path: string, label: string, names: readonly (keyof AlertLabels)[]) => {
    const kept = names.flatMap((name) => (entry.labels[name] ? [[name, entry.labels[name]] as [string, string]] : []));
    return { label, path: `${path}?${new URLSearchParams([["from", "now-7d"], ...kept])}` };
  };
  switch (entry.alert.conditions[0]?.[0]?.value) {
    case "missed": case "margin": case "missed_or_degraded":
      return service && route !== undefined ? to("/route", "Route", ["service", "route"]) : to("/", "Overview", ["service"]);
    case "stopped_late": case "worked_on": return to("/cancellations", "Cancellations", ["service", "cause"]);
    case "orphan_time": return to("/orphans", "Orphans", ["service", "stage", "cause"]);
    case "renewed_clocks": return to("/propagation", "Propagation", ["service"]);
    case "silent_streams": return to("/phases", "Phases", ["service", "peer", "phase"]);
  }
  return null;
}

/** A silence like one that was ended, for what it would have had left at that instant; null if that is nothing. */
export function again(silence: Silence, until: string, now: number): NewSilence | null {
  const left = Math.ceil((Number(nanos(until) / 1_000_000n) - now) / 60_000);
  return left > 0 ? { matchers: silence.matchers, for: `${left}m`, comment: silence.comment } : null;
}

/** What a silence of one instance names: the alert's name and its labels. */
export function matchersOf(entry: Pick<Entry, "alert" | "labels">): Record<string, string> {
  return { alertname: entry.alert.name, ...Object.fromEntries(labelPairs(entry.labels)) };
}

/** Reads labels as a person types them: `name=value`, separated by commas. An error is a sentence. */
export function readMatchers(text: string): Record<string, string> | string {
  const found: Record<string, string> = {};
  for (const part of text.split(",").map((one) => one.trim()).filter(Boolean)) {
    const [, name = "", value = ""] = /^(\w+)\s*=\s*"?(.*?)"?$/.exec(part) ?? [];
    if (!name || !value) return `“${part}” is no label; write service=shop`;
    found[name] = value;
  }
  return Object.keys(found).length > 0 ? found : "Name at least one label, such as alertname=OrphanWork; a silence of everything hides what is wrong";
}

/** Labels as readMatchers takes them. */
export function writeMatchers(matchers: Record<string, string>): string {
  return Object.entries(matchers).map(([name, value]) => `${name}=${value}`).join(", ");
}
