import { expect, it } from "vitest";
import { patienceOf } from "./patience.ts";

it("says when those who left had left, against what they were granted", () => {
  const patience = patienceOf([{ duration_s: 3, budget_s: 2 }, { duration_s: 1, budget_s: 2 }, { duration_s: 2, budget_s: null }]);
  expect(patience?.steps.map((step) => step.after)).toEqual([1, 2, 3]);
  expect(patience).toMatchObject({ median: 2, budget: 2, early: 0.5 });
});

it("is nothing without leavers", () => expect(patienceOf([])).toBeNull());
