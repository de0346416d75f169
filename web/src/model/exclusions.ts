import type { TraceRow } from "../api/shapes.ts";

/** What a search leaves out. The API narrows to values; leaving out is done to the rows it answers with. */
export interface Exclusion {
  name: ExcludedName;
  value: string;
}

const valuesOf = {
  service: (row: TraceRow) => [row.service],
  route: (row: TraceRow) => [row.route],
  outcome: (row: TraceRow) => [row.outcome as string],
  class: (row: TraceRow) => [row.class as string],
  late: (row: TraceRow) => [String(row.late)],
  rule: (row: TraceRow) => row.rules as string[],
};
export type ExcludedName = keyof typeof valuesOf;

export function isExcludable(name: string): name is ExcludedName {
  return Object.hasOwn(valuesOf, name);
}

/** Reads the exclusions that the address carries as `not=outcome:cancelled`, any number of them. */
export function readExclusions(query: URLSearchParams): Exclusion[] {
  return query.getAll("not").flatMap((text) => {
    const colon = text.indexOf(":");
    const name = text.slice(0, colon);
    return colon > 0 && isExcludable(name) ? [{ name, value: text.slice(colon + 1) }] : [];
  });
}

/** The query with one exclusion added, or taken out again if it was there. A filter for the same value goes. */
export function toggleExclusion(query: URLSearchParams, { name, value }: Exclusion): URLSearchParams {
  const next = new URLSearchParams(query);
  const kept = next.getAll("not").filter((text) => text !== `${name}:${value}`);
  const had = kept.length < next.getAll("not").length;
  next.delete("not");
  for (const text of had ? kept : [...kept, `${name}:${value}`]) next.append("not", text);
  if (!had && next.get(name) === value) next.delete(name);
  return next;
}

export function leaveOut(rows: readonly TraceRow[], exclusions: readonly Exclusion[]): TraceRow[] {
  return rows.filter((row) => exclusions.every(({ name, value }) => !valuesOf[name](row).includes(value)));
}
