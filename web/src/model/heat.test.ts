import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { CellReport, CellRow } from "../api/shapes.ts";
import { filtersOf, heatOf, neighbour } from "./heat.ts";

const answered = JSON.parse(readFileSync("../api/testdata/cells.json", "utf8")) as CellReport;
const cell = (at: string, low_s: number | null, high_s: number | null, requests = 1): CellRow => ({ at: `2026-01-01T${at}:00Z`, low_s, high_s, requests, seen: requests, missed: 0, example_trace_ids: [] });
const report = (rows: CellRow[]): CellReport => ({ ...answered, window: { from: "2026-01-01T00:30:00Z", to: "2026-01-01T04:00:00Z", bucket_s: 3600 }, rows });

it("lays out what the API answers, each request once", () => {
  const heat = heatOf(answered);
  expect(heat?.total).toBe(answered.rows.reduce((sum, row) => sum + row.requests, 0));
  expect(heat?.bounds).toContain(0);
  expect(heat?.cells.every(({ row, column }) => row >= 0 && row < heat.rows && column >= 0 && column < heat.columns)).toBe(true);
});

it("has a row of its own for what is open above and below", () => {
  const heat = heatOf(report([cell("00:00", null, -0.1), cell("01:00", -0.1, 0), cell("03:00", 0.1, null)]));
  expect(heat).toMatchObject({ rows: 4, columns: 4, bounds: [0.1, 0, -0.1] });
  expect(heat?.cells.map(({ column, row }) => [column, row])).toEqual([[0, 3], [1, 2], [3, 0]]);
});

it("leads to the traces of a cell: the lower bound belongs to it, the window cuts it", () => {
  const [first] = heatOf(report([cell("00:00", 0, 0.05)]))?.cells ?? [];
  expect(first && filtersOf(first, "margin")).toEqual({ from: "2026-01-01T00:30:00.000Z", to: "2026-01-01T01:00:00.000Z", answered: "true", margin_gt: "-0.000000001", margin_lt: "0.05" });
});

it("walks by arrow keys", () => {
  const heat = heatOf(report([cell("00:00", 0, 0.1), cell("02:00", 0, 0.1), cell("02:00", 0.1, 0.2)]));
  const [a, b, c] = heat?.cells ?? [];
  expect(heat && a && neighbour(heat.cells, a, "ArrowRight")).toBe(b);
  expect(heat && b && neighbour(heat.cells, b, "ArrowUp")).toBe(c);
  expect(heat && a && neighbour(heat.cells, a, "ArrowLeft")).toBeUndefined();
});

it("is nothing without cells", () => expect(heatOf(report([]))).toBeNull());
