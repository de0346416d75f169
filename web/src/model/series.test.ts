import { expect, it } from "vitest";
import { bounds, layers, nearest, stretches, unbroken, type Series } from "./series.ts";

const series = (kind: Series["kind"], values: (number | null)[]): Series =>
  ({ key: kind, label: kind, colour: "", kind, points: values.map((value, i) => ({ at: i * 10, value })) });

it("breaks a line where nothing was measured", () => {
  const points = [{ at: 0, value: 1 }, { at: 10, value: 2 }, { at: 20, value: null }, { at: 50, value: 3 }];
  expect(stretches(points, 10).map((part) => part.map((point) => point.value))).toEqual([[1, 2], [3]]);
});

it("bounds what is drawn and adds up what is stacked", () => {
  expect(bounds([series("line", [-2, null]), series("stack", [1, 2]), series("stack", [1, 3])])).toEqual([-2, 5]);
  expect(bounds([], [7])).toEqual([0, 7]);
});

it("stacks over all instants", () => {
  const [, upper] = layers([series("stack", [1, 2]), series("stack", [4])]);
  expect(upper?.points).toEqual([{ at: 0, low: 1, high: 5 }, { at: 10, low: 2, high: 2 }]);
});

it("breaks layers where there was nothing", () => expect(unbroken([{ at: 0 }, { at: 10 }, { at: 50 }], 10)).toEqual([[{ at: 0 }, { at: 10 }], [{ at: 50 }]]));

it("finds the nearest instant", () => {
  expect(nearest([series("line", [1, 1, 1])], 14)).toBe(10);
  expect(nearest([], 14)).toBeNull();
});
