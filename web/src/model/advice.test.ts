import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Advice, AdviceRow } from "../api/shapes.ts";
import { adviceSentence, moved, policyCommand } from "./advice.ts";

const answered = JSON.parse(readFileSync("../api/testdata/advice.json", "utf8")) as Advice;
const row = (more: Partial<AdviceRow>): AdviceRow => ({ ...(answered.rows[0] as AdviceRow), service: "shop", stage: "load", enough: true, ...more });
const none = { cap_s: null, observed_limit_s: null, reserve_s: null, min_useful_s: null };

it.each([
  [[], "No dependency has the 100 calls that advice needs"],
  [[row({ current: { ...none, observed_limit_s: 0.1 }, advised: { ...none, observed_limit_s: 0.4 } })], "load of shop needs 400 ms, not 100 ms"],
  [[row({ current: { ...none, cap_s: 10 }, advised: { ...none, cap_s: 1 } })], "load of shop may take 10 s and needs 1 s at most"],
  [[row({ current: none, advised: { ...none, cap_s: 1 } })], "load of shop is bounded by the budget alone"],
])("says what to look at: %#", (rows, sentence) => expect(adviceSentence({ ...answered, rows })).toBe(sentence));

it("tells which terms move", () => {
  expect(moved(row({ current: { ...none, cap_s: 1, reserve_s: 0.1 }, advised: { cap_s: 1.05, observed_limit_s: 0.5, reserve_s: 0.2, min_useful_s: null } }))).toEqual(["observed_limit", "reserve"]);
});

it("writes the command for the same window and dependencies", () => {
  expect(policyCommand({ from: "now-7d", service: "shop" }, [], "0.001")).toBe("laxity policy --since 7d --service shop");
  expect(policyCommand({ from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z", stage: "it's" }, [{ name: "peer", value: "a b" }, { name: "service", value: "edge" }], "0.01")).toBe("laxity policy --from 2026-01-01T00:00:00Z --to 2026-01-02T00:00:00Z --stage 'it'\\''s' --not 'peer=a b' --not service=edge --false-timeout-rate 0.01");
});
