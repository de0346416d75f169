import { formatInstant, nanos, type Zone } from "./instants.ts";

/** A stretch of time as the API takes it: `now`, `now-7d` or RFC 3339. An empty end is now. */
export interface Window {
  from: string;
  to: string;
}

export const defaultFrom = "now-24h";

export const presets = [
  { from: "now-15m", label: "Last 15 minutes" },
  { from: "now-1h", label: "Last hour" },
  { from: "now-6h", label: "Last 6 hours" },
  { from: "now-24h", label: "Last 24 hours" },
  { from: "now-7d", label: "Last 7 days" },
  { from: "now-30d", label: "Last 30 days" },
  { from: "now-90d", label: "Last 90 days" },
  { from: "1970-01-01T00:00:00Z", label: "All time" },
] as const;

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** The instant that a word of a window means, in milliseconds since 1970; null if it means none. */
export function instantOf(text: string, now: number): number | null {
  if (text === "" || text === "now") return now;
  const back = /^now-(\d+)([smhdw])$/.exec(text);
  if (back) return now - Number(back[1]) * (units[back[2] ?? "s"] ?? 1) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** The length of a window in seconds; null if its ends mean nothing. */
export function lengthOf(window: Window, now = Date.now()): number | null {
  const from = instantOf(window.from, now);
  const to = instantOf(window.to, now);
  return from === null || to === null || to <= from ? null : (to - from) / 1000;
}

export const comparisons = ["", "week", "before"] as const;
export type Comparison = (typeof comparisons)[number];

export const comparisonNames: Record<Comparison, string> = {
  "": "nothing", week: "the same time a week earlier", before: "the same length just before",
};

export const comparisonShort: Record<Comparison, string> = { "": "", week: "a week earlier", before: "just before" };

export function readComparison(text: string | null): Comparison {
  return comparisons.find((known) => known === text) ?? "";
}

/** The window that another is held against; null where there is none. Relative words stay relative, so that both move on together. */
export function comparedWindow(window: Window, comparison: Comparison, now = Date.now()): Window | null {
  const length = lengthOf(window, now);
  if (comparison === "" || length === null) return null;
  const by = comparison === "week" ? 7 * 86_400 : Math.round(length);
  const from = shift(window.from, by);
  const to = shift(window.to || "now", by);
  return from && to ? { from, to } : null;
}

function shift(text: string, seconds: number): string | null {
  if (text === "now") return `now-${seconds}s`;
  const back = /^now-(\d+)([smhdw])$/.exec(text);
  if (back) return `now-${Number(back[1]) * (units[back[2] ?? "s"] ?? 1) + seconds}s`;
  const at = Date.parse(text);
  if (Number.isNaN(at) || at - seconds * 1000 < 0) return null;
  return new Date(at - seconds * 1000).toISOString();
}

/** Words for a window, such as "Last 24 hours" or its two ends. */
export function windowLabel({ from, to }: Window, zone: Zone = "UTC"): string {
  const open = !to || to === "now";
  const preset = presets.find((known) => known.from === from);
  if (preset && open) return preset.label;
  const back = /^now-(\d+)([smhdw])$/.exec(from);
  if (back && open) return `Last ${back[1]} ${unitName(back[2] ?? "s", back[1] === "1")}`;
  const start = short(from, zone);
  if (open && !from.startsWith("now")) return `Since ${start}${zone === "UTC" ? " UTC" : ""}`;
  const end = short(to || "now", zone);
  const [day = "", time] = end.split(" ");
  return `${start} – ${time && start.startsWith(day) ? time : end}${zone === "UTC" && !from.startsWith("now") ? " UTC" : ""}`;
}

function unitName(unit: string, one: boolean): string {
  const name = { s: "second", m: "minute", h: "hour", d: "day", w: "week" }[unit] ?? "second";
  return one ? name : `${name}s`;
}

function short(text: string, zone: Zone): string {
  if (text.startsWith("now")) return text;
  return Number.isNaN(Date.parse(text)) ? text : formatInstant(text, zone).replace(/:\d\d$/, "");
}

/**
 * Reads what a person types as a time range: `3h`, `last 2 days`, `now-90m`, `yesterday`, `2026-01-31`, `2026-01-31 08:00`, or two of
 * them with `to`, `..` or a dash between. Null where it means nothing.
 */
export function parseWindow(text: string, zone: Zone, now = Date.now()): Window | null {
  const typed = text.trim().toLowerCase().replace(/\s*utc$/, "");
  if (/^all( time)?$/.test(typed)) return { from: "1970-01-01T00:00:00Z", to: "" };
  const length = /^(?:last |past )?(\d+)?\s*(s|m|h|d|w|sec(?:ond)?s?|min(?:ute)?s?|hours?|days?|weeks?)$/.exec(typed);
  if (length) return { from: `now-${length[1] ?? 1}${(length[2] ?? "s").charAt(0)}`, to: "" };
  const parts = typed.split(/\s+to\s+|\s*\.\.\s*|\s+[-–]\s+/);
  if (parts.length > 2) return null;
  const [first = "", second] = parts;
  const start = readInstant(first, zone, now);
  if (!start) return null;
  if (second === undefined) return { from: start.from, to: start.to };
  // A bare time of day as the end is on the day of the start.
  const sameDay = /^\d{1,2}:\d\d(:\d\d)?$/.test(second) && start.day ? `${start.day} ${second}` : second;
  const end = readInstant(sameDay, zone, now);
  return end ? { from: start.from, to: end.to && end.whole ? end.to : end.from } : null;
}

interface Instant {
  from: string;
  /** The end where the words mean a whole day; else empty. */
  to: string;
  whole: boolean;
  day: string;
}

function readInstant(text: string, zone: Zone, now: number): Instant | null {
  if (text === "now") return { from: "now", to: "", whole: false, day: "" };
  if (/^now-\d+[smhdw]$/.test(text)) return { from: text, to: "", whole: false, day: "" };
  const back = { today: 0, yesterday: 1 }[text];
  const named = back === undefined ? text : dayOf(now - back * 86_400_000, zone);
  const match = /^(\d{4}-\d\d-\d\d)(?:[t ](\d{1,2}:\d\d)(:\d\d(?:\.\d+)?)?)?(z|[+-]\d\d:\d\d)?$/.exec(named);
  if (!match) return null;
  const [, day = "", time, seconds = ":00", offset] = match;
  const at = (clock: string) => Date.parse(`${day}T${clock.padStart(5, "0")}${seconds}${offset?.toUpperCase() ?? (zone === "UTC" ? "Z" : "")}`);
  const start = at(time ?? "00:00");
  if (Number.isNaN(start)) return null;
  const whole = time === undefined;
  return { from: iso(start), to: whole ? iso(start + 86_400_000) : "", whole, day };
}

function dayOf(at: number, zone: Zone): string {
  return formatInstant(new Date(at).toISOString(), zone).slice(0, 10);
}

function iso(at: number): string {
  return new Date(at).toISOString().replace(".000Z", "Z");
}

/** Milliseconds since 1970 of an RFC 3339 instant. */
export function millis(instant: string): number {
  return Number(nanos(instant) / 1_000_000n);
}
