import { expect, it } from "vitest";
import type { AttributionRow, ChangePart } from "../api/shapes.ts";
import { changeSentence, stepsOf } from "./changes.ts";

const sample = (mean: number) => ({ with_budget: 10, answered: 10, missed_ratio: 0, margin_mean_s: mean, margin_p05_s: mean, margin_p50_s: mean, budget_p50_s: 1 });
const part = (name: ChangePart["part"], change: number, stage = ""): ChangePart => ({ part: name, stage, peer: "", before_s: null, after_s: null, change_s: change, share: null });
const row = (more: Partial<AttributionRow>): AttributionRow => ({
  service: "s", route: "/r", before: sample(0.5), after: sample(0.4), change_s: -0.1, change_low_s: -0.12, change_high_s: -0.08, clear: true,
  parts: [part("mix", 0.02), part("dependency", -0.13, "charge"), part("rest", 0.01)], ...more,
});

it("walks from the margin before to the margin after, the largest step first", () => {
  const steps = stepsOf(row({}));
  expect(steps.map((step) => step.label)).toEqual(["charge", "Other traffic", "Not explained"]);
  expect(steps.at(-1)?.to).toBeCloseTo(0.4);
});

it("sums up small steps and loses none", () => {
  const steps = stepsOf(row({ parts: Array.from({ length: 20 }, (_, i) => part("dependency", -0.005, `s${i}`)) }));
  expect(steps).toHaveLength(8);
  expect(steps.at(-1)?.to).toBeCloseTo(0.4);
});

it("says what happened, or that chance explains it", () => {
  expect(changeSentence(row({}))).toBe("Its mean margin lost 100 ms, most of it by charge (−130 ms).");
  expect(changeSentence(row({ clear: false }))).toContain("chance");
  expect(changeSentence(row({ change_s: null }))).toContain("nothing to compare");
});
