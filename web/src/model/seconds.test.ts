import { describe, expect, it } from "vitest";
import { formatColumn, formatRatio, formatSeconds, scaleFor } from "./seconds.ts";

describe("formatSeconds", () => {
  it.each([
    [-0.3, "−300 ms"], [1.3, "1.3 s"], [0, "0 s"], [15.0041, "15 s"], [9391.523, "9,391.5 s"], [33799.458, "33,799 s"],
    [0.0000125, "12.5 µs"], [0.9996, "1 s"], [0.000_000_004, "4 ns"], [null, "–"], [Number.NaN, "–"],
  ])("%s reads %s", (value, text) => expect(formatSeconds(value)).toBe(text));

  it("writes a plus where asked", () => expect(formatSeconds(0.25, true)).toBe("+250 ms"));
});

describe("formatColumn", () => {
  const scale = scaleFor(15);
  it("lines up", () => expect([1, -0.3, 12.34567].map((v) => formatColumn(v, scale))).toEqual(["1.000", "−0.300", "12.346"]));
  it("never shows a debit as nothing", () => expect([-0.0001, 0.000_04, -12e-9, -0.0005].map((v) => formatColumn(v, scale))).toEqual(["−100 µs", "40 µs", "−12 ns", "−0.001"]));
  it("leaves out what is unknown", () => expect(formatColumn(null, scale)).toBe(""));
});

describe("formatRatio", () => {
  it.each([[0, "0 %"], [0.0001, "<0.1 %"], [0.042, "4.2 %"], [0.5, "50 %"], [-0.4, "−40 %"], [-0.0001, ">−0.1 %"], [null, "–"]])("%s reads %s", (value, text) =>
    expect(formatRatio(value)).toBe(text));
});
