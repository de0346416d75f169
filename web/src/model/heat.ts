import type { TraceRow } from "../api/shapes.ts";
import { millis } from "./window.ts";

/** How many requests began in a stretch of time with a margin between two bounds, in seconds. */
export interface Cell {
  from: number;
  to: number;
  low: number;
  high: number;
  column: number;
  row: number;
  count: number;
}

export interface Heat {
  cells: Cell[];
  columns: number;
  rows: number;
  /** Bounds of the rows from the largest margin down, one more than rows. */
  bounds: number[];
  from: number;
  to: number;
  total: number;
  most: number;
}

const columns = 48;
const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000];
const mostRows = 12;

/** Counts requests by time and margin. Zero is always a bound, so that no cell holds both late ones and others. Null without margins. */
export function heatOf(traces: readonly TraceRow[]): Heat | null {
  const known = traces.flatMap((trace) => (trace.margin_s === null ? [] : [{ at: millis(trace.started_at), margin: trace.margin_s }]));
  const [first] = known;
  if (!first) return null;
  let [from, to, least, most] = [first.at, first.at, 0, 0];
  for (const { at, margin } of known) {
    from = Math.min(from, at);
    to = Math.max(to, at + 1);
    least = Math.min(least, margin);
    most = Math.max(most, margin);
  }
  const step = steps.find((size) => Math.ceil(most / size) + Math.ceil(-least / size) <= mostRows) ?? 1000;
  const above = Math.max(1, Math.floor(most / step) + 1);
  const rows = above + Math.ceil(-least / step);
  const width = Math.max(1, (to - from) / columns);
  const cells = new Map<number, Cell>();
  for (const { at, margin } of known) {
    const column = Math.min(columns - 1, Math.floor((at - from) / width));
    const row = Math.min(rows - 1, above - 1 - Math.floor(margin / step));
    const key = row * columns + column;
    const cell = cells.get(key) ?? { from: Math.floor(from + column * width), to: Math.ceil(from + (column + 1) * width), low: round((above - 1 - row) * step), high: round((above - row) * step), column, row, count: 0 };
    cell.count++;
    cells.set(key, cell);
  }
  const counted = [...cells.values()];
  return {
    cells: counted, columns, rows, bounds: Array.from({ length: rows + 1 }, (_, i) => round((above - i) * step)), from, to,
    total: known.length, most: counted.reduce((top, cell) => Math.max(top, cell.count), 0),
  };
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
