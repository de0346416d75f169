import { expect, it } from "vitest";
import { ago, formatInstant, nanos, secondsBetween } from "./instants.ts";

it("keeps nanoseconds", () => {
  expect(nanos("2026-01-01T00:00:00.123456789Z") % 1_000_000_000n).toBe(123_456_789n);
  expect(secondsBetween(nanos("1970-01-01T00:00:00Z"), nanos("1970-01-01T00:00:01.5Z"))).toBe(1.5);
  expect(nanos("1970-01-01T01:00:00+01:00")).toBe(0n);
});

it("counts what cannot be read as 1970 instead of failing", () => expect(nanos("yesterday")).toBe(0n));

it("formats in UTC", () => expect(formatInstant("2026-01-02T03:04:05.9Z", "UTC")).toBe("2026-01-02 03:04:05"));

it("says how long ago", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  expect(ago("2026-01-01T11:59:30Z", now)).toBe("30 s ago");
  expect(ago("2026-01-01T09:00:00Z", now)).toBe("3 h ago");
});
