import type { CellReport, CellRow } from "../api/shapes.ts";
import { millis } from "./window.ts";

/** A cell as it is drawn: a column of time, a row of margin or length counted from the top. */
export interface Cell extends CellRow {
  from: number;
  to: number;
  column: number;
  row: number;
}

export interface Heat {
  measure: CellReport["measure"];
  cells: Cell[];
  columns: number;
  rows: number;
  /** Bounds between the rows from the largest down, one less than rows. */
  bounds: number[];
  from: number;
  to: number;
  total: number;
  most: number;
}

/** Lays the cells of an answer out. Null without any. */
export function heatOf({ window, rows, measure }: CellReport): Heat | null {
  const width = (window.bucket_s ?? 0) * 1000;
  if (rows.length === 0 || width <= 0) return null;
  const begin = millis(window.from);
  const end = millis(window.to);
  // Cells begin at multiples of their width; an open begin of the window, all time, is left out.
  const from = begin > 0 ? Math.floor(begin / width) * width : Math.min(...rows.map((row) => millis(row.at)));
  const to = Math.max(end, from + width);
  const closed = rows.flatMap((row) => (row.low_s === null || row.high_s === null ? [] : [row.high_s - row.low_s]));
  const known = rows.flatMap((row) => [row.low_s, row.high_s]).filter((bound) => bound !== null);
  const step = closed[0] ?? 1;
  const low = Math.min(0, ...known);
  const high = Math.max(0, ...known);
  const inner = Math.round((high - low) / step);
  const above = rows.some((row) => row.high_s === null) ? 1 : 0;
  const below = rows.some((row) => row.low_s === null) ? 1 : 0;
  const rowOf = (row: CellRow) => (row.high_s === null ? 0 : row.low_s === null ? above + inner : above + Math.round((high - row.high_s) / step));
  const cells = rows.map((row): Cell => {
    const at = millis(row.at);
    return { ...row, from: Math.max(at, begin), to: Math.min(at + width, end), column: Math.floor((at - from) / width), row: rowOf(row) };
  });
  return {
    measure, cells, columns: Math.ceil((to - from) / width), rows: above + inner + below,
    bounds: Array.from({ length: inner + 1 }, (_, i) => round(high - i * step)), from, to,
    total: cells.reduce((sum, cell) => sum + cell.requests, 0), most: cells.reduce((top, cell) => Math.max(top, cell.requests), 0),
  };
}

/** The search that finds the traces of a cell, no more and no less. Bounds of a search are exclusive, a cell holds its lower one. */
export function filtersOf(cell: Cell, measure: Heat["measure"]): Record<string, string> {
  return {
    from: new Date(cell.from).toISOString(), to: new Date(cell.to).toISOString(), answered: measure === "margin" ? "true" : "",
    [`${measure}_gt`]: cell.low_s === null ? "" : (cell.low_s - 1e-9).toFixed(9), [`${measure}_lt`]: cell.high_s === null ? "" : String(cell.high_s),
  };
}

/** The cell that an arrow key leads to: the nearest in its direction. */
export function neighbour(cells: readonly Cell[], of: Cell, key: string): Cell | undefined {
  const [dx, dy] = ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] } as Record<string, [number, number]>)[key] ?? [0, 0];
  const far = (cell: Cell) => {
    const x = cell.column - of.column;
    const y = cell.row - of.row;
    const along = x * dx + y * dy;
    return along > 0 ? along + 3 * (dx !== 0 ? Math.abs(y) : Math.abs(x)) : Infinity;
  };
  const best = cells.reduce<Cell | undefined>((found, cell) => (far(cell) < (found ? far(found) : Infinity) ? cell : found), undefined);
  return best;
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
