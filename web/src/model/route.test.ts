import { expect, it } from "vitest";
import type { MarginRow, StageRow } from "../api/shapes.ts";
import { growth, marginSeries, routeSentence, spendOf } from "./route.ts";

const row = (more: Partial<MarginRow>): MarginRow => ({
  service: "s", route: "/r", requests: 10, seen: 10, with_budget: 10, answered: 10, late: 0, exhausted: 0, missed_ratio: 0, margin_p05_s: 0.5, margin_p50_s: 0.6, margin_p95_s: 0.7,
  used_p50: 0.4, budget_p50_s: 1, week_ago: null, provisional: false, trend: null,
  buckets: [{ at: "2026-01-01T00:00:00Z", requests: 10, seen: 10, with_budget: 10, answered: 10, late: 0, exhausted: 0, margin_p05_s: 0.5, margin_p50_s: 0.6, margin_p95_s: 0.7, used_p50: 0.4 }], ...more,
});
const stage = (name: string, calls: number, spend: number | null) => ({ stage: name, peer: "p", calls, spend_p50_s: spend }) as StageRow;

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

it("weighs stages by how often a request calls them, and says what grew", () => {
  const now = spendOf(row({}), [stage("a", 20, 0.1), stage("b", 5, 0.1), stage("c", 1, null)]);
  expect(now.parts.map((part) => [part.label, part.seconds])).toEqual([["a", 0.2], ["b", 0.05]]);
  expect(growth(now, spendOf(row({}), [stage("a", 10, 0.1), stage("b", 5, 0.1)]))).toEqual([{ key: "a p", label: "a", by: 0.1 }]);
});
