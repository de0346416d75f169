import type { Charge } from "./statement.ts";
import type { Node } from "./tree.ts";

/** One stretch of the budget line: along a row, then down or up to the row of the next stretch. */
export interface PathStep {
  row: number;
  next: number | null;
  from: number;
  to: number;
  /** The stretch lies past the deadline. */
  over: boolean;
}

/** The stretches of the budget line that touch the rows from `first` to `last`. A stretch that crosses the deadline is cut there. */
export function waitedPath(charges: readonly Charge[], indexOf: ReadonlyMap<string, number>, nodes: readonly Node[], first: number, last: number): PathStep[] {
  const placed = charges.flatMap((charge) => {
    const row = indexOf.get(charge.line.span_id ?? "");
    return row === undefined || !nodes[row] ? [] : [{ charge, row }];
  });
  return placed.flatMap(({ charge, row }, i): PathStep[] => {
    const next = placed[i + 1]?.row ?? null;
    const end = next ?? row;
    if (Math.max(row, end) < first || Math.min(row, end) > last) return [];
    const { from, to, before, after } = charge;
    if (before === null || after === null || after >= 0) return [{ row, next, from, to, over: false }];
    if (before <= 0) return [{ row, next, from, to, over: true }];
    const crossing = Math.min(to, from + before);
    return [{ row, next: null, from, to: crossing, over: false }, { row, next, from: crossing, to, over: true }];
  });
}
