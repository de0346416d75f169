import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { PatienceReport } from "../api/shapes.ts";
import { curveOf } from "./patience.ts";

const answered = JSON.parse(readFileSync("../api/testdata/patience.json", "utf8")) as PatienceReport;

it("rises from nobody to everybody who left", () => {
  const curve = curveOf(answered);
  expect(curve[0]?.share).toBe(0);
  expect(curve.at(-1)?.share).toBe(1);
});

it("stays level where nobody left", () => {
  const row = { left: 1, with_budget: 1, early: 1, example_trace_ids: [] };
  const rows = [{ ...row, after_s: 1, up_to_s: 2, gone_ratio: 0.5 }, { ...row, after_s: 4, up_to_s: null, gone_ratio: 1 }];
  expect(curveOf({ ...answered, rows })).toEqual([{ after: 1, share: 0 }, { after: 2, share: 0.5 }, { after: 4, share: 0.5 }, { after: 4, share: 1 }]);
});

it("is nothing without leavers", () => expect(curveOf({ ...answered, rows: [] })).toEqual([]));
