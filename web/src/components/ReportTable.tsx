import { createColumnHelper, flexRender, getCoreRowModel, getSortedRowModel, useReactTable, type SortingState, type Updater } from "@tanstack/react-table";
import { useMemo, useState, type ReactNode } from "react";
import { Link } from "wouter";
import type { ExcludedName } from "../model/exclusions.ts";
import { filterText } from "../model/filterText.ts";
import { formatCount } from "../model/seconds.ts";
import { formatCell, type Cell, type Column, type Part } from "./columns.tsx";
import { Icon } from "./Icon.tsx";
import type { PlaceState } from "./place.ts";
import { useRows } from "./rows.ts";

interface Props<Row> {
  name: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  /** What makes a row the same row in another window. */
  keyOf: (row: Row) => string;
  before?: ReadonlyMap<string, Row> | undefined;
  beforeLabel?: string;
  /** The filters whose values can be left out. */
  leaves?: readonly ExcludedName[];
  /** Where a row leads. */
  pathOf?: (row: Row) => string | null;
  place: PlaceState;
}

// What is drawn at once; more makes a page slow that people want the top of.
const most = 200;

/** Rows that can be sorted, walked by keys and opened. The order lives in the address. */
export function ReportTable<Row extends object>({ name, rows, columns, keyOf, leaves = [], before, beforeLabel = "", pathOf, place }: Props<Row>) {
  const sorting = useMemo(() => readSort(place.query.get("sort")), [place.query]);
  const definitions = useMemo(() => {
    const helper = createColumnHelper<Row>();
    return columns.map((column) => helper.accessor((row) => column.value(row) ?? undefined, {
      id: column.key, sortUndefined: "last", sortDescFirst: column.format !== undefined,
      sortingFn: (a, b, id) => compare(a.getValue(id), b.getValue(id)),
    }));
  }, [columns]);
  const table = useReactTable({
    data: rows as Row[], columns: definitions, state: { sorting }, getCoreRowModel: getCoreRowModel(), getSortedRowModel: getSortedRowModel(), getRowId: keyOf,
    onSortingChange: (update: Updater<SortingState>) => place.change({ sort: writeSort(typeof update === "function" ? update(sorting) : update) }),
  });
  const [whole, setWhole] = useState(false);
  const sorted = table.getRowModel().rows;
  const shown = whole ? sorted : sorted.slice(0, most);
  const [current, body] = useRows(shown.length, (i) => shown[i] && pathOf?.(shown[i].original));
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label={name}>
      <table className="report">
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header, i) => {
                const column = columns[i] as Column<Row>;
                const sorted = header.column.getIsSorted();
                return (
                  <th key={header.id} scope="col" className={column.format ? "num" : undefined} aria-sort={sorted === "asc" ? "ascending" : sorted === "desc" ? "descending" : undefined}>
                    <button type="button" className="plain" title={column.means} onClick={header.column.getToggleSortingHandler()}>
                      {flexRender(column.label, header.getContext())}
                      {sorted && <Icon name={sorted === "asc" ? "up" : "down"} />}
                    </button>
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody ref={body}>
          {shown.map(({ id, original: row }, i) => (
            <tr key={id} className={i === current ? "current" : undefined} aria-current={i === current || undefined}>
              {columns.map((column, c) => (
                <td key={column.key} className={classOf(column, row, c)} data-label={column.label}>
                  <Value column={column} row={row} path={c === 0 ? pathOf?.(row) : null} leaves={leaves} place={place} />
                  {before && column.compares && <Was column={column} row={before.get(id)} label={beforeLabel} />}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < sorted.length && <p className="table-foot"><span className="quiet small">The first {shown.length} of {formatCount(sorted.length)} rows in this order.</span> <button type="button" className="button" onClick={() => setWhole(true)}>Show all</button></p>}
    </div>
  );
}

function classOf<Row>(column: Column<Row>, row: Row, index: number): string {
  return [column.format ? "num" : "text", column.wide || index === 0 ? "wide" : "", column.tone?.(row) ?? ""].filter(Boolean).join(" ");
}

function Value<Row>({ column, row, path, leaves, place }: { column: Column<Row>; row: Row; path: string | null | undefined; leaves: readonly ExcludedName[]; place: PlaceState }) {
  const value = column.value(row);
  const content = column.cell ? column.cell(row) : column.format ? formatCell(value, column.format) : <bdi>{formatCell(value, undefined)}</bdi>;
  const part = column.part?.(row);
  const below = (column.below?.(row) ?? []).filter((one) => one.value);
  return (
    <>
      {path ? <><Link className="open" href={path}>{content}</Link>{part && <LeaveOut part={part} leaves={leaves} place={place} />}</>
        : part ? <Narrowing part={part} leaves={leaves} place={place}>{content}</Narrowing>
        : content}
      {below.length > 0 && <span className="below parts">{below.map((one) => <span key={one.filter}><Narrowing part={one} leaves={leaves} place={place}><bdi>{one.value}</bdi></Narrowing></span>)}</span>}
    </>
  );
}

/** A value that narrows the page to itself by a click, and by another one to all but itself. */
function Narrowing({ part, leaves, place, children }: { part: Part; leaves: readonly ExcludedName[]; place: PlaceState; children: ReactNode }) {
  const { filter, value } = part;
  if (!value) return children;
  const on = place.filters[filter] === value;
  return (
    <>
      <button type="button" className="plain filter-value" aria-pressed={on} title={on ? "Remove this filter" : `Only ${filterText(filter, value)}`} onClick={() => place.change({ [filter]: on ? "" : value })}>{children}</button>
      <LeaveOut part={part} leaves={leaves} place={place} />
    </>
  );
}

function LeaveOut({ part, leaves, place }: { part: Part; leaves: readonly ExcludedName[]; place: PlaceState }) {
  const name = leaves.find((one) => one === part.filter);
  if (!name || !part.value) return null;
  const what = `Without ${filterText(name, part.value)}`;
  return <button type="button" className="plain leave-out" aria-label={what} title={what} onClick={() => place.exclude({ name, value: part.value })}>−</button>;
}

function Was<Row>({ column, row, label }: { column: Column<Row>; row: Row | undefined; label: string }) {
  return <span className="below" title={label}>{row ? `was ${formatCell(column.value(row), column.format)}` : "new"}</span>;
}

function compare(a: Cell | undefined, b: Cell | undefined): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a ?? "").localeCompare(String(b ?? ""));
}

function readSort(text: string | null): SortingState {
  if (!text) return [];
  return [text.startsWith("-") ? { id: text.slice(1), desc: true } : { id: text, desc: false }];
}

function writeSort([sort]: SortingState): string {
  return sort ? `${sort.desc ? "-" : ""}${sort.id}` : "";
}
