import type { MarginBucket } from "../api/shapes.ts";
import { nanos } from "./instants.ts";

export interface TrendShape {
  low: string;
  median: string;
  /** The area between the p05 line and zero where it is below; empty where it never is. */
  under: string;
  zero: number;
  missed: { x: number; ratio: number }[];
  /** Lone points, which a line would not show. */
  dots: { x: number; y: number }[];
  step: number;
  first: number;
  last: number;
  mostMissed: number;
}

interface Point {
  time: number;
  low: number;
  median: number;
}

/** Turns buckets into the paths of a small chart over the whole window; null where no bucket has a margin. */
export function trendShape(buckets: readonly MarginBucket[], from: string, to: string, size: { width: number; height: number }): TrendShape | null {
  const start = Number(nanos(from) / 1_000_000n);
  const times = buckets.map((bucket) => Number(nanos(bucket.at) / 1_000_000n));
  // A window without an end in sight, such as all time, is narrowed to what has data.
  const earliest = Math.max(start, times[0] ?? start);
  const gap = gapOf(times);
  const end = Math.max((times.at(-1) ?? start) + gap, Math.min(Number(nanos(to) / 1_000_000n), (times.at(-1) ?? start) + 50 * gap));
  const origin = earliest - start > 50 * gap ? earliest : Math.min(start, earliest);
  const x = (time: number) => round(((time - origin) / Math.max(1, end - origin)) * size.width);

  const known: Point[] = buckets.flatMap((bucket, i) =>
    bucket.margin_p05_s === null || bucket.margin_p50_s === null ? [] : [{ time: times[i] ?? 0, low: bucket.margin_p05_s, median: bucket.margin_p50_s }]);
  const [first] = known;
  if (!first) return null;
  const top = Math.max(0, ...known.map((point) => point.median));
  const bottom = Math.min(0, ...known.map((point) => point.low));
  const y = (value: number) => round(size.height - ((value - bottom) / (top - bottom || 1)) * (size.height - 2) - 1);

  const zero = y(0);
  const line = (value: (point: Point) => number) =>
    known.map((point, i) => {
      const after = i > 0 && point.time - (known[i - 1]?.time ?? 0) <= 2.5 * gap;
      return `${after ? "L" : "M"}${x(point.time + gap / 2)} ${y(value(point))}`;
    }).join("");
  const alone = known.filter((point, i) => {
    const near = (other: Point | undefined) => other !== undefined && Math.abs(other.time - point.time) <= 2.5 * gap;
    return !near(known[i - 1]) && !near(known[i + 1]);
  });
  const edge: Point[] = [first, ...known, known.at(-1) ?? first];
  const under = bottom < 0
    ? edge.map((point, i) => `${i === 0 ? "M" : "L"}${x(point.time + gap / 2)} ${i === 0 || i === edge.length - 1 ? zero : Math.max(zero, y(point.low))}`).join("") + "Z"
    : "";
  const missed = buckets.map((bucket, i) => ({
    x: x(times[i] ?? 0),
    ratio: bucket.with_budget === 0 ? 0 : (bucket.late + bucket.exhausted) / bucket.with_budget,
  }));
  return {
    low: line((point) => point.low), median: line((point) => point.median), under, zero, missed,
    dots: alone.map((point) => ({ x: x(point.time + gap / 2), y: y(point.low) })),
    step: Math.max(1, x(origin + gap) - 0.5),
    first: first.low, last: (known.at(-1) ?? first).low,
    mostMissed: Math.max(0, ...missed.map((bar) => bar.ratio)),
  };
}

/** The width of the buckets, taken from the two nearest. */
function gapOf(times: readonly number[]): number {
  let gap = Infinity;
  for (let i = 1; i < times.length; i++) gap = Math.min(gap, (times[i] ?? 0) - (times[i - 1] ?? 0));
  return Number.isFinite(gap) && gap > 0 ? gap : 60_000;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
