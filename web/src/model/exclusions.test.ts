import { expect, it } from "vitest";
import { url } from "../api/client.ts";
import { parametersOf, readExclusions, toggleExclusion, withoutExclusions } from "./exclusions.ts";

it("reads what the address leaves out, and nothing that cannot be left out", () => {
  expect(readExclusions(new URLSearchParams("not.outcome=done&not.route=/a:b&not.route=/c&not.odd=1&not.rule="))).toEqual([
    { name: "route", value: "/a:b" }, { name: "route", value: "/c" }, { name: "outcome", value: "done" },
  ]);
});

it("asks the API for the same", () => {
  const without = parametersOf([{ name: "route", value: "/a" }, { name: "route", value: "/b" }, { name: "phase", value: "dns" }]);
  expect(url("/traces", { service: "s", ...without })).toBe("/api/v1/traces?service=s&not.route=%2Fa&not.route=%2Fb&not.phase=dns");
});

it("adds, takes back, and drops the filter it contradicts", () => {
  const added = toggleExclusion(new URLSearchParams("outcome=done&service=a&not.outcome=failed"), { name: "outcome", value: "done" });
  expect(added.toString()).toBe("service=a&not.outcome=failed&not.outcome=done");
  expect(toggleExclusion(added, { name: "outcome", value: "done" }).toString()).toBe("service=a&not.outcome=failed");
  expect(withoutExclusions(added).toString()).toBe("service=a");
});
