import { expect, it } from "vitest";
import type { TraceRow } from "../api/shapes.ts";
import { heatOf } from "./heat.ts";

const trace = (second: number, margin: number | null) => ({ started_at: `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`, margin_s: margin }) as TraceRow;

it("counts every request with a margin once, late ones apart from others", () => {
  const heat = heatOf([trace(0, 0.5), trace(1, 0), trace(2, -0.01), trace(59, -0.3), trace(30, null)]);
  expect(heat?.total).toBe(4);
  expect(heat?.cells.reduce((sum, cell) => sum + cell.count, 0)).toBe(4);
  expect(heat?.cells.every((cell) => cell.low >= 0 || cell.high <= 0)).toBe(true);
  expect(heat?.bounds).toContain(0);
});

it("draws one request alone", () => expect(heatOf([trace(0, 0)])?.cells).toHaveLength(1));
it("is nothing without margins", () => expect(heatOf([trace(0, null)])).toBeNull());
