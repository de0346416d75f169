import { expect, it } from "vitest";
import type { MarginRow, SpendRow } from "../api/shapes.ts";
import { growth, marginSeries, routeSentence, spendColours, spendOf, spendSeries } from "./route.ts";

const row = (more: Partial<MarginRow>): MarginRow => ({
  service: "s", route: "/r", requests: 10, seen: 10, with_budget: 10, answered: 10, late: 0, exhausted: 0, missed_ratio: 0, margin_p05_s: 0.5, margin_p50_s: 0.6, margin_p95_s: 0.7,
  used_p50: 0.4, budget_p50_s: 1, week_ago: null, provisional: false, trend: null,
  buckets: [{ at: "2026-01-01T00:00:00Z", requests: 10, seen: 10, with_budget: 10, answered: 10, late: 0, exhausted: 0, margin_p05_s: 0.5, margin_p50_s: 0.6, margin_p95_s: 0.7, used_p50: 0.4 }], ...more,
});
const spend = (part: SpendRow["part"], stage: string, means: number[]): SpendRow => ({
  service: "s", route: "/r", part, stage, peer: "", requests: 10, mean_s: means.reduce((a, b) => a + b, 0) / means.length, share_of_budget: null, calls_per_request: 1, degraded_ratio: 0,
  buckets: means.map((mean_s, i) => ({ at: `2026-01-01T0${i}:00:00Z`, requests: 5, mean_s })),
});

it.each([
  [{}, "Its slow requests keep 500 ms, 50 % of the budget."],
  [{ margin_p05_s: -0.2 }, "Its slow requests end 200 ms after their deadline."],
  [{ margin_p05_s: 0.05 }, "Its slow requests keep 50 ms, less than a tenth of the budget."],
  [{ missed_ratio: 0.08 }, "8 % of its requests miss their deadline; those answered keep at least 500 ms in 95 of 100 cases."],
  [{ margin_p05_s: null, budget_p50_s: null }, "Its requests carry no budget."],
])("says how a route stands: %o", (more, sentence) => expect(routeSentence(row(more))).toBe(sentence));

it("lays what the window is held against beneath it", () => {
  const [was, now] = marginSeries(row({}), row({}), 1000, "a week earlier");
  expect(was?.kind).toBe("was");
  expect((was?.points[0]?.at ?? 0) - (now?.points[0]?.at ?? 0)).toBe(1000);
});

it("sums what a request spends, and says what grew", () => {
  const now = spendOf([spend("budget", "", [1, 1]), spend("own_work", "", [0.1, 0.1]), spend("dependency", "a", [0.1, 0.3]), spend("queue", "", [0, 0])]);
  expect(now).toEqual({ budget: 1, parts: [{ key: "dependency a ", label: "a", seconds: 0.2 }, { key: "own_work  ", label: "Own work", seconds: 0.1 }] });
  expect(growth(now, spendOf([spend("dependency", "a", [0.1]), spend("own_work", "", [0.1])]))).toEqual([{ key: "dependency a ", label: "a", by: 0.1 }]);
});

it("stacks spend over time under the budget, the small parts as one", () => {
  const many = Array.from({ length: spendColours.length + 2 }, (_, i) => spend("dependency", `s${i}`, [1 / (i + 1), 0]));
  const series = spendSeries([spend("budget", "", [2, 2]), ...many]);
  expect(series.map((one) => one.kind)).toEqual([...spendColours.map(() => "stack"), "stack", "was"]);
  const sum = series.filter((one) => one.kind === "stack").reduce((total, one) => total + (one.points[0]?.value ?? 0), 0);
  expect(sum).toBeCloseTo(many.reduce((total, row) => total + (row.buckets[0]?.mean_s ?? 0), 0));
});
