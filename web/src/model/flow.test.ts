import { expect, it } from "vitest";
import type { PropagationRow } from "../api/shapes.ts";
import { flowOf } from "./flow.ts";

const row = (from: string, to: string, more: Partial<PropagationRow> = {}): PropagationRow =>
  ({ from, to, calls: 1, with_budget: 1, renewed: 0, dropped: 0, growth_max_s: null, handed_p50_s: 1, used_p50_s: 0.5, ...more });

it("places callers before callees", () => {
  const flow = flowOf([row("edge", "shop"), row("shop", "stock")], true);
  const x = Object.fromEntries(flow.nodes.map((node) => [node.name, node.x]));
  expect((x["edge"] ?? 0) < (x["shop"] ?? 0) && (x["shop"] ?? 0) < (x["stock"] ?? 0)).toBe(true);
  expect(flow.edges).toHaveLength(2);
});

it("draws services that call each other and themselves", () => {
  expect(flowOf([row("a", "b"), row("b", "a"), row("a", "a")], false).edges).toHaveLength(3);
});

it("TestIssueLongNameOnMap: a name of 300 letters takes the room of 32", () => {
  const [node] = flowOf([row("x".repeat(300), "b")], true).nodes;
  expect(node?.name).toHaveLength(300);
  expect(node?.width).toBeLessThan(300);
});

it("keeps edges with faults where not all can be drawn", () => {
  const rows = [...Array.from({ length: 80 }, (_, i) => row("a", `b${i}`, { calls: 1000 })), row("a", "faulty", { renewed: 1 })];
  const flow = flowOf(rows, true);
  expect(flow.left).toBe(21);
  expect(flow.nodes.some((node) => node.name === "faulty")).toBe(true);
});
