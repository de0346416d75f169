/** Nanoseconds since 1970 of an RFC 3339 instant; a plain Date would lose everything below a millisecond. */
export function nanos(instant: string): bigint {
  const match = /^(.*?:\d\d:\d\d|.*?:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/i.exec(instant);
  if (!match) return BigInt(Math.round(Date.parse(instant) || 0)) * 1_000_000n;
  const [, seconds = "", fraction = "", zone = "Z"] = match;
  const whole = Date.parse(seconds + zone);
  if (Number.isNaN(whole)) return 0n;
  return BigInt(whole) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, "0"));
}

export function secondsBetween(from: bigint, to: bigint): number {
  return Number(to - from) / 1e9;
}

export type Zone = "local" | "UTC";

export function formatInstant(instant: string, zone: Zone, withDate = true): string {
  const date = new Date(Number(nanos(instant) / 1_000_000n));
  const parts = new Intl.DateTimeFormat("en-CA", {
    ...(zone === "UTC" ? { timeZone: "UTC" } : {}),
    ...(withDate ? { year: "numeric", month: "2-digit", day: "2-digit" } : {}),
    hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
  }).format(date);
  return parts.replace(",", "");
}

/** Seconds from an instant to `now`, which is in milliseconds; not below 0. */
export function secondsSince(instant: string, now: number): number {
  return Math.max(0, (now - Number(nanos(instant) / 1_000_000n)) / 1000);
}

/** The time since an instant, in the one unit that matters. */
export function lengthSince(instant: string, now: number): string {
  const seconds = secondsSince(instant, now);
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function ago(instant: string, now: number): string {
  return `${lengthSince(instant, now)} ago`;
}
