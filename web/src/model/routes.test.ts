import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { MarginReport, MarginRow } from "../api/shapes.ts";
import { attention, byMarginLeft, healthOf, marginLeft, missedOverall } from "./routes.ts";

const [base] = (JSON.parse(readFileSync("../api/testdata/margin.json", "utf8")) as MarginReport).rows;

function row(route: string, change: Partial<MarginRow>): MarginRow {
  return { ...(base as MarginRow), route, late: 0, exhausted: 0, missed_ratio: 0, requests: 1000, with_budget: 1000, budget_p50_s: 1, ...change };
}

const late = row("late", { margin_p05_s: -0.1, missed_ratio: 0.06, late: 60 });
const tight = row("tight", { margin_p05_s: 0.05 });
const fine = row("fine", { margin_p05_s: 0.5 });
const refused = row("refused", { margin_p05_s: null, margin_p50_s: null, answered: 0, exhausted: 1000, missed_ratio: 1 });
const none = row("none", { margin_p05_s: null, budget_p50_s: null, with_budget: 0, missed_ratio: null });

it("puts the least margin first and never hides a route that answers nothing", () => {
  expect(byMarginLeft([none, fine, tight, late, refused]).map((r) => r.route)).toEqual(["refused", "late", "tight", "fine", "none"]);
});

it("puts a route that misses before one that only has less margin", () => {
  const missing = row("missing", { margin_p05_s: 0.6, missed_ratio: 0.02, exhausted: 20 });
  expect(byMarginLeft([tight, fine, missing, late]).map((r) => r.route)).toEqual(["late", "missing", "tight", "fine"]);
});

it("compares margins as a share of the budget", () => {
  const long = row("long", { margin_p05_s: 0.4, budget_p50_s: 10 });
  expect(byMarginLeft([fine, long, tight]).map((r) => r.route)).toEqual(["long", "tight", "fine"]);
});

it("judges a route", () => {
  expect([late, tight, fine, refused, none].map(healthOf)).toEqual(["late", "tight", "fine", "missing", "unknown"]);
});

it("takes no share of a budget that was used up before the request came", () => {
  const spent = row("spent", { margin_p05_s: -2, budget_p50_s: -1, missed_ratio: 1, late: 1 });
  expect(marginLeft(spent)).toBeNull();
  expect(healthOf(spent)).toBe("missing");
});

it("says what needs attention", () => {
  expect(attention([late, tight, fine])).toBe("1 of 3 routes misses its deadline; 1 keeps less than a tenth of the budget.");
  expect(attention([fine])).toBe("The one route with a budget keeps more than a tenth of it.");
  expect(attention([none])).toBe("No request of 1 route carried a budget.");
});

it("weighs the missed ratio by requests", () => expect(missedOverall([late, fine])).toBe(0.03));
