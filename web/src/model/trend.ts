import type { MarginBucket, MarginReport } from "../api/shapes.ts";
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
export function trendShape(buckets: readonly MarginBucket[], window: MarginReport["window"], size: { width: number; height: number }): TrendShape | null {
  const millis = (instant: string) => Number(nanos(instant) / 1_000_000n);
  const times = buckets.map((bucket) => millis(bucket.at));
  const gap = (window.bucket_s ?? 60) * 1000;
  // Buckets begin at round times, so the first and the last reach a little beyond the window.
  const origin = Math.min(millis(window.from), times[0] ?? Infinity);
  const end = Math.max(millis(window.to), (times.at(-1) ?? 0) + gap);
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

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
