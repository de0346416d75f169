import { expect, it } from "vitest";
import type { PropagationRow } from "../api/shapes.ts";
import { callersOf, edgeText, flowOf, labelSize } from "./flow.ts";

const row = (from: string, to: string, more: Partial<PropagationRow> = {}): PropagationRow =>
  ({ from, to, calls: 1, with_budget: 1, renewed: 0, dropped: 0, growth_max_s: null, handed_p50_s: 1, used_p50_s: 0.5, ...more });

it("places callers before callees", () => {
  const flow = flowOf([row("edge", "shop"), row("shop", "stock")]);
  const x = Object.fromEntries(flow.nodes.map((node) => [node.name, node.x]));
  expect((x["edge"] ?? 0) < (x["shop"] ?? 0) && (x["shop"] ?? 0) < (x["stock"] ?? 0)).toBe(true);
  expect(flow.edges).toHaveLength(2);
});

it("draws services that call each other and themselves", () => {
  const { edges, nodes } = flowOf([row("a", "b"), row("b", "a"), row("a", "a")]);
  expect(edges.map((edge) => edge.loop)).toEqual([false, false, true]);
  const [node, loop] = [nodes.find((one) => one.name === "a"), edges[2]];
  if (!node || !loop) throw new Error("no loop");
  // Its line leaves the service at the bottom, runs to the label, and comes back.
  const bottom = node.y + node.height / 2;
  expect([loop.points[0]?.y, loop.points.at(-1)?.y]).toEqual([bottom, bottom]);
  expect(Math.max(...loop.points.map((point) => point.y))).toBe(loop.y);
  expect(loop.y - labelSize.height / 2 - bottom).toBeGreaterThan(8);
});

it("lists callers with whom they call where there is no room for a map", () => {
  const listed = callersOf([row("a", "b"), row("b", "c", { dropped: 1 }), row("a", "c", { calls: 9 })]);
  expect(listed.map((one) => [one.from, ...one.rows.map((each) => each.to)])).toEqual([["b", "c"], ["a", "c", "b"]]);
  expect(edgeText(row("a", "a", { renewed: 2 }))).toMatchObject({ tone: "bad", fault: "2 × renewed", handed: "1 s, used 500 ms", share: 0.5, said: "a to itself: 1 calls, 100 % with a budget, handed 1 s, used 500 ms, 2 × renewed" });
});

it("TestIssueLongNameOnMap: a name of 300 letters takes the room of 32", () => {
  const [node] = flowOf([row("x".repeat(300), "b")]).nodes;
  expect(node?.name).toHaveLength(300);
  expect(node?.width).toBeLessThan(300);
});

it("keeps edges with faults where not all can be drawn", () => {
  const rows = [...Array.from({ length: 80 }, (_, i) => row("a", `b${i}`, { calls: 1000 })), row("a", "faulty", { renewed: 1 })];
  const flow = flowOf(rows);
  expect(flow.left).toBe(21);
  expect(flow.nodes.some((node) => node.name === "faulty")).toBe(true);
});
