import { expect, it } from "vitest";
import { clampRange, cutBar, extent, position, ticks } from "./timeline.ts";
import { span } from "../../dev/made.ts";
import { buildForest } from "./tree.ts";

function childOf(parent: [number, number], child: [number, number]) {
  const [root] = buildForest([span("p", null, ...parent), span("c", "p", ...child)]);
  return cutBar(root!.children[0]!);
}

it("shows what hangs over either end of the parent and cuts nothing off", () => {
  expect(childOf([1, 1], [1.2, 0.5])).toEqual({ inside: { from: 1.2, to: 1.7 }, before: null, after: null });
  expect(childOf([1, 1], [1.5, 2])).toEqual({ inside: { from: 1.5, to: 2 }, before: null, after: { from: 2, to: 3.5 } });
  expect(childOf([1, 1], [0.5, 1])).toEqual({ inside: { from: 1, to: 1.5 }, before: { from: 0.5, to: 1 }, after: null });
  expect(childOf([1, 1], [3, 1])).toEqual({ inside: null, before: null, after: { from: 3, to: 4 } });
  expect(childOf([1, 1], [0, 0.5])).toEqual({ inside: null, before: { from: 0, to: 0.5 }, after: null });
});

it("does not call rounding an overhang", () => expect(childOf([0, 1], [0, 1.0009]).after).toBeNull());

it("keeps an instant visible", () => expect(childOf([0, 1], [0.5, 0]).inside).toEqual({ from: 0.5, to: 0.5 }));

it("spans everything, and never nothing", () => {
  const roots = buildForest([span("a", null, 1, 2), span("b", null, 0, 9)]);
  expect(extent(roots)).toEqual({ from: 0, to: 9 });
  expect(extent([])).toEqual({ from: 0, to: 1 });
  expect(position({ from: 1, to: 3 }, 2)).toBe(0.5);
});

it("marks round instants from the origin", () => {
  expect(ticks({ from: 0, to: 1 }, 0, 5)).toEqual([0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]);
  expect(ticks({ from: 0.5, to: 3 }, 1, 4)).toEqual([1, 2, 3]);
  expect(ticks({ from: 1, to: 1 }, 0, 5)).toEqual([]);
});

it("keeps a zoom inside the trace", () => {
  expect(clampRange({ from: -1, to: 1 }, { from: 0, to: 10 })).toEqual({ from: 0, to: 2 });
  expect(clampRange({ from: 5, to: 5 }, { from: 0, to: 10 })).toEqual({ from: 5, to: 5.001 });
});
