import { describe, expect, it } from "vitest";
import { comparedWindow, lengthOf, parseWindow, windowLabel } from "./window.ts";

const now = Date.parse("2026-03-10T12:00:00Z");

describe("parseWindow", () => {
  it.each([
    ["3h", "now-3h", ""],
    ["last 2 days", "now-2d", ""],
    ["past hour", "now-1h", ""],
    ["now-90m", "now-90m", ""],
    ["all time", "1970-01-01T00:00:00Z", ""],
    ["yesterday", "2026-03-09T00:00:00Z", "2026-03-10T00:00:00Z"],
    ["2026-01-31", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"],
    ["2026-01-31 8:05", "2026-01-31T08:05:00Z", ""],
    ["2026-01-31 08:00 to 09:30", "2026-01-31T08:00:00Z", "2026-01-31T09:30:00Z"],
    ["2026-01-30 – 2026-01-31", "2026-01-30T00:00:00Z", "2026-02-01T00:00:00Z"],
    ["2026-01-31T08:00:00+02:00 .. now", "2026-01-31T06:00:00Z", "now"],
    ["now-2d to now-1d", "now-2d", "now-1d"],
  ])("reads %s", (text, from, to) => {
    expect(parseWindow(text, "UTC", now)).toEqual({ from, to });
  });

  it.each(["", "soon", "2026-13-45", "1 to 2 to 3", "-3h"])("refuses %s", (text) => {
    expect(parseWindow(text, "UTC", now)).toBeNull();
  });
});

describe("comparedWindow", () => {
  it("keeps relative windows relative", () => {
    expect(comparedWindow({ from: "now-24h", to: "" }, "week", now)).toEqual({ from: "now-691200s", to: "now-604800s" });
    expect(comparedWindow({ from: "now-1h", to: "" }, "before", now)).toEqual({ from: "now-7200s", to: "now-3600s" });
  });

  it("moves fixed windows and refuses what would lie before 1970", () => {
    const day = { from: "2026-03-09T00:00:00Z", to: "2026-03-10T00:00:00Z" };
    expect(comparedWindow(day, "before", now)).toEqual({ from: "2026-03-08T00:00:00.000Z", to: "2026-03-09T00:00:00.000Z" });
    expect(comparedWindow({ from: "1970-01-01T00:00:00Z", to: "" }, "week", now)).toBeNull();
    expect(comparedWindow(day, "", now)).toBeNull();
  });
});

it("says the length of a window, and of none", () => {
  expect(lengthOf({ from: "now-2h", to: "now-1h" }, now)).toBe(3600);
  expect(lengthOf({ from: "now", to: "now-1h" }, now)).toBeNull();
  expect(lengthOf({ from: "soon", to: "" }, now)).toBeNull();
});

it.each([
  [{ from: "now-24h", to: "" }, "Last 24 hours"],
  [{ from: "now-3h", to: "" }, "Last 3 hours"],
  [{ from: "now-2d", to: "now-1d" }, "now-2d – now-1d"],
  [{ from: "2026-03-09T08:00:00Z", to: "2026-03-09T09:30:00Z" }, "2026-03-09 08:00 – 09:30 UTC"],
  [{ from: "2026-03-09T08:00:00Z", to: "" }, "Since 2026-03-09 08:00 UTC"],
])("names %o", (window, label) => {
  expect(windowLabel(window)).toBe(label);
});
