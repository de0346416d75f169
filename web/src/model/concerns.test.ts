import { describe, expect, it } from "vitest";
import type { MarginRow, StageRow } from "../api/shapes.ts";
import { degrading, forecast, missedConcern, missedOverTime, noForecast, runningOut } from "./concerns.ts";

const row = (more: Partial<MarginRow>): MarginRow => ({
  service: "s", route: "/r", buckets: [], requests: 100, seen: 100, with_budget: 100, answered: 100, late: 0, exhausted: 0, missed_ratio: 0,
  margin_p05_s: 0.5, margin_p50_s: 0.6, margin_p95_s: 0.7, used_p50: 0.4, budget_p50_s: 1, week_ago: null, provisional: false, trend: null, ...more,
});
const trend = (more: object) => ({ slope_s_per_day: -0.021, p_value: 0.001, significant: true, days: 20, level_s: 0.1, crosses_zero: null, missed_crosses: null, grown_stages: [], ...more }) as NonNullable<MarginRow["trend"]>;
const stage = (more: Partial<StageRow>): StageRow => ({
  service: "s", route: "/r", stage: "a", peer: "p", calls: 100, spend_p50_s: 0.1, spend_p95_s: 0.2, degraded: 0, degraded_ratio: 0, decisions: {}, causes: {}, phases: {}, trend: null, ...more,
});

describe("running out", () => {
  const soon = row({ route: "/soon", trend: trend({ crosses_zero: { from: "2026-12-04T00:00:00Z", to: "2026-12-09T00:00:00Z" } }) });
  const later = row({ route: "/later", trend: trend({ missed_crosses: { from: "2026-12-20T00:00:00Z", to: null } }) });

  it("names the soonest first, and none without significance", () => {
    const noise = row({ route: "/noise", trend: trend({ significant: false, crosses_zero: { from: "2026-12-01T00:00:00Z", to: null } }) });
    expect(runningOut([later, noise, soon]).map((one) => one.route)).toEqual(["/soon", "/later"]);
  });

  it("says when", () => {
    expect(forecast(soon)).toBe("loses 21 ms of margin a day; its slow requests run out between 4 December and 9 December");
    expect(forecast(later)).toContain("from 20 December on");
  });

  it("says why there is no forecast", () => {
    expect(noForecast([row({ with_budget: 0 })])).toContain("Without budgets");
    expect(noForecast([row({})])).toContain("ten days");
    expect(noForecast([row({ trend: trend({}) })])).toContain("No route");
  });
});

it("finds stages that degrade more than chance explains", () => {
  const found = degrading(
    [stage({ stage: "worse", degraded: 20, degraded_ratio: 0.2 }), stage({ stage: "same", degraded: 5, degraded_ratio: 0.05 }), stage({ stage: "few", calls: 3, degraded: 3, degraded_ratio: 1 })],
    [stage({ stage: "worse", degraded: 2, degraded_ratio: 0.02 }), stage({ stage: "same", degraded: 4, degraded_ratio: 0.04 })],
  );
  expect(found.map(({ row: { stage: name }, was }) => [name, was])).toEqual([["worse", 0.02]]);
});

it("adds up what was missed, now and a week earlier", () => {
  const week = { requests: 100, with_budget: 100, missed_ratio: 0.02, margin_p05_s: null, margin_p50_s: null };
  expect(missedConcern([row({ late: 3, exhausted: 2, week_ago: week })])).toBe("5 % of the requests with a budget were late or ended without an answer, 2 % a week earlier");
  expect(missedConcern([row({ with_budget: 0 })])).toBeNull();
});

it("adds up buckets of all routes", () => {
  const bucket = (late: number) => ({ at: "2026-01-01T00:00:00Z", requests: 10, seen: 10, with_budget: 10, answered: 10, late, exhausted: 0, margin_p05_s: null, margin_p50_s: null, margin_p95_s: null, used_p50: null });
  expect(missedOverTime({ rows: [row({ buckets: [bucket(1)] }), row({ buckets: [bucket(3)] })] })).toEqual([{ at: Date.parse("2026-01-01T00:00:00Z"), value: 0.2 }]);
});
