import type { ParameterOf, ReportName } from "../api/shapes.ts";
import { url } from "../api/client.ts";
import { excludedNames, type ExcludedName } from "./exclusions.ts";
import type { FilterName } from "./filters.ts";

/** The filters that each report takes, in the order in which the page offers them. */
export const reportFilters: { readonly [Name in ReportName]: readonly (FilterName & ParameterOf<Name>)[] } = {
  margin: ["service", "route"],
  orphans: ["service", "stage", "peer", "cause"],
  findings: ["service", "route", "stage", "peer", "cause", "rule"],
  stages: ["service", "route", "stage", "peer", "cause"],
  cancellations: ["service", "route", "cause"],
  cells: ["service", "route"],
  patience: ["service", "route"],
  spend: ["service", "route"],
  local: ["service", "route"],
  phases: ["service", "peer", "phase"],
  retries: ["service", "stage", "peer"],
  propagation: ["service", "peer"],
  dependencies: ["service", "stage", "peer"],
  reserves: ["service", "route", "stage", "peer"],
  conformance: ["service"],
  limits: ["service", "peer"],
};

/** The filters of a report that leave values out too. Margins come from rollups of whole routes. */
export function reportExclusions(name: ReportName): ExcludedName[] {
  const filters: readonly string[] = name === "margin" ? [] : reportFilters[name];
  return excludedNames.filter((one) => filters.includes(one));
}

/** What a report is asked with: filters, and values that are left out. */
export type Asked = Record<string, string | string[] | undefined>;

/** The parameters of a report: the window and those filters that it knows, since an unknown one is an error. */
export function reportParams(name: ReportName, filters: Asked): Record<string, string | string[]> {
  const params: Record<string, string | string[]> = {};
  for (const key of ["from", "to", ...(name === "cells" ? ["measure"] : []), ...reportFilters[name], ...reportExclusions(name).map((one) => `not.${one}`)]) {
    const value = filters[key];
    if (value) params[key] = value;
  }
  return params;
}

/** Rows of one answer, the most that the API gives; a longer report says where it goes on in `next`. */
export const mostRows = 1000;

/** The command line that asks the same, with the page's number of rows instead of the API's 100. */
export function curlOf(origin: string, path: string, params: Asked, withToken: boolean): string {
  const address = `${origin}${url(path, { ...params, limit: mostRows })}`;
  return `curl -s${withToken ? ' -H "Authorization: Bearer $LAXITY_TOKEN"' : ""} '${address}'`;
}
