import { describe, expect, it } from "vitest";
import type { Span } from "../api/shapes.ts";
import { span } from "../../dev/made.ts";
import { buildForest, parents, visibleNodes } from "./tree.ts";

const outline = (spans: Span[]) =>
  visibleNodes(buildForest(spans), new Set()).map((node) => "  ".repeat(node.depth) + (node.span ? node.spanID : `?${node.spanID}`));

describe("buildForest", () => {
  it("does not mind the order of spans", () => {
    const spans = [span("b", "a", 1, 1), span("c", "b", 1.2, 0.1), span("a", null, 0, 3), span("d", "a", 0.5, 0.1)];
    expect(outline(spans)).toEqual(["a", "  d", "  b", "    c"]);
    expect(outline(spans.toReversed())).toEqual(outline(spans));
  });

  it("puts a stand-in where a parent is missing, one for all its children", () => {
    expect(outline([span("b", "x", 1, 1), span("c", "x", 0, 1)])).toEqual(["?x", "  c", "  b"]);
  });

  it("breaks a circle of parents and loses no span", () => {
    const spans = [span("a", "b", 0, 1), span("b", "a", 0, 1), span("c", "c", 0, 1)];
    expect(outline(spans).map((line) => line.trim()).sort()).toEqual(["a", "b", "c"]);
    expect(outline([span("d", "a", 0, 1), span("e", "d", 0, 1), ...spans])).toHaveLength(5);
  });

  it("keeps spans that share an id", () => {
    expect(visibleNodes(buildForest([span("a", null, 0, 1), span("a", null, 0, 1)]), new Set())).toHaveLength(2);
  });

  it("is not stopped by depth", () => {
    const deep = Array.from({ length: 50_000 }, (_, i) => span(String(i), i === 0 ? null : String(i - 1), 0, 1));
    for (const spans of [deep, deep.toReversed()]) expect(buildForest(spans)[0]?.descendants).toBe(49_999);
  });
});

it("hides what is below a collapsed node", () => {
  const roots = buildForest([span("a", null, 0, 3), span("b", "a", 0, 1), span("c", "b", 0, 1), span("d", "a", 1, 1)]);
  expect(parents(roots).map((node) => node.spanID)).toEqual(["a", "b"]);
  const collapsed = new Set(parents(roots).filter((node) => node.spanID === "b").map((node) => node.key));
  expect(visibleNodes(roots, collapsed).map((node) => node.spanID)).toEqual(["a", "b", "d"]);
});
