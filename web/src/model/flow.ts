import { graphlib, layout } from "@dagrejs/dagre";
import type { PropagationRow } from "../api/shapes.ts";

export interface FlowNode {
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface FlowEdge {
  row: PropagationRow;
  points: { x: number; y: number }[];
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

/** Lays out who calls whom, callers before callees; the edges with faults first, then the busiest. */
export function flowOf(rows: readonly PropagationRow[], across: boolean): Flow {
  const chosen = [...rows].sort((a, b) => Number(b.renewed + b.dropped > 0) - Number(a.renewed + a.dropped > 0) || b.calls - a.calls).slice(0, most);
  const graph = new graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: across ? "LR" : "TB", nodesep: across ? 36 : 46, ranksep: across ? 52 : 30, edgesep: 26, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const name of new Set(chosen.flatMap((row) => [row.from, row.to]))) graph.setNode(name, { width: Math.max(84, clip(name).length * 8 + 26), height: 34 });
  for (const [i, row] of chosen.entries()) graph.setEdge(row.from, row.to, { ...labelSize, labelpos: "c", row }, String(i));
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  return {
    width: size.width ?? 0, height: size.height ?? 0, left: rows.length - chosen.length,
    nodes: graph.nodes().map((name) => ({ name, ...(graph.node(name) as Omit<FlowNode, "name">) })),
    edges: graph.edges().map((edge) => graph.edge(edge) as FlowEdge),
  };
}
