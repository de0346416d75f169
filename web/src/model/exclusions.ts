/** A value that a search leaves out. */
export interface Exclusion {
  name: ExcludedName;
  value: string;
}

export const excludedNames = ["service", "route", "environment", "version", "outcome", "class", "rule", "stage", "peer", "cause", "phase"] as const;
export type ExcludedName = (typeof excludedNames)[number];

/** The parameters that leave values out, as the API and the address have them: not.outcome and the like, any number of each. */
export type Exclusions = Partial<Record<`not.${ExcludedName}`, string[]>>;

export function readExclusions(query: URLSearchParams): Exclusion[] {
  return excludedNames.flatMap((name) => query.getAll(`not.${name}`).filter(Boolean).map((value) => ({ name, value })));
}

export function parametersOf(exclusions: readonly Exclusion[]): Exclusions {
  const without: Exclusions = {};
  for (const { name, value } of exclusions) (without[`not.${name}`] ??= []).push(value);
  return without;
}

/** The query with one exclusion added, or taken out again if it was there. A filter for the same value goes. */
export function toggleExclusion(query: URLSearchParams, { name, value }: Exclusion): URLSearchParams {
  const next = new URLSearchParams(query);
  const key = `not.${name}`;
  const had = next.getAll(key).includes(value);
  const kept = next.getAll(key).filter((other) => other !== value);
  next.delete(key);
  for (const other of had ? kept : [...kept, value]) next.append(key, other);
  if (!had && next.get(name) === value) next.delete(name);
  return next;
}

export function withoutExclusions(query: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const name of excludedNames) next.delete(`not.${name}`);
  return next;
}
