import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Statement, Trace } from "../api/shapes.ts";
import { waitedPath } from "./path.ts";
import { charges } from "./statement.ts";
import { buildForest, visibleNodes } from "./tree.ts";

const read = (name: string): unknown => JSON.parse(readFileSync(`../api/testdata/${name}`, "utf8"));
const nodes = visibleNodes(buildForest((read("trace.json") as Trace).spans), new Set());
const indexOf = new Map(nodes.map((node, i) => [node.spanID, i]));
const stretches = charges(read("statement.json") as Statement);

it("runs along the spans that time was charged to and is cut where the budget ends", () => {
  const steps = waitedPath(stretches, indexOf, nodes, 0, nodes.length);
  expect(steps.map((step) => step.row)).toEqual([0, 1, 0, 3, 0, 0]);
  expect(steps.map((step) => step.over)).toEqual([false, false, false, false, false, true]);
  expect(steps.at(-1)?.from).toBeCloseTo(1, 9);
});

it("draws only what touches the rows in sight", () => {
  expect(waitedPath(stretches, indexOf, nodes, 4, 9)).toEqual([]);
  expect(waitedPath(stretches, indexOf, nodes, 2, 2).map((step) => [step.row, step.next])).toEqual([[0, 3], [3, 0]]);
});
