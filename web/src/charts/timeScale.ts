import { scaleTime, scaleUtc } from "d3-scale";
import type { Zone } from "../model/instants.ts";

export interface Span {
  from: number;
  to: number;
}

export function timeScale(span: Span, width: number, zone: Zone) {
  return (zone === "UTC" ? scaleUtc : scaleTime)().domain([span.from, Math.max(span.to, span.from + 1)]).range([0, width]);
}

/** A tick in as few words as say it: the day at midnight, else the time of day. */
export function tickText(at: Date, zone: Zone, spanMillis: number): string {
  const options = zone === "UTC" ? { timeZone: "UTC" } : {};
  const time = new Intl.DateTimeFormat("en-GB", { ...options, hour: "2-digit", minute: "2-digit" }).format(at);
  const day = new Intl.DateTimeFormat("en-GB", { ...options, day: "numeric", month: "short" }).format(at);
  if (spanMillis < 5 * 60_000) return new Intl.DateTimeFormat("en-GB", { ...options, hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(at);
  return time === "00:00" || spanMillis > 4 * 86_400_000 ? day : time;
}

/** Ticks about `apart` pixels from each other, none saying the same as the one before; over many days only midnights. */
export function timeTicks(span: Span, width: number, zone: Zone, apart = 90): { at: Date; text: string }[] {
  const length = span.to - span.from;
  const midnight = (at: Date) => (zone === "UTC" ? at.getTime() % 86_400_000 === 0 : at.getHours() + at.getMinutes() === 0);
  const ticks = timeScale(span, width, zone).ticks(Math.max(2, Math.floor(width / apart))).filter((at) => length <= 4 * 86_400_000 || midnight(at));
  return ticks.map((at) => ({ at, text: tickText(at, zone, length) })).filter(({ text }, i, all) => i === 0 || text !== all[i - 1]?.text);
}
