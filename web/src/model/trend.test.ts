import { expect, it } from "vitest";
import type { MarginBucket } from "../api/shapes.ts";
import { trendShape } from "./trend.ts";

function bucket(hour: number, low: number | null, missed = 0): MarginBucket {
  return {
    at: `2026-01-01T${String(hour).padStart(2, "0")}:00:00Z`, requests: 10, seen: 10, with_budget: 10, answered: 10, late: missed, exhausted: 0,
    margin_p05_s: low, margin_p50_s: low === null ? null : low + 0.5, margin_p95_s: null, used_p50: null,
  };
}
const size = { width: 100, height: 32 };
const day = { from: "2026-01-01T00:00:00Z", to: "2026-01-01T10:00:00Z", bucket_s: 3600 };

it("draws nothing where nothing was answered", () => expect(trendShape([bucket(0, null)], day, size)).toBeNull());

it("breaks the line where buckets are missing", () => {
  const shape = trendShape([bucket(0, 1), bucket(1, 1), bucket(6, 1), bucket(7, 1)], day, size);
  expect(shape?.low.match(/M/g)).toHaveLength(2);
});

it("shades what is below zero and measures what was missed", () => {
  const shape = trendShape([bucket(0, 0.2), bucket(1, -0.4, 5)], day, size);
  expect(shape?.under).toMatch(/^M.*Z$/);
  expect(shape?.zero).toBeGreaterThan(0);
  expect(shape?.zero).toBeLessThan(size.height);
  expect(shape?.mostMissed).toBe(0.5);
  expect([shape?.first, shape?.last]).toEqual([0.2, -0.4]);
});

it("has no shade where margins stay positive", () => expect(trendShape([bucket(0, 1), bucket(1, 2)], day, size)?.under).toBe(""));

it("shows a lone bucket as a dot at its place in the window", () => {
  const shape = trendShape([bucket(9, 1)], day, size);
  expect(shape?.dots).toEqual([{ x: 95, y: expect.any(Number) }]);
  expect(shape?.missed[0]?.x).toBe(90);
});
