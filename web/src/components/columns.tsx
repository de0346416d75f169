import type { ReactNode } from "react";
import type { FilterName } from "../model/filters.ts";
import { formatCount, formatRatio, formatSeconds } from "../model/seconds.ts";

export type Cell = string | number | null;

/** A value of a row and the filter that it is of. Nothing is narrowed by an empty one. */
export interface Part {
  filter: FilterName;
  value: string;
}

/** A column of a report. */
export interface Column<Row> {
  key: string;
  label: string;
  /** What the number means, in a phrase. */
  means?: string;
  value: (row: Row) => Cell;
  format?: "seconds" | "ratio" | "count" | "factor";
  /** Drawn instead of the plain value. */
  cell?: (row: Row) => ReactNode;
  /** Marks a value that is bad news. */
  tone?: (row: Row) => "bad" | "warn" | "";
  /** What the page is narrowed by when the value is clicked, or what it leaves out. */
  part?: (row: Row) => Part;
  /** More of that, below the value. */
  below?: (row: Row) => readonly Part[];
  /** Takes a whole line where the table is shown as cards. */
  wide?: boolean;
  /** Also shows what it was in the window held against. */
  compares?: boolean;
}

export function formatCell(value: Cell, format: Column<never>["format"]): string {
  if (value === null || value === "") return "–";
  if (typeof value === "string") return value;
  switch (format) {
    case "seconds": return formatSeconds(value);
    case "ratio": return formatRatio(value);
    case "factor": return `${value >= 9.95 ? value.toFixed(0) : value.toFixed(value < 1 ? 2 : 1)} ×`;
  }
  return formatCount(value);
}

/** What a call is named by: its stage, else the service it calls. */
export function callOf(row: { stage: string; peer: string }): Part {
  return row.stage ? { filter: "stage", value: row.stage } : { filter: "peer", value: row.peer };
}
