import { graphlib, layout } from "@dagrejs/dagre";
import type { PropagationRow } from "../api/shapes.ts";
import { formatCount, formatRatio, formatSeconds } from "./seconds.ts";

export interface FlowNode {
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface FlowEdge {
  row: PropagationRow;
  /** From the caller to the callee; of a service that calls itself the corners of a loop below it. */
  points: { x: number; y: number }[];
  loop: boolean;
  /** The middle of the label. */
  x: number;
  y: number;
}

export interface Flow {
  width: number;
  height: number;
  nodes: FlowNode[];
  edges: FlowEdge[];
  /** Edges that are only in the table. */
  left: number;
}

export const labelSize = { width: 132, height: 42 };
const most = 60;

// A node as wide as a name of 300 letters would push the others out of sight.
const longest = 32;

/** A name as it stands on the map. */
export function clip(name: string): string {
  const letters = [...name];
  return letters.length <= longest ? name : `${letters.slice(0, longest - 1).join("")}…`;
}

/** The edges with faults first, then the busiest. */
function foremost(rows: readonly PropagationRow[]): PropagationRow[] {
  return [...rows].sort((a, b) => Number(b.renewed + b.dropped > 0) - Number(a.renewed + a.dropped > 0) || b.calls - a.calls);
}

/** Lays out who calls whom, callers left of their callees. */
export function flowOf(rows: readonly PropagationRow[]): Flow {
  const chosen = foremost(rows).slice(0, most);
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 36, ranksep: 52, edgesep: 26, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const name of new Set(chosen.flatMap((row) => [row.from, row.to]))) {
    const calledByItself = chosen.some((row) => row.from === name && row.to === name);
    graph.setNode(name, { width: Math.max(calledByItself ? labelSize.width : 84, clip(name).length * 8 + 26), height: 34 });
  }
  for (const [i, row] of chosen.entries()) graph.setEdge(row.from, row.to, { ...labelSize, labelpos: "c", row }, String(i));
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  const nodes = graph.nodes().map((name) => ({ name, ...(graph.node(name) as Omit<FlowNode, "name">) }));
  return {
    width: size.width ?? 0, height: size.height ?? 0, left: rows.length - chosen.length, nodes,
    edges: graph.edges().map((edge) => {
      const placed = graph.edge(edge) as Omit<FlowEdge, "loop">;
      const own = edge.v === edge.w && nodes.find((node) => node.name === edge.v);
      return own ? { ...placed, loop: true, points: loopOf(own, placed.y) } : { ...placed, loop: false };
    }),
  };
}

/** The layout leaves room for the label of a loop and gives it no line. */
function loopOf(node: FlowNode, to: number): FlowEdge["points"] {
  const bottom = node.y + node.height / 2;
  const [left, right] = [node.x - node.width / 4, node.x + node.width / 4];
  return [{ x: left, y: bottom }, { x: left, y: to }, { x: right, y: to }, { x: right, y: bottom }];
}

/** The same without a map: callers with whom they call, those with faults first, then the busiest. */
export function callersOf(rows: readonly PropagationRow[]): { from: string; rows: PropagationRow[] }[] {
  const callers = new Map<string, PropagationRow[]>();
  for (const row of foremost(rows)) callers.set(row.from, [...(callers.get(row.from) ?? []), row]);
  return [...callers].map(([from, calls]) => ({ from, rows: calls }));
}

/** What is said of an edge. */
export interface EdgeText {
  tone: "bad" | "warn" | "ink-2";
  /** What was handed down and used, in short. */
  handed: string;
  /** The part of the budget that was used; null where none was handed down. */
  share: number | null;
  fault: string;
  said: string;
}

export function edgeText(row: PropagationRow): EdgeText {
  const { handed_p50_s: handed, used_p50_s: used } = row;
  const fault = [row.renewed > 0 && `${formatCount(row.renewed)} × renewed`, row.dropped > 0 && `${formatCount(row.dropped)} × dropped`].filter(Boolean).join(", ");
  const times = `handed ${formatSeconds(handed)}, used ${formatSeconds(used)}`;
  return {
    tone: row.renewed > 0 ? "bad" : row.dropped > 0 ? "warn" : "ink-2", fault,
    handed: row.with_budget === 0 ? "no budget" : `${formatSeconds(handed)}, used ${formatSeconds(used)}`,
    share: handed === null || used === null || handed <= 0 ? null : used / handed,
    said: `${row.from} to ${row.from === row.to ? "itself" : row.to}: ${formatCount(row.calls)} calls, ${formatRatio(row.with_budget / Math.max(1, row.calls))} with a budget, ${times}${fault ? `, ${fault}` : ""}`,
  };
}
