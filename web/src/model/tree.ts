import type { Span } from "../api/shapes.ts";

/** A place in the waterfall: a span, or a stand-in for a parent that never arrived. */
export interface Node {
  key: string;
  span: Span | null;
  /** The id that children name as their parent. */
  spanID: string;
  depth: number;
  parent: Node | null;
  children: Node[];
  /** The earliest start and the latest end of the span, seconds after the start of the trace. */
  start: number;
  end: number;
  /** How many nodes hang below this one, at any depth. */
  descendants: number;
}

/**
 * Builds the forest of a trace from spans in any order. Spans whose parent is missing hang below a stand-in, one per missing
 * parent; spans in a circle of parents become roots. Every span appears exactly once, whatever the trace looks like.
 */
export function buildForest(spans: readonly Span[]): Node[] {
  const nodes: Node[] = spans.map((span, i) => ({
    key: `${span.span_id}/${i}`, span, spanID: span.span_id, depth: 0, parent: null, children: [],
    start: span.at_s, end: span.at_s + Math.max(0, span.duration_s), descendants: 0,
  }));
  const byID = new Map<string, Node>();
  for (const node of nodes) if (!byID.has(node.spanID)) byID.set(node.spanID, node);

  const roots: Node[] = [];
  const missing = new Map<string, Node>();
  for (const node of nodes) {
    const id = node.span?.parent_span_id;
    if (id) attach(byID.get(id) ?? standIn(missing, roots, id), node);
    else roots.push(node);
  }
  breakCircles(nodes, roots);
  for (const node of missing.values()) {
    node.start = node.children.reduce((least, child) => Math.min(least, child.start), Infinity);
    node.end = node.children.reduce((most, child) => Math.max(most, child.end), -Infinity);
  }
  finish(roots);
  return roots;
}

function attach(parent: Node, child: Node): void {
  child.parent = parent;
  parent.children.push(child);
}

/** Makes a root of one node of every circle, which no walk from the roots would reach. */
function breakCircles(nodes: readonly Node[], roots: Node[]): void {
  const reached = new Set(visibleNodes(roots, new Set()));
  for (const node of nodes) {
    if (reached.has(node)) continue;
    const above = new Set<Node>();
    let top = node;
    while (top.parent && !above.has(top)) {
      above.add(top);
      top = top.parent;
    }
    const parent = top.parent;
    if (parent) parent.children = parent.children.filter((child) => child !== top);
    top.parent = null;
    roots.push(top);
    for (const below of visibleNodes([top], new Set())) reached.add(below);
  }
}

function standIn(missing: Map<string, Node>, roots: Node[], id: string): Node {
  let node = missing.get(id);
  if (!node) {
    node = { key: `missing/${id}`, span: null, spanID: id, depth: 0, parent: null, children: [], start: 0, end: 0, descendants: 0 };
    missing.set(id, node);
    roots.push(node);
  }
  return node;
}

/** Sorts siblings by start, sets depths and counts; iterative because traces can be deeper than the stack. */
function finish(roots: Node[]): void {
  const byStart = (a: Node, b: Node) => a.start - b.start;
  roots.sort(byStart);
  const order: Node[] = [];
  const stack = [...roots];
  while (stack.length > 0) {
    const node = stack.pop() as Node;
    order.push(node);
    node.children.sort(byStart);
    for (const child of node.children) {
      child.depth = node.depth + 1;
      stack.push(child);
    }
  }
  for (let i = order.length - 1; i >= 0; i--) {
    const node = order[i] as Node;
    node.descendants = node.children.reduce((sum, child) => sum + 1 + child.descendants, 0);
  }
}

/** The nodes that show, top to bottom, when the ones in `collapsed` hide what is below them. */
export function visibleNodes(roots: readonly Node[], collapsed: ReadonlySet<string>): Node[] {
  const visible: Node[] = [];
  const stack = [...roots].reverse();
  while (stack.length > 0) {
    const node = stack.pop() as Node;
    visible.push(node);
    if (collapsed.has(node.key)) continue;
    for (let i = node.children.length - 1; i >= 0; i--) stack.push(node.children[i] as Node);
  }
  return visible;
}

/** The nodes with children, for collapsing everything at once. */
export function parents(roots: readonly Node[]): Node[] {
  return visibleNodes(roots, new Set()).filter((node) => node.children.length > 0);
}
