import { expect, it } from "vitest";
import type { TraceRow } from "../api/shapes.ts";
import { leaveOut, readExclusions, toggleExclusion } from "./exclusions.ts";

it("reads what the address leaves out, and nothing that it cannot leave out", () => {
  expect(readExclusions(new URLSearchParams("not=outcome:done&not=route:/a:b&not=phase:dns&not=odd"))).toEqual([{ name: "outcome", value: "done" }, { name: "route", value: "/a:b" }]);
});

it("adds, takes back, and drops the filter it contradicts", () => {
  const added = toggleExclusion(new URLSearchParams("outcome=done&service=a"), { name: "outcome", value: "done" });
  expect(added.toString()).toBe("service=a&not=outcome%3Adone");
  expect(toggleExclusion(added, { name: "outcome", value: "done" }).toString()).toBe("service=a");
});

it("leaves out rows by any of their findings", () => {
  const row = (rules: string[]) => ({ service: "s", route: "/r", outcome: "done", class: "in_time", late: false, rules }) as unknown as TraceRow;
  expect(leaveOut([row(["late", "overhang"]), row(["late"])], [{ name: "rule", value: "overhang" }])).toHaveLength(1);
});
