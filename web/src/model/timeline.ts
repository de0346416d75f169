import type { Node } from "./tree.ts";

/** A stretch of time in seconds after the start of the trace. */
export interface Range {
  from: number;
  to: number;
}

export function extent(nodes: readonly Node[]): Range {
  let from = Infinity;
  let to = -Infinity;
  for (const node of nodes) {
    from = Math.min(from, node.start);
    to = Math.max(to, node.end);
  }
  if (from > to) return { from: 0, to: 1 };
  return { from, to: to > from ? to : from + 1e-6 };
}

/** The position of an instant in a range, 0 at its left edge and 1 at its right; beyond the edges below 0 or above 1. */
export function position(range: Range, at: number): number {
  return (at - range.from) / (range.to - range.from);
}

/** A bar cut into what lies inside the parent and what hangs over its start or its end. Nothing is cut off. */
export interface Bar {
  inside: Range | null;
  before: Range | null;
  after: Range | null;
}

// What a clock reading can be off by without meaning anything: less than a millisecond and a thousandth of the parent.
function tolerance(parent: Node): number {
  return Math.max(0.001, (parent.end - parent.start) * 0.001);
}

export function cutBar(node: Node): Bar {
  const whole = { from: node.start, to: node.end };
  const parent = node.parent;
  if (!parent?.span) return { inside: whole, before: null, after: null };
  const slack = tolerance(parent);
  const from = node.start < parent.start - slack ? Math.min(parent.start, node.end) : node.start;
  const to = node.end > parent.end + slack ? Math.max(parent.end, node.start) : node.end;
  return {
    inside: to > from || (to === from && from === node.start && to === node.end) ? { from, to } : null,
    before: from > node.start ? { from: node.start, to: from } : null,
    after: to < node.end ? { from: to, to: node.end } : null,
  };
}

/** Round instants inside a range for the axis, at most `count` of them, counted from `origin`. */
export function ticks(range: Range, origin: number, count: number): number[] {
  const span = range.to - range.from;
  if (!(span > 0) || count < 1) return [];
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((m) => m * power >= raw) ?? 10) * power;
  const marks: number[] = [];
  const first = Math.ceil((range.from - origin) / step - 1e-9);
  for (let i = first; origin + i * step <= range.to + span * 1e-9; i++) marks.push(origin + i * step);
  return marks;
}

/** Keeps a zoomed range within the whole trace and no narrower than a ten-thousandth of it. */
export function clampRange(range: Range, whole: Range): Range {
  const width = Math.min(whole.to - whole.from, Math.max(range.to - range.from, (whole.to - whole.from) / 1e4));
  const from = Math.min(Math.max(range.from, whole.from), whole.to - width);
  return { from, to: from + width };
}
