import { expect, it } from "vitest";
import { choices, type Known } from "./choices.ts";

const known: Known = {
  services: [{ service: "checkout", routes: ["POST /pay"], stages: ["charge"], peers: ["bank"] }],
  query: new URLSearchParams("from=now-7d"),
};
const labels = (text: string) => choices(text, known).map((choice) => choice.label);

it("offers the pages before anything is typed", () => {
  expect(labels("").slice(0, 2)).toEqual(["Overview", "Alerts"]);
});

it("opens a pasted trace id before anything else", () => {
  const [first] = choices("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", known);
  expect(first).toMatchObject({ path: "/traces/4bf92f3577b34da6a3ce929d0e0e4736", group: "Trace" });
});

it("finds routes by any of their words and keeps the window", () => {
  const found = choices("pay check", known).find((choice) => choice.group === "Route");
  expect(found?.path).toBe("/route?from=now-7d&service=checkout&route=POST+%2Fpay");
});

it("puts what begins with the words first", () => {
  expect(labels("or")[0]).toBe("Orphans");
});

it("reads a time range", () => {
  expect(choices("last 3 days", known)[0]).toMatchObject({ group: "Time range", path: "?from=now-3d" });
});

it("says so when nothing is found", () => {
  expect(choices("zzzz", known)).toEqual([]);
});
